# Everything at once: 16 sessions rank, 4 write, the worker compacts, a base backup is made, and sessions, the worker
# and the server are killed at random.  No answer may be wrong and no commit lost, and memory and files stay what they were.
#
# LATEWEAVE_LONG makes it last 600 seconds, or as many as it says when that is more than 1; LATEWEAVE_SEED repeats its choices.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwSynced;
use LwTest;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = !$ENV{LATEWEAVE_LONG} ? 120 : $ENV{LATEWEAVE_LONG} > 1 ? $ENV{LATEWEAVE_LONG} : 600;
my $seed = $ENV{LATEWEAVE_SEED} // int(time * 1000) % 1_000_000_000;
my ($readers, $writers) = (16, 4);
my $directory = PostgreSQL::Test::Utils::tempdir();
my $stop = "$directory/stop";
note("LATEWEAVE_SEED=$seed");
srand $seed;

my $node = PostgreSQL::Test::Cluster->new('together');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C', '--data-checksums' ]);
$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = 'lateweave'", 'fsync = off', 'restart_after_crash = on',
		'lateweave.heartbeat = 1s', 'lateweave.compact_segments = 8', 'lateweave.cost_limit = 0', 'max_connections = 40', 'max_wal_senders = 4',
		'checkpoint_timeout = 30s'));
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION lateweave');
my $docs = LwSynced->new($node, 'docs');

# A writer has five rows of its own; each of its transactions gives all of them one value that is greater than the one before,
# or deletes all. A reader sees all of them with one value or none, whatever it sees of the others.
my $groups = "generate_series(0, $writers - 1) w, generate_series(1, 5) i";
my $id = '(100 * w + i)';
my @answers = (
	"lateweave_rerank('docs_v', '$LwSynced::QUERY', ARRAY(SELECT $id\::text FROM $groups))",
	"(SELECT id, score FROM (SELECT $id\::text AS id, lateweave_score('docs_v', '$LwSynced::QUERY', $id) AS score FROM $groups) x WHERE score IS NOT NULL)",
	"lateweave_search('docs_v', '$LwSynced::QUERY', 100)");

# Runs in a process of its own, a session after another, until the file `stop` is there; what `work` returns of
# each session is added up in a file.
sub start_process
{
	my ($name, $work) = @_;
	my $pid = fork // die "could not fork: $!";

	return $pid if $pid;
	srand($seed + $$);
	my $done = 0;
	my @complaints;
	until (-e $stop)
	{
		my $session = eval { LwSession->new($node) };

		if (!defined $session)
		{
			sleep 0.1;
			next;
		}
		until (-e $stop)
		{
			my ($good, @wrong) = $work->($session);

			last if !$good;
			$done++;
			push @complaints, @wrong;
		}
		eval { $session->quit };
	}
	append_to_file("$directory/$name", join("\n", $done, @complaints) . "\n");
	POSIX::_exit(0);
}

# Whether a statement was answered, and its rows; a session that has been killed is all that may go wrong.
sub ask
{
	my ($session, $sql) = @_;
	my ($out, $said) = $session->send($sql);

	return (0) if $said =~ /terminating connection|server closed the connection|connection to server was lost|the database system is|crash of another/;
	return (1, "$sql: $said") if $said =~ /ERROR|FATAL|PANIC|WARNING/;
	return (1, '', split(/\n/, $out));
}

sub start_reader
{
	my ($number) = @_;
	my @last = (0) x $writers;
	my $sql = "SELECT w, count(r.id), coalesce(min(r.score), -1), coalesce(max(r.score), -1), coalesce(max(t.value), -1) FROM $groups"
	  . " LEFT JOIN $answers[$number % @answers] r ON r.id = $id\::text LEFT JOIN docs t ON t.id = $id GROUP BY w ORDER BY w";

	$sql =~ s/FROM \Q$groups\E LEFT JOIN/FROM (SELECT w, i FROM $groups) g LEFT JOIN/;
	return start_process(
		"reader$number",
		sub {
			my ($good, $error, @rows) = ask($_[0], $sql);
			my @wrong;

			return ($good, $error || ()) if !$good || $error;
			foreach my $row (@rows)
			{
				my ($writer, $count, $least, $greatest, $value) = split(/\|/, $row);

				push @wrong, "of several commits: $row" if $least != $greatest || ($count != 0 && $count != 5);
				next if $count == 0;
				push @wrong, "older than what the table has: $row" if $least < $value;
				push @wrong, "older than $last[$writer] before: $row" if $least < $last[$writer];
				$last[$writer] = $least;
			}
			push @wrong, 'not all: ' . @rows if @rows != $writers;
			return (1, @wrong);
		});
}

