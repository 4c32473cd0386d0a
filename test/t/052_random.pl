# Random transactions in several sessions, with savepoints, errors, compactions, failing disks,
# restarts and deaths of the server, against plain tables as the truth.
#
# LATEWEAVE_SEED repeats the choices of a run (their timing it cannot), LATEWEAVE_LONG makes it last
# 600 seconds, or as many as it says when that is more than 1.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwSynced;
use LwTest;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = !$ENV{LATEWEAVE_LONG} ? 120 : $ENV{LATEWEAVE_LONG} > 1 ? $ENV{LATEWEAVE_LONG} : 600;
my $seed = $ENV{LATEWEAVE_SEED} // int(time * 1000) % 1_000_000_000;
my $workers = 4;
my $directory = PostgreSQL::Test::Utils::tempdir();
note("LATEWEAVE_SEED=$seed");
srand $seed;

my $node = start_node('random', "shared_preload_libraries = 'lateweave'", 'restart_after_crash = on',
	'deadlock_timeout = 20ms', 'log_min_messages = warning', 'max_connections = 30', 'shared_buffers = 8MB');

# One store follows its table by triggers, rows of it are everybody's; in the other each session
# has ids of its own, and changes table and store by statements of its own.
my $docs = LwSynced->new($node, 'docs');
my $plain = LwSynced->new($node, 'plain');
$node->safe_psql('postgres', 'ALTER TABLE plain DISABLE TRIGGER rows; ALTER TABLE plain DISABLE TRIGGER all_rows');
my (undef, undef, $detail) = $node->psql('postgres', "SET lateweave.fault = 'x:kill'");
my ($names) = $detail =~ /Points: (.*)\./;
my @points = grep { !/^(store|snapshot)-/ } split ' ', $names;

sub pick
{
	return $_[ int rand @_ ];
}

# Changes of the table that triggers follow.
sub synced_change
{
	my $id = 1 + int rand 30;
	my $value = 1 + int rand 1_000_000;

	return pick(
		$docs->put($id, $id + int rand 5, "id + $value", pick(0, 0, 0, 2, 50)),
		$docs->put($id, $id, $value),
		"UPDATE docs SET value = $value, tokens = '[[$value,0,0,0]]' WHERE id BETWEEN $id AND $id + 1",
		"UPDATE docs SET value = value WHERE id = $id",
		"DELETE FROM docs WHERE id = $id",
		"DELETE FROM docs WHERE id > $id",
		rand() < 0.1 ? 'TRUNCATE docs' : "DELETE FROM docs WHERE id = $id",
		rand() < 0.02 ? $docs->put(40, 60, $value, 60_000) : "DELETE FROM docs WHERE id >= 40");
}

# One change of the other table, and the same of its store.
sub own_change
{
	my ($worker) = @_;
	my $first = 1000 * $worker;
	my $id = $first + int rand 20;
	my $last = $id + int rand 4;
	my $value = 1 + int rand 1_000_000;
	my $put = "INSERT INTO plain SELECT id, id + $value FROM generate_series($id, $last) id ON CONFLICT (id) DO UPDATE SET value = excluded.value";
	my $new = "FROM generate_series($id, $last) id";

	return pick(
		"$put; INSERT INTO plain_v SELECT id::text, format('[[%s,0,0,0]]', id + $value)::multivector $new",
		"$put; SELECT lateweave_append('plain_v', array_agg(id::text), array_agg(format('[[%s,0,0,0]]', id + $value)::multivector)) $new",
		"DELETE FROM plain WHERE id BETWEEN $id AND $last; SELECT lateweave_delete('plain_v', array_agg(id::text)) $new",
		"DELETE FROM plain WHERE id BETWEEN $id AND $last; DELETE FROM plain_v WHERE id = ANY (ARRAY(SELECT id::text $new))",
		"UPDATE plain SET value = $value WHERE id BETWEEN $id AND $last; UPDATE plain_v SET tokens = '[[$value,0,0,0]]' WHERE id = ANY (ARRAY(SELECT id::text $new))",
		"UPDATE plain SET id = id + 20 WHERE id = $id AND NOT EXISTS (SELECT FROM plain WHERE id = $id + 20);
			UPDATE plain_v SET id = '$id'::int + 20 WHERE id = '$id' AND NOT EXISTS (SELECT FROM plain_v WHERE id = ('$id'::int + 20)::text)",
		rand() < 0.1 ? 'TRUNCATE plain; TRUNCATE plain_v' : "SELECT lateweave_commit('plain_v')");
}

# What a session sees of its own documents is what its transaction made of them.
sub own_check
{
	my ($worker) = @_;
	my ($from, $to) = (1000 * $worker, 1000 * $worker + 999);

	return "SELECT 'differs: ' || string_agg(coalesce(p.id::text, s.id), ' ') FROM
		(SELECT id::text, value FROM plain WHERE id BETWEEN $from AND $to) p FULL JOIN
		(SELECT id, maxsim(maxsim_query('$LwSynced::QUERY'), tokens)::int AS score FROM plain_v WHERE id::int BETWEEN $from AND $to) s
		ON p.id = s.id AND p.value = s.score WHERE p.id IS NULL OR s.id IS NULL HAVING count(*) > 0";
}

