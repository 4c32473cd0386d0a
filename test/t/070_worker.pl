# The worker commits heartbeats, compacts, and publishes what sessions could not; one bad store stops no other; it is in
# nobody's way: not of who drops, renames or copies its database, nor of who alters the table.
use strict;
use warnings;

use Fcntl qw(:flock);
use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwStore;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

$PostgreSQL::Test::Utils::timeout_default = 40;

my $node = PostgreSQL::Test::Cluster->new('worker');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', join("\n", 'fsync = off', "shared_preload_libraries = 'lateweave'",
		'restart_after_crash = on', "lateweave.heartbeat = '1s'", 'lateweave.compact_segments = 1000000',
		'lateweave.compact_deleted_fraction = 1'));
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION lateweave');
my $session = LwSession->new($node);

sub create_store
{
	my ($in, $name) = @_;

	$in->query("SELECT lateweave_create_store('$name', 'none', '1', 64, encoding => 'float32', normalized => false)");
	return;
}

# A store that takes long to compact when that rests much.
sub fill
{
	my ($in, $name) = @_;

	create_store($in, $name);
	$in->query("INSERT INTO $name SELECT 'd' || i, array_fill(i::real, ARRAY[16, 64])::multivector FROM generate_series(1, 2000) i");
	$in->query("DELETE FROM $name WHERE id LIKE '%1'");
	return;
}

sub set
{
	my (@settings) = @_;

	$node->append_conf('postgresql.conf', join("\n", '', @settings));
	$node->reload;
	return;
}

my $slow = "lateweave.cost_limit = 1\nlateweave.cost_delay = 100";
my $fast = "lateweave.cost_limit = 200\nlateweave.cost_delay = 0";

# Waits until something is in the log after a position; returns the position after it, or undef.
sub wait_in_log
{
	my ($pattern, $from) = @_;

	foreach (1 .. 1800)
	{
		my $log = substr(slurp_file($node->logfile), $from);

		return $from + $+[0] if $log =~ $pattern;
		usleep(50_000);
	}
	return undef;
}

sub log_end { return -s $node->logfile; }

subtest 'heartbeat' => sub {
	is($session->query("SELECT count(*), count(datname) FROM pg_stat_activity WHERE backend_type = 'lateweave launcher'"), '1|0',
		'the launcher is in no database');
	create_store($session, $_) foreach 'beats', 'still';
	$session->query("ALTER FOREIGN TABLE still OPTIONS (ADD heartbeat '0')");
	my $store = LwStore->create($node->basedir . '/foreign');
	$store->round('a');
	$session->query(create_source('reads', $store->{path}));
	my $commits = 'SELECT string_agg(commit::text, \',\' ORDER BY source::text) FROM lateweave_sources WHERE source::text ~ \'still|reads\'';
	$session->query("INSERT INTO $_ VALUES ('x', array_fill(1::real, ARRAY[1, 64])::multivector)") foreach 'beats', 'still';
	my $before = $session->query($commits);
	foreach (1 .. 2)
	{
		my $at = $session->query("SELECT lateweave_as_of('beats')");

		ok($node->poll_query_until('postgres', "SELECT lateweave_as_of('beats') > '$at'"), 'time goes on where nobody writes');
	}
	is($session->query($commits), $before, 'but not with the option 0, nor in a store that others write');
	ok($session->query("SELECT commits > 2 AND transactions_per_commit < 1 FROM lateweave_stat WHERE source = 'beats'::regclass") eq 't',
		'heartbeats are counted');
	my $path = $session->query("SELECT path FROM lateweave_sources WHERE source = 'beats'::regclass");
	check('they leave nothing behind', grep { !/manifest\.json$|segment-0\./ } glob("$path/*"));
};

subtest 'what a session could not publish' => sub {
	$session->query(q(SET lateweave.fault = 'round-written:enospc'));
	$session->query("INSERT INTO beats VALUES ('late', array_fill(1::real, ARRAY[1, 64])::multivector)");
	$session->query(q(SET lateweave.fault = ''));
	ok($node->poll_query_until('postgres', "SELECT pending = 0 AND documents = 2 FROM lateweave_sources WHERE source = 'beats'::regclass"),
		'the worker publishes');
};

