# Sessions that rank while another process commits, compacts and removes files: every answer is
# that of exactly one commit, and of no older one than the answer before.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwStore;
use LwTest;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $COMMITS = 300;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $Q = $LwStore::QUERY;
my @ids = map { "d$_" } 0 .. 9;
my $node = start_node('concurrency');

# One answer is a row: commit time, then id=score for each document that is present.
my %answer_of = (
	rerank => "(SELECT string_agg(id || '=' || score, ' ' ORDER BY id) FROM lateweave_rerank('TABLE', '$Q', ARRAY["
	  . join(', ', map { "'$_'" } @ids) . ']))',
	search => "(SELECT string_agg(id || '=' || score, ' ' ORDER BY id) FROM lateweave_search('TABLE', '$Q', 100))",
	score => "(SELECT string_agg(id || '=' || score, ' ' ORDER BY id) FROM (SELECT id, lateweave_score('TABLE', '$Q', id) AS score"
	  . " FROM unnest(ARRAY[" . join(', ', map { "'$_'" } @ids) . ']) AS id) x WHERE score IS NOT NULL)',
	scan => "(SELECT string_agg(id || '=' || maxsim(maxsim_query('$Q'), tokens), ' ' ORDER BY id) FROM TABLE)");

sub expected
{
	my ($store) = @_;
	my %scores = $store->scores;

	return join(' ', map { "$_=$scores{$_}" } sort keys %scores);
}

# One commit of another kind each time; remembers what it answers.
sub change
{
	my ($store, $answers) = @_;
	my $next = $store->{commit} + 1;
	my $kind = $next % 7;

	if ($kind == 0)
	{
		$store->compact;
	}
	elsif ($kind == 3)
	{
		$store->remove($ids[ $next % @ids ], $ids[ ($next + 3) % @ids ]);
	}
	elsif ($kind == 5)
	{
		$store->remove($ids[ $next % @ids ]);
		$store->renew(@ids[ 0 .. 4 ]);
	}
	else
	{
		$store->renew(@ids);
	}
	$answers->{ $LwStore::BASE + $next } = expected($store);
	$store->commit;
	$store->reclaim;
	return;
}