# Notes each value that it was told to be committed.
sub start_writer
{
	my ($number) = @_;
	my $value = 0;

	return start_process(
		"writer$number",
		sub {
			my ($from, $to) = (100 * $number + 1, 100 * $number + 5);
			my $middle = $from + int rand 4;
			my $sql;

			$value++;
			$sql = 'BEGIN\; ' . $docs->put($from, $middle, $value) . '\; SAVEPOINT s\; ' . $docs->put($from, $to, -1) . '\; ROLLBACK TO s\; '
			  . $docs->put($middle + 1, $to, $value) . '\; COMMIT';
			$sql = $docs->put($from, $to, $value) if rand() < 0.6;
			my ($good, $error) = ask($_[0], rand() < 0.1 ? "DELETE FROM docs WHERE id BETWEEN $from AND $to" : $sql);
			append_to_file("$directory/committed$number", "$value\n") if $good && !$error && $sql !~ /^DELETE/;
			sleep rand() * 0.02;
			return ($good, $error || ());
		});
}

my @processes = ((map { start_reader($_) } 0 .. $readers - 1), (map { start_writer($_) } 0 .. $writers - 1));

# Kills one process of the server that is at work here, by a signal of which the whole server restarts or by one that ends it alone.
sub kill_one
{
	my ($signal) = @_;
	my (undef, $out) = eval { $node->psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND (backend_type LIKE 'lateweave%' OR (backend_type = 'client backend' AND application_name <> 'observer')) ORDER BY random() LIMIT 1") };

	return 0 if !$out;
	return kill($signal, $out);
}

# What a session holds for itself, in kB, and how many files there are.
sub private_memory
{
	my ($session) = @_;

	return (slurp_file("/proc/$session->{pid}/status") =~ /^RssAnon:\s+(\d+)/m)[0];
}

sub files
{
	return scalar split(/\n/, qx(find '@{[ $node->data_dir ]}/lateweave' /dev/shm -type f 2>/dev/null));
}

my %killed = (TERM => 0, KILL => 0);
my $end = time + $seconds * 0.5;
while (time < $end)
{
	my $signal = rand() < 0.15 ? 'KILL' : 'TERM';

	$killed{$signal} += kill_one($signal);
	LwSynced::wait_for_server($node) if $signal eq 'KILL';
	sleep 0.3 + rand() * 0.7;
}

# From now on the server stays, so that a backup can be made and memory be compared.
LwSynced::wait_for_server($node);
my $observer = LwSession->new($node);
$observer->query("SET application_name = 'observer'");
my $look = "SELECT count(*) FROM lateweave_rerank('docs_v', '$LwSynced::QUERY', ARRAY['1', '101']), lateweave_sources";
my @memory;
my @files;
my $backup = IPC::Run::start([ 'pg_basebackup', '-D', $node->backup_dir . '/base', '-h', $node->host, '-p', $node->port, '--checkpoint', 'fast', '--no-sync', '--max-rate', '4M' ],
	'>' => \my $out, '2>' => \my $err);
my $start = time;
$end = $start + $seconds * 0.5;
while (time < $end)
{
	$observer->query($look) foreach 1 .. 20;
	push @memory, private_memory($observer) if time > $start + $seconds * 0.1;
	push @files, files() if time > $start + $seconds * 0.1;
	$killed{TERM} += kill_one('TERM') if rand() < 0.3;
	sleep 0.1;
}
ok($backup->finish, 'a base backup was made') or diag($err);

append_to_file($stop, '');
waitpid($_, 0) foreach @processes;
my ($done, @complaints);
foreach my $name ((map { "reader$_" } 0 .. $readers - 1), (map { "writer$_" } 0 .. $writers - 1))
{
	my ($count, @wrong) = split(/\n/, slurp_file("$directory/$name"));

	$done->{ $name =~ /reader/ ? 'answers' : 'commits' } += $count;
	push @complaints, map { "$name: $_" } @wrong;
}
check("$done->{answers} answers while $done->{commits} transactions committed, $killed{TERM} processes and $killed{KILL} servers were killed", @complaints);
cmp_ok($done->{answers}, '>', 20 * $seconds, 'there were answers');
cmp_ok($done->{commits}, '>', 4 * $seconds, 'there were commits');
cmp_ok($killed{KILL}, '>', 0, 'the server was killed');
cmp_ok(scalar(() = slurp_file($node->logfile) =~ /automatic compaction of "postgres.public.docs_v"/g), '>', 1, 'the worker compacted');

# what was committed is there, unless it was replaced or deleted later
my @lost;
foreach my $number (0 .. $writers - 1)
{
	my @committed = split(/\n/, slurp_file("$directory/committed$number"));
	my $value = $node->safe_psql('postgres', "SELECT coalesce(max(value), -1) FROM docs WHERE id / 100 = $number");

	push @lost, "writer $number committed $committed[-1], the table has $value" if $value >= 0 && $value < $committed[-1];
}
check('no commit was lost', @lost);
$node->safe_psql('postgres', "SELECT lateweave_commit('docs_v')");
$node->safe_psql('postgres', "SELECT lateweave_compact('docs_v')");
check('table and store agree', $docs->differences);
$node->safe_psql('postgres', 'SELECT lateweave_commit(\'docs_v\')');
$node->stop;
$node->append_conf('postgresql.conf', 'lateweave.heartbeat = 0');
$node->start;
check('and the files', $docs->file_differences);

# the first tenth is for what a session gets once
cmp_ok($memory[-1] - $memory[0], '<', 2048, "memory stays: $memory[0] kB, then $memory[-1] kB of a session");
my ($few, $many) = (sort { $a <=> $b } @files)[ 0, -1 ];
cmp_ok($many, '<', $few + 150, "the number of files stays: $few to $many");

my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($node, 'base');
$restored->start;
my $in = LwSession->new($restored);
my ($count, $said) = $in->send('SELECT count(*) FROM docs_v');
SKIP:
{
	# a file that the copied manifest names had gone before it was its turn
	if ($said =~ /ERROR/)
	{
		like($said, qr/^ERROR:  58P01: .*\nHINT:  .*restore/m, 'an incomplete copy says what to do');
		skip('the backup has an incomplete copy', 2);
	}
	$in->query(q(SELECT lateweave_settle('docs_v', 'publish')));
	$in->query(q(SELECT lateweave_append('docs_v', array_agg(t.id::text), array_agg(t.tokens)) FROM docs t JOIN lateweave_diff('docs_v', 'docs', 'id') d ON d.id = t.id::text WHERE problem = 'not in the store' HAVING count(*) > 0));
	$in->query(q(SELECT lateweave_delete('docs_v', ARRAY(SELECT id FROM lateweave_diff('docs_v', 'docs', 'id') WHERE problem = 'not in the table'))));
	$in->query(q(INSERT INTO docs_v SELECT t.id::text, t.tokens FROM docs t JOIN docs_v v ON v.id = t.id::text WHERE v.tokens <> t.tokens));
	is($in->query(q(SELECT count(*) FROM lateweave_diff('docs_v', 'docs', 'id'))), 0, 'the restored backup is brought into step');
	check('it is whole', split(/\n/, $in->query(q(SELECT object, check_name FROM lateweave_verify('docs_v') WHERE NOT ok))));
}
$in->quit;
$restored->stop;
$node->stop;
done_testing();
