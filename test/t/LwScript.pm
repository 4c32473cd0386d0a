# A psql script of many statements, each of which may fail: add them, run
# all in one session, then ask for the answers.
package LwScript;

use strict;
use warnings;

my $MARK = '>>> next';

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
	$self->{script} .= "\\echo $MARK\n\\warn $MARK\n$sql;\n\\echo <<< :SQLSTATE\n";
	return;
}

# A command of the shell, run by psql between two statements; it must print nothing.
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

	my (undef, @out) = split(/^$MARK\n/m, "$out\n", -1);
	my (undef, @err) = split(/^$MARK\n/m, "$err\n", -1);
	my $count = @{ $self->{keys} };
	die "the session ended with status $status in statement " . @out . " of $count: $err"
	  if $status != 0 || @out != $count || @err != $count;

	foreach my $i (0 .. $count - 1)
	{
		$out[$i] =~ s/^<<< (\w{5})\n+\z//m or die "no SQLSTATE of \"$self->{keys}[$i]\"";
		$self->{answers}{ $self->{keys}[$i] } =
		  { state => $1, rows => [ split(/\n/, $out[$i]) ], messages => $err[$i] };
	}
	return;
}

# {state} is the SQLSTATE, {rows} what was printed, {messages} what was said besides.
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

# The same, each row the list of its columns.
sub fields
{
	my ($self, $key) = @_;

	return map { [ split(/\|/, $_, -1) ] } $self->rows($key);
}

1;