subtest 'compaction' => sub {
	my $from = log_end();

	$session->query("SELECT lateweave_append('beats', ARRAY['y' || i], ARRAY[array_fill(1::real, ARRAY[1, 64])::multivector]) FROM generate_series(1, 3) i") foreach 1 .. 3;
	$session->query("ALTER FOREIGN TABLE beats OPTIONS (ADD compact_segments '3')");
	ok(defined wait_in_log(qr/LOG:  automatic compaction of "postgres\.public\.beats": \d+ segments before, 1 after, 5 documents, 5 tokens/, $from),
		'past the option, and logged');
	is($session->query("SELECT segments, documents FROM lateweave_sources WHERE source = 'beats'::regclass"), '1|5', 'done');
	is($session->query("SELECT compactions FROM lateweave_stat WHERE source = 'beats'::regclass"), 1, 'and counted');
	$from = log_end();
	fill($session, 'fraction');
	usleep(2_500_000);
	is($session->query("SELECT deleted FROM lateweave_sources WHERE source = 'fraction'::regclass"), 200, 'not yet');
	set('lateweave.compact_deleted_fraction = 0.05');
	ok(defined wait_in_log(qr/automatic compaction of "postgres\.public\.fraction"/, $from), 'past the setting');
	is($session->query("SELECT deleted, documents FROM lateweave_sources WHERE source = 'fraction'::regclass"), '0|1800', 'done');
};

subtest 'a bad store' => sub {
	my $from = log_end();

	create_store($session, $_) foreach 'aaa', 'zzz';
	$session->query("INSERT INTO $_ VALUES ('x', array_fill(1::real, ARRAY[1, 64])::multivector)") foreach 'aaa', 'zzz';
	my $path = $session->query("SELECT path FROM lateweave_sources WHERE source = 'aaa'::regclass");
	rename "$path/manifest.json", "$path/kept" or die "could not rename: $!";
	ok(defined wait_in_log(qr/ERROR:  could not open ".*manifest\.json".*\n.*HINT.*\n.*CONTEXT:  automatic upkeep of "postgres\.public\.aaa"/, $from), 'is in the log');
	my $at = $session->query("SELECT lateweave_as_of('zzz')");
	ok($node->poll_query_until('postgres', "SELECT lateweave_as_of('zzz') > '$at'::timestamptz + interval '2 s'"), 'the others go on');
	is(scalar(() = substr(slurp_file($node->logfile), $from) =~ /upkeep of "postgres\.public\.aaa"/g), 1, 'and it is said once');
	like($session->query("SELECT last_error FROM lateweave_stat WHERE source = 'aaa'::regclass"), qr/manifest\.json/, 'and kept as the last error');
	rename "$path/kept", "$path/manifest.json" or die "could not rename: $!";
};

# Has a compaction run in a database for long; returns the worker's process id.
sub compacting
{
	my ($database) = @_;
	my $in = LwSession->new($node, dbname => $database);

	$in->query("SELECT 1");
	my $pid = 0;
	foreach (1 .. 1200)
	{
		$pid = $session->query("SELECT coalesce((SELECT pid FROM pg_stat_activity WHERE datname = '$database' AND backend_type = 'lateweave worker'
			AND query LIKE 'lateweave: compaction of %'), 0)");
		last if $pid;
		usleep(50_000);
	}
	$in->quit;
	ok($pid, "compacting in $database");
	return $pid;
}

subtest 'in the way' => sub {
	set($slow);
	$session->query('CREATE DATABASE other');
	my $in = LwSession->new($node, dbname => 'other');
	$in->query('CREATE EXTENSION lateweave');
	fill($in, 'large');

	my $pid = compacting('other');
	is($in->query("SELECT phase, done < total FROM lateweave_progress WHERE pid = $pid"), 'compaction: copying bytes|t', 'its progress is shown');
	my $start = time;
	$in->query("ALTER FOREIGN TABLE large OPTIONS (ADD heartbeat '3s')");
	cmp_ok(time - $start, '<', 3, 'who alters the table waits for a moment');

	$in->quit;
	foreach my $case ([ 'other', 'CREATE DATABASE copy TEMPLATE other' ], [ '', 'DROP DATABASE copy' ],
		[ 'other', 'ALTER DATABASE other RENAME TO another' ], [ 'another', 'DROP DATABASE another' ])
	{
		my ($database, $statement) = @$case;

		set($slow);
		compacting($database) if $database;
		$start = time;
		is($session->error($statement), '', $statement);
		cmp_ok(time - $start, '<', 4, 'at once');
	}
	is($session->error('CREATE DATABASE plain'), '', 'a copy of template1');
	set($fast);
};

# Has other processes find a store's directory locked; what is returned is open as long as that holds.
sub lock_store
{
	my ($path) = @_;

	open(my $lock, '<', $path) or die "could not open \"$path\": $!";
	flock($lock, LOCK_EX) or die "could not lock \"$path\": $!";
	return $lock;
}

