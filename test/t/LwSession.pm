# One psql session that stays open while the test does other things.
package LwSession;

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Utils;

my $MARK = '>>> end of answer';

# LwSession->new(NODE, dbname =>, user =>)
sub new
{
	my ($class, $node, %options) = @_;
	my $connection = $node->connstr($options{dbname} // 'postgres');
	my $self = bless { in => '', out => '', err => '' }, $class;

	$connection .= " user='$options{user}'" if defined $options{user};
	$self->{timer} = IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default);
	$self->{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-v', 'SHOW_CONTEXT=never', '-d', $connection ],
		'<' => \$self->{in}, '>' => \$self->{out}, '2>' => \$self->{err}, $self->{timer});
	$self->{pid} = $self->query('SELECT pg_backend_pid()');
	return $self;
}

# Sends statements; returns their rows and everything that was said besides, also that the session has ended.
sub send
{
	my ($self, $sql) = @_;

	$self->{out} = $self->{err} = '';
	$self->{in} .= "$sql;\n\\echo $MARK\n\\warn $MARK\n";
	$self->{timer}->start($PostgreSQL::Test::Utils::timeout_default);
	until ($self->{out} =~ /^$MARK\n/m && $self->{err} =~ /^$MARK\n/m)
	{
		die "no answer to $sql" if $self->{timer}->is_expired;
		last unless eval { $self->{run}->pump };
	}
	$self->{timer}->reset;
	s/^$MARK\n//m foreach $self->{out}, $self->{err};
	chomp $self->{out};
	return ($self->{out}, $self->{err});
}

# The rows of statements that must not fail.
sub query
{
	my ($self, $sql) = @_;
	my ($out, $err) = $self->send($sql);

	die "\"$sql\" failed: $err" if $err =~ /ERROR:|FATAL:|connection to server was lost/;
	return $out;
}

# What a statement that must fail says, with its SQLSTATE; '' when it does not fail.
sub error
{
	my ($self, $sql) = @_;
	my (undef, $err) = $self->send($sql);

	return $err =~ /ERROR:/ ? $err : '';
}

sub quit
{
	my ($self) = @_;

	$self->{in} .= "\\q\n";
	$self->{run}->finish;
	return;
}

1;