# Runs sessions, a script of psql each, over and over until the file `stop` is there; each writes its answers to its own file.
sub start_readers
{
	my ($name, @scripts) = @_;
	my $stop = "$directory/$name.stop";
	my @readers;

	foreach my $i (0 .. $#scripts)
	{
		my $pid = fork // die "could not fork: $!";

		if ($pid == 0)
		{
			my $runs = 0;

			open(STDOUT, '>>', "$directory/$name.$i") or die "could not open: $!";
			open(STDERR, '>>', "$directory/$name.$i.errors") or die "could not open: $!";
			until (-e $stop && $runs)
			{
				system('psql', '-XAtq', '-v', 'ON_ERROR_STOP=0', '-d', $node->connstr('postgres'), '-f', $scripts[$i]);
				print STDERR "psql ended with $?\n" if $?;
				print "session ends\n";
				STDOUT->flush;
				$runs++;
			}
			POSIX::_exit(0);
		}
		push @readers, $pid;
	}
	return { name => $name, stop => $stop, pids => \@readers };
}

# Waits for them; gives the lines of each and everything that they complained of.
sub stop_readers
{
	my ($readers) = @_;
	my @lines;
	my $errors = '';

	append_to_file($readers->{stop}, '');
	waitpid($_, 0) foreach @{ $readers->{pids} };
	foreach my $i (0 .. $#{ $readers->{pids} })
	{
		push @lines, [ split(/\n/, slurp_file("$directory/$readers->{name}.$i")) ];
		$errors .= slurp_file("$directory/$readers->{name}.$i.errors");
	}
	return ($errors, @lines);
}

# What is wrong with one reader's lines; counts the answers and the commits that it saw.
sub complaints
{
	my ($answers, $lines, $seen) = @_;
	my $last = 0;
	my @complaints;

	foreach my $line (@$lines)
	{
		my ($time, $answer) = split(/\|/, $line, 2);

		if ($line eq 'session ends')
		{
			$last = 0;
			next;
		}
		push @complaints, "no commit answers so: $line" if !defined $answers->{$time} || $answers->{$time} ne $answer;
		push @complaints, "after $last: $line" if $time < $last;
		$last = $time;
		$seen->{answers}++;
		$seen->{commits}{$time} = 1;
	}
	return @complaints;
}

sub new_store
{
	my ($name, $encoding) = @_;
	my $store = LwStore->create("$directory/$name", encoding => $encoding);
	my %answers = ($LwStore::BASE => '');

	change($store, \%answers);
	$node->safe_psql('postgres', create_source($name, $store->{path}));
	return ($store, \%answers);
}

sub script
{
	my ($name, $content) = @_;

	append_to_file("$directory/$name.sql", $content);
	return "$directory/$name.sql";
}

sub statement
{
	my ($table, $kind) = @_;
	my $sql = "SELECT extract(epoch FROM lateweave_as_of('TABLE'))::bigint, $answer_of{$kind}";

	return $sql =~ s/TABLE/$table/gr;
}

foreach my $encoding (qw(float32 int8))
{
	my ($store, $answers) = new_store("single_$encoding", $encoding);
	my @kinds = sort keys %answer_of;
	my @scripts = map {
		my $first = $_;
		script("${encoding}_$first",
			join('', map { statement("single_$encoding", $kinds[ ($first + $_) % @kinds ]) . ";\n" } 1 .. 200))
	} 0 .. 3;
	my $readers = start_readers("single_$encoding", @scripts);

	while ($store->{commit} < $COMMITS)
	{
		change($store, $answers);
		usleep(5_000 * rand);
	}
	my ($errors, @lines) = stop_readers($readers);
	my %seen = (answers => 0);
	is($errors, '', "$encoding: no error while $COMMITS commits were made");
	check("$encoding: each answer is that of one commit, in order", map { complaints($answers, $_, \%seen) } @lines);
	cmp_ok(scalar keys %{ $seen{commits} }, '>', 20, "$encoding: many commits were seen");
	note("$seen{answers} answers of " . keys(%{ $seen{commits} }) . ' commits');
}

# A transaction in REPEATABLE READ gives one commit's answers.
my ($store, $answers) = new_store('repeated', 'float32');
my @scripts = map {
	script("repeated_$_",
		join('', map {
			"BEGIN ISOLATION LEVEL REPEATABLE READ;\n" . join('', map { statement('repeated', $_) . ";\n" } sort keys %answer_of)
			  . "COMMIT;\n" } 1 .. 50))
} 0 .. 1;
my $readers = start_readers('repeated', @scripts);
while ($store->{commit} < $COMMITS)
{
	change($store, $answers);
	usleep(5_000 * rand);
}
my ($errors, @lines) = stop_readers($readers);
my %seen = (answers => 0);
my @complaints;
is($errors, '', 'REPEATABLE READ: no error');
foreach my $reader (@lines)
{
	push @complaints, complaints($answers, $reader, \%seen);
	my @answers = grep { $_ ne 'session ends' } @$reader;
	while (my @transaction = splice(@answers, 0, scalar keys %answer_of))
	{
		push @complaints, "in one transaction: @transaction" if grep { $_ ne $transaction[0] } @transaction;
	}
}
check('REPEATABLE READ: a transaction sees one commit', @complaints);
cmp_ok(scalar keys %{ $seen{commits} }, '>', 20, 'REPEATABLE READ: many commits were seen');

# Files that vanish while they are opened are looked for in the manifest that replaced the one that named them.
($store, $answers) = new_store('vanishing', 'float32');
$readers = start_readers('vanishing', map { script("vanishing_$_", (statement('vanishing', 'rerank') . ";\n") x 200) } 0 .. 2);
foreach (1 .. 150)
{
	$store->renew($_) foreach @ids, @ids;
	foreach my $kind (0, 1)
	{
		$store->compact if $kind;
		$answers->{ $LwStore::BASE + $store->{commit} + 1 } = expected($store);
		$store->commit;
		$store->reclaim;
	}
}
($errors, @lines) = stop_readers($readers);
is($errors, '', 'no error while 20 segments come and go');
check('and answers of one commit each', map { complaints($answers, $_, \%seen) } @lines);

($store, $answers) = new_store('fresh', 'float32');

# Freshness: what was committed before a statement was sent is in its answer.
my $late = 0;
foreach (1 .. 50)
{
	change($store, $answers);
	my $answer = $node->safe_psql('postgres', statement('fresh', 'rerank'));
	$late++ if $answer !~ /^@{[ $LwStore::BASE + $store->{commit} ]}\|\Q$answers->{ $LwStore::BASE + $store->{commit} }\E$/;
}
is($late, 0, 'a new session sees the current commit');

$node->stop;
done_testing();