subtest 'called during a visit' => sub {
	$session->query('CREATE DATABASE called');
	my $in = LwSession->new($node, dbname => 'called');
	my $append = "INSERT INTO %s VALUES ('x', array_fill(1::real, ARRAY[1, 64])::multivector)";
	$in->query('CREATE EXTENSION lateweave');
	create_store($in, 'slow');
	$in->query("ALTER FOREIGN TABLE slow OPTIONS (ADD heartbeat '0')");
	my $path = $in->query('SELECT path FROM lateweave_sources');
	my $lock;
	foreach (1 .. 10)
	{
		# there is something to publish, unless a visit that went on has come first
		$in->query(q(SET lateweave.fault = 'round-written:enospc'));
		$in->query(sprintf($append, 'slow'));
		$in->query(q(SET lateweave.fault = ''));
		$lock = lock_store($path);
		$node->reload;
		usleep(500_000);
		last if $session->query(q(SELECT count(*) FROM pg_stat_activity WHERE datname = 'called' AND query LIKE 'lateweave: upkeep of %slow'));
		close $lock;
		usleep(500_000);
	}
	ok(fileno($lock), 'a visit goes on');
	create_store($in, 'quick');
	$in->query(sprintf($append, 'quick'));
	my $at = $in->query("SELECT lateweave_as_of('quick')");
	close $lock;
	ok($node->poll_query_until('called', "SELECT lateweave_as_of('quick') > '$at'"), 'another begins at once when it ends');

	# after 10 s a commit leaves the changes of a locked store, and only those, for later
	if ($ENV{LATEWEAVE_LONG})
	{
		create_store($in, 'other');
		$lock = lock_store($path);
		my (undef, $said) = $in->send('BEGIN; ' . join('', map { sprintf("$append;", $_) } 'slow', 'other') . 'COMMIT');
		like($said, qr{^WARNING:  .*changes of "\Q$path\E" are not published yet$}m, 'who waits for a store gives up');
		is(scalar(() = $said =~ /WARNING:/g), 1, 'that one alone');
		close $lock;
	}
	$in->quit;
};

subtest 'limits of statements' => sub {
	my $from = log_end();
	my $at = $session->query("SELECT lateweave_as_of('zzz')");

	$session->query(q(ALTER DATABASE postgres SET lock_timeout = '10ms'));
	$session->query('BEGIN; LOCK TABLE pg_foreign_table');
	$node->reload;
	usleep(1_500_000);
	$session->query('COMMIT');
	$session->query('ALTER DATABASE postgres RESET lock_timeout');
	ok($node->poll_query_until('postgres', "SELECT lateweave_as_of('zzz') > '$at'"), 'the worker goes on');
	unlike(substr(slurp_file($node->logfile), $from), qr/lock timeout/, 'and has waited');
};

subtest 'ended' => sub {
	my $from = log_end();

	set($slow);
	fill($session, 'stopped');
	my $pid = compacting('postgres');
	$session->query("SELECT pg_cancel_backend($pid)");
	ok(defined wait_in_log(qr/ERROR:  canceling statement due to user request\n.*CONTEXT:  automatic compaction of "postgres\.public\.stopped"/, $from), 'cancelled');
	is($session->query("SELECT documents FROM lateweave_sources WHERE source = 'stopped'::regclass"), 1800, 'without effect');
	set($fast);
	$from = log_end();
	$pid = $session->query(q(SELECT pid FROM pg_stat_activity WHERE backend_type = 'lateweave launcher'));
	$session->query("SELECT pg_terminate_backend($pid)");
	ok($node->poll_query_until('postgres', "SELECT pid <> $pid FROM pg_stat_activity WHERE backend_type = 'lateweave launcher'"),
		'a launcher that was ended is started again');
	ok(defined wait_in_log(qr/automatic compaction of "postgres\.public\.stopped"/, $from), 'and goes on');
};

subtest 'standby' => sub {
	$node->backup('copy');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'copy', has_streaming => 1);
	$standby->start;
	my $count = "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'lateweave%'";
	usleep(1_500_000);
	is($standby->safe_psql('postgres', $count), 0, 'no worker on a standby');
	my $at = $standby->safe_psql('postgres', "SELECT lateweave_as_of('zzz')");
	$standby->promote;
	ok($standby->poll_query_until('postgres', "SELECT lateweave_as_of('zzz') > '$at'"), 'it begins at the promotion');
	$standby->stop;
};

subtest 'killed' => sub {
	$session->quit;
	my $pid = $node->safe_psql('postgres', q(SELECT pid FROM pg_stat_activity WHERE backend_type = 'lateweave launcher'));
	kill 'KILL', $pid;
	usleep(500_000);
	foreach (1 .. 100)
	{
		last if (eval { $node->psql('postgres', 'SELECT 1') } // 1) == 0;
		usleep(100_000);
	}
	my $at = $node->safe_psql('postgres', "SELECT lateweave_as_of('zzz')");
	ok($node->poll_query_until('postgres', "SELECT lateweave_as_of('zzz') > '$at'"), 'after a crash it goes on');
	unlike(slurp_file($node->logfile), qr/PANIC|signal 11|signal 6/, 'no other crash');
};

$node->stop;
done_testing();