# The statements of one transaction.
sub transaction
{
	my ($worker) = @_;
	my @statements = ('BEGIN ISOLATION LEVEL ' . pick('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'));
	my @savepoints;

	foreach (1 .. 1 + int rand 6)
	{
		my $kind = rand;

		if ($kind < 0.15)
		{
			push @savepoints, 's' . @savepoints;
			push @statements, "SAVEPOINT $savepoints[-1]";
		}
		elsif ($kind < 0.3 && @savepoints)
		{
			my $at = int rand @savepoints;

			if (rand() < 0.6)
			{
				push @statements, "ROLLBACK TO $savepoints[$at]";
				splice @savepoints, $at + 1;
			}
			else
			{
				push @statements, "RELEASE $savepoints[$at]";
				splice @savepoints, $at;
			}
		}
		elsif ($kind < 0.4)
		{
			# what a block with an exception did is undone
			my ($one, $two, $three) = map { my $sql = rand() < 0.5 ? synced_change() : own_change($worker); $sql =~ s/(^|; )SELECT lateweave/$1PERFORM lateweave/gr }
			  1 .. 3;

			push @statements, "DO \$\$ BEGIN $one; BEGIN $two; "
			  . (rand() < 0.5 ? "RAISE 'no'; EXCEPTION WHEN raise_exception THEN NULL; END;" : 'END;') . " $three; END \$\$";
		}
		else
		{
			push @statements, rand() < 0.5 ? synced_change() : own_change($worker);
		}
		push @statements, own_check($worker) if rand() < 0.3;
	}
	push @statements, own_check($worker), rand() < 0.75 ? 'COMMIT' : 'ROLLBACK';
	return @statements;
}

# SQLSTATEs that a session must expect: deadlocks and serialization failures, a server that stops, a transaction that
# has failed already and has no savepoint, failing disks, two compactions at once.
my %expected = map { $_ => 1 } qw(40P01 40001 57P01 57P02 57P03 25P02 3B001 53100 58030 55000 P0001);

# One session's share of a round; what it complains of goes to a file.
sub work
{
	my ($worker, $end) = @_;
	my $session;

	while (time < $end)
	{
		if (!$session && !eval { $session = LwSession->new($node); 1 })
		{
			sleep 0.05;
			next;
		}
		my @statements = rand() < 0.7 ? transaction($worker) : rand() < 0.8 ? synced_change() : 'SELECT lateweave_compact(' . pick("'docs_v'", "'plain_v'") . ')';
		unshift @statements, "SET lateweave.fault = '" . pick(@points) . ':' . pick(qw(enospc eio sleep eio), rand() < 0.05 ? 'kill' : 'enospc') . ':' . (1 + int rand 3) . "'"
		  if rand() < 0.1;
		my ($out, $err) = eval { $session->send(join(";\n", @statements) . "; SELECT 'end'") };
		if (!defined $out || $out !~ /end$/ || $err =~ /server closed|connection to server was lost/)
		{
			$session = undef;
			next;
		}
		append_to_file("$directory/complaints", "$out\n" . join(";\n", @statements) . "\n") if $out =~ /differs/ && $err !~ /ERROR/;
		foreach my $state ($err =~ /^(?:ERROR|FATAL|PANIC):  (\w{5})/mg)
		{
			append_to_file("$directory/complaints", "$err\n" . join(";\n", @statements) . "\n") if !$expected{$state};
		}
		append_to_file("$directory/done", "$worker\n");
		eval { $session->query("ROLLBACK; SET lateweave.fault = ''"); 1 } or $session = undef;
	}
	eval { $session->quit } if $session;
	return;
}

my ($rounds, $end, @complaints) = (0, time + $seconds);
my %troubles;
append_to_file("$directory/$_", '') foreach qw(complaints done);
while (time < $end && !@complaints)
{
	my $round_end = time + 0.5 + rand() * 1.5;
	my @pids;

	$rounds++;
	foreach my $worker (1 .. $workers)
	{
		my $own_seed = int rand 1_000_000_000;
		my $pid = fork // die "could not fork: $!";

		if ($pid == 0)
		{
			srand $own_seed;
			eval { work($worker, $round_end); 1 } or append_to_file("$directory/complaints", $@);
			POSIX::_exit(0);
		}
		push @pids, $pid;
	}
	my $trouble = pick(qw(none none kill immediate fast));
	$troubles{$trouble}++;
	sleep(rand() * ($round_end - time)) if $round_end > time;
	if ($trouble eq 'kill')
	{
		my ($status, $pid) = $node->psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1");
		kill 'KILL', $pid if $pid;
	}
	elsif ($trouble ne 'none')
	{
		LwSynced::wait_for_server($node);
		$node->stop($trouble);
		$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', pick("'lateweave'", "''"));
		$node->start;
	}
	waitpid($_, 0) foreach @pids;
	LwSynced::wait_for_server($node);
	push @complaints, slurp_file("$directory/complaints") if -s "$directory/complaints";
	push @complaints, map { "docs: $_" } $docs->differences;
	push @complaints, map { "plain: $_" } $plain->differences;
	$node->safe_psql('postgres', "SELECT lateweave_commit('$_')") foreach qw(docs_v plain_v);
	push @complaints, map { "docs: $_" } $docs->differences, $docs->file_differences;
	push @complaints, map { "plain: $_" } $plain->differences, $plain->file_differences;
}
my $transactions = () = slurp_file("$directory/done") =~ /\n/g;
check("tables and stores agree after $rounds rounds (" . join(', ', map { "$_ $troubles{$_}" } sort keys %troubles) . "), $transactions transactions, LATEWEAVE_SEED=$seed", @complaints);
cmp_ok($transactions, '>', 10 * $seconds / 20, 'transactions were made');
unlike(slurp_file($node->logfile), qr/PANIC:|was terminated by signal (?!9)/, 'no other crash in the log');
$node->stop;
done_testing();
