# A psql session of many statements, each of which may fail: add them, run, ask for the answers.
package LwSession;

use strict;
use warnings;

use JSON::PP;

sub new
{
	my ($class) = @_;

	return bless { script => "\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\n", keys => [] }, $class;
}

# The key is what the answer is asked for by.
sub add
{
	my ($self, $key, $sql) = @_;

	push(@{ $self->{keys} }, $key);
	$self->{script} .= "\\echo >>>\n\\warn >>>\n$sql;\n\\echo <<< :SQLSTATE\n";
	return;
}

# A command of the shell, run by psql between two statements.
sub shell
{
	my ($self, $command) = @_;

	$self->{script} .= "\\! $command\n";
	return;
}

# Dies when the session did not live to its end.
sub run
{
	my ($self, $node, $timeout) = @_;
	my ($out, $err) = ('', '');
	my $timed_out = 0;
	my $status = $node->psql(
		'postgres', $self->{script},
		stdout => \$out,
		stderr => \$err,
		on_error_die => 0,
		on_error_stop => 0,
		timeout => $timeout,
		timed_out => \$timed_out);
	die "psql did not end within $timeout s" if $timed_out;

	my @out = split(/^>>>\n/m, "$out\n", -1);
	my @err = split(/^>>>\n/m, "$err\n", -1);
	shift(@out);
	shift(@err);
	my $count = scalar @{ $self->{keys} };
	die "the session ended with status $status after " . @out . " of $count statements: $err[-1]"
	  if $status != 0 || @out != $count || @err != $count;

	my %answers;
	foreach my $key (@{ $self->{keys} })
	{
		my @rows = split(/\n/, shift(@out));
		my $state;
		foreach my $i (reverse 0 .. $#rows)
		{
			next unless $rows[$i] =~ /^<<< (\w{5})$/;
			($state) = $1;
			splice(@rows, $i);
			last;
		}
		die "no SQLSTATE of \"$key\"" unless defined $state;
		$answers{$key} = { rows => \@rows, state => $state, messages => shift(@err) };
	}
	$self->{answers} = \%answers;
	return;
}

sub answer
{
	my ($self, $key) = @_;

	return $self->{answers}{$key} || die "no statement \"$key\"";
}

# The rows of a statement that must not fail.
sub rows
{
	my ($self, $key) = @_;
	my $answer = $self->answer($key);

	die "\"$key\" failed: $answer->{messages}" if $answer->{state} ne '00000';
	return @{ $answer->{rows} };
}

# The same, each row the JSON of an array.
sub json_rows
{
	my ($self, $key) = @_;
	my $json = JSON::PP->new->utf8->allow_nonref;

	return map { $json->decode($_) } $self->rows($key);
}

1;
