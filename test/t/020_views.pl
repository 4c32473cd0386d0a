# What a statement sees: one commit of a store, the current one when the statement began.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use LwSession;
use LwStore;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $directory = PostgreSQL::Test::Utils::tempdir();
my $Q = $LwStore::QUERY;
my $node = start_node('views');
my $store = LwStore->create("$directory/store");
$store->round(qw(a b));
$node->safe_psql('postgres', create_source('s', $store->{path}) . ';' . <<'EOM');
-- renames a manifest that LwStore's prepare() has left, in the middle of a statement
CREATE FUNCTION publish(manifest text) RETURNS boolean VOLATILE LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('COPY (SELECT 1) TO PROGRAM %L', format('cat >/dev/null && mv %s %s',
		manifest, regexp_replace(manifest, '[^/]*$', 'manifest.json')));
	RETURN true;
END $$;
EOM
my $session = LwSession->new($node);

my $score = "lateweave_score('s', '$Q', 'a')";

# The score of document a in a commit that renewed it, or in the current one.
sub value
{
	my ($commit) = @_;
	my %scores = $store->scores;

	return defined $commit ? LwStore::value($commit, 0) : $scores{a};
}

# What a statement answers is that of the current commit.
sub is_current
{
	my ($sql, $name, $in) = @_;

	return is(($in // $session)->query($sql), value(), $name);
}

# Every way of reading the source, each as the score of document a; the last as its commit.
my @scans = (
	"(SELECT maxsim(maxsim_query('$Q'), tokens) FROM s WHERE id = 'a')",
	"(SELECT maxsim(maxsim_query('$Q'), tokens) FROM s ORDER BY id LIMIT 1)");
my @calls = (
	$score,
	"(SELECT score FROM lateweave_rerank('s', '$Q', ARRAY['b', 'a']) WHERE id = 'a')",
	"(SELECT score FROM lateweave_rerank(ARRAY['s']::regclass[], '$Q', '{1}', '{a}'))",
	"(SELECT score FROM lateweave_search('s', '$Q', 9) WHERE id = 'a')",
	"(SELECT sum(similarity) FROM lateweave_explain('s', '$Q', 'a'))",
	"(SELECT maxsim(maxsim_query('$Q'), tokens) FROM lateweave_fetch('s', ARRAY['a']))",
	"-('a'::text @# maxsim_query('s', '$Q'))",
	"(extract(epoch FROM lateweave_as_of('s'))::bigint - $LwStore::BASE) * 100");
my @ways = (@calls, @scans);

# One row of all ways in one commit.
sub all_ways
{
	my ($commit) = @_;

	return join('|', (value($commit)) x @ways);
}

subtest 'the next statement sees a commit' => sub {
	is_current("SELECT $score", 'first statement');
	$store->round(qw(a b));
	is_current("SELECT $score", 'next statement');
	is($session->query('SELECT ' . join(', ', @ways)), all_ways($store->{commit}), 'all ways of reading');

	$session->query(<<"EOM");
SET plan_cache_mode = force_generic_plan;
PREPARE by_id(text) AS SELECT lateweave_score('s', '$Q', \$1);
PREPARE scan AS SELECT maxsim(maxsim_query('$Q'), tokens) FROM s WHERE id = 'a';
CREATE FUNCTION by_expression() RETURNS real LANGUAGE plpgsql AS \$\$ BEGIN RETURN $score; END \$\$;
CREATE FUNCTION by_statement() RETURNS real LANGUAGE plpgsql STABLE AS
	\$\$ DECLARE r real; BEGIN SELECT $score INTO r; RETURN r; END \$\$;
CREATE FUNCTION by_sql() RETURNS real LANGUAGE sql VOLATILE AS \$\$ SELECT $score \$\$
EOM
	my @statements = (
		"SELECT $score", q(EXECUTE by_id('a')), 'EXECUTE scan',
		'SELECT by_expression()', 'SELECT by_statement()', 'SELECT by_sql()');
	foreach my $begin ('BEGIN', '')
	{
		$session->query($begin) if $begin;
		foreach my $i (1 .. 3)
		{
			$store->round(qw(a b));
			is_current($_, "$_, time $i " . ($begin ? 'in one transaction' : 'in transactions of their own'))
			  foreach @statements;
		}
		$session->query('COMMIT') if $begin;
	}

	my $manifest = $store->prepare;
	$store->renew(qw(a b));
	my $next = $store->prepare;
	is($session->query("SELECT $score\\; SELECT publish('$next')\\; SELECT $score"),
		join("\n", value($store->{commit} - 2), 't', value()),
		'statements of one message see what each of them can');
	unlink $manifest;
	$session->query('DEALLOCATE ALL; RESET plan_cache_mode');
};

# Makes the next commit, to be published by the statement itself; returns the call of it.
sub publish
{
	$store->renew(qw(a b));
	return "publish('" . $store->prepare . "')";
}

subtest 'a statement sees one commit' => sub {
	my $call = publish();
	my $old = value($store->{commit} - 1);
	is($session->query("SELECT $score, CASE n WHEN 3 THEN $call END, lateweave_score('s', '$Q', 'b')"
			  . ' FROM generate_series(1, 5) n'),
		join("\n", map { "$old|" . ($_ == 3 ? 't' : '') . '|' . ($old + 1) } 1 .. 5),
		'rows after a commit are scored as those before');
	is_current("SELECT $score", 'the statement after it sees the commit');

	# A scan decides when the statement begins, whatever is evaluated first; a function when it is first called.
	foreach my $first (@calls)
	{
		$call = publish();
		is($session->query("SELECT $first, $call, " . join(', ', @calls)),
			join('|', value($store->{commit} - 1), 't', (value($store->{commit} - 1)) x @calls),
			"all functions agree with $first");
	}
	foreach my $scan (@scans)
	{
		$call = publish();
		is($session->query("SELECT $call, " . join(', ', $scan, @calls)),
			join('|', 't', (value($store->{commit} - 1)) x (@calls + 1)),
			"all functions agree with $scan");
	}

	symlink $store->{path}, "$directory/link" or die "could not make a link: $!";
	my @spellings = ("$directory/./store", "$directory//store/", "$directory/link", "$directory/link/../store");
	$session->query(join(';', map { create_source("spelling_$_", $spellings[$_]) } 0 .. $#spellings));
	$old = value();
	$call = publish();
	is($session->query("SELECT $score, $call"
			  . join('', map { ", lateweave_score('spelling_$_', '$Q', 'a')" } 0 .. $#spellings)),
		join('|', $old, 't', ($old) x @spellings),
		'tables that name one store in different ways agree');
	$session->query(join(';', map { "DROP FOREIGN TABLE spelling_$_" } 0 .. $#spellings));

	# A function's statements run in the portal of the one that called it; those of the calling one are its own.
	$session->query(<<"EOM");
CREATE FUNCTION step(manifest text) RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE
	before real := $score;
BEGIN
	BEGIN
		PERFORM publish(manifest);
		PERFORM lateweave_score('s', '[[1]]', 'a');
	EXCEPTION WHEN data_exception THEN
		RETURN before || ' ' || $score;
	END;
END \$\$
EOM
	$old = value();
	$store->renew(qw(a b));
	my $manifest = $store->prepare;
	is($session->query("SELECT $score, step('$manifest'), $score"),
		"$old|$old $old|$old", 'an error that is caught in the middle changes nothing');
	is_current("SELECT $score", 'and the next statement sees the commit');
};

subtest 'a cursor keeps its commit' => sub {
	my $series = 'FROM generate_series(1, 9)';

	$session->query("BEGIN; DECLARE f CURSOR FOR SELECT $score $series;"
		  . " DECLARE h CURSOR WITH HOLD FOR SELECT $score $series;"
		  . " DECLARE t CURSOR WITH HOLD FOR SELECT maxsim(maxsim_query('$Q'), tokens) FROM s, generate_series(1, 9) WHERE id = 'a'");
	my $declared = value();
	$store->round(qw(a b));
	my $fetched = value();
	is($session->query('FETCH f; FETCH h'), "$fetched\n$fetched", 'first FETCH');
	$store->round(qw(a b));
	is($session->query('FETCH 2 FROM f; FETCH h'), join("\n", ($fetched) x 3), 'FETCH after a commit');
	is($session->query('FETCH t'), $declared, 'a scan of the table has its commit from DECLARE');
	is_current("SELECT $score", 'another statement in between');
	is($session->query('FETCH f'), $fetched, 'FETCH after another statement');
	$store->compact;
	$store->commit;
	$store->reclaim;
	is($session->query('FETCH f; FETCH h; FETCH t'), "$fetched\n$fetched\n$declared",
		'FETCH after the files were removed');
	$session->query('SAVEPOINT x');
	like($session->error('SELECT 1/0'), qr/22012/, 'an error in a subtransaction');
	$session->query('ROLLBACK TO x');
	is($session->query('FETCH f'), $fetched, 'FETCH after a subtransaction was rolled back');
	$session->query('COMMIT');
	is($session->query('FETCH h; FETCH t'), "$fetched\n$declared", 'FETCH from held cursors after COMMIT');
	is_current("SELECT $score", 'the statement after it');
	$session->query('CLOSE ALL');
	$store->round(qw(a b));
};

subtest 'functions that run many statements' => sub {
	$session->query(<<"EOM");
CREATE FUNCTION loop_of_queries(n integer) RETURNS integer LANGUAGE plpgsql AS \$\$
DECLARE
	wrong integer := 0;
	factor real;
BEGIN
	FOR i IN 1 .. n LOOP
		factor := i % 7;
		IF lateweave_score('s', multivector(ARRAY[factor, factor * 100, factor * 10000, 0]), 'a')
			IS DISTINCT FROM (factor * @{[ value() ]})::real THEN
			wrong := wrong + 1;
		END IF;
	END LOOP;
	RETURN wrong;
END \$\$;
CREATE PROCEDURE loop_of_commits(manifests text[], INOUT answer text) LANGUAGE plpgsql AS \$\$
BEGIN
	answer := $score;
	FOR i IN 1 .. array_length(manifests, 1) LOOP
		PERFORM publish(manifests[i]);
		COMMIT;
		answer := answer || ' ' || $score;
	END LOOP;
END \$\$
EOM
	is($session->query('SELECT loop_of_queries(100)'), '0', 'the right query is scored in each round of a loop');

	my @expected = (value());
	my @manifests;
	foreach (1 .. 3)
	{
		$store->renew(qw(a b));
		push @manifests, $store->prepare;
		push @expected, value();
	}
	is($session->query("CALL loop_of_commits('{" . join(',', @manifests) . "}', NULL)"),
		"@expected", 'a procedure sees what was committed before its own COMMIT');
	is_current("SELECT $score", 'and so does the statement after it');
};

subtest 'transactions' => sub {
	foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
	{
		my $commit = $store->{commit};

		$session->query("BEGIN ISOLATION LEVEL $level; SELECT 1; SAVEPOINT x");
		is($session->query("SELECT $score"), value($commit), "$level: first use");
		$session->query('ROLLBACK TO x');
		$store->round(qw(a b));
		is($session->query('SELECT ' . join(', ', @ways)), all_ways($commit),
			"$level: the same commit for the transaction, also when it was first used in a subtransaction");
		$session->query('DECLARE c CURSOR WITH HOLD FOR SELECT ' . $score);
		$store->compact;
		$store->commit;
		$store->reclaim;
		is($session->query("SELECT $score"), value($commit), "$level: after the files were removed");
		$session->query('COMMIT');
		$store->round(qw(a b));
		is($session->query('FETCH c'), value($commit), "$level: held cursor");
		is_current("SELECT $score", "$level: the statement after it");
		$session->query('CLOSE c');
	}

	$session->query('BEGIN; SAVEPOINT x');
	is_current("SELECT $score", 'READ COMMITTED: in a subtransaction');
	$store->round(qw(a b));
	$session->query('ROLLBACK TO x');
	is_current("SELECT $score", 'READ COMMITTED: after it was rolled back');
	$session->query('COMMIT');
};

subtest 'nothing is kept of earlier commits' => sub {
	my $maps = sub {
		return scalar grep { m,\Q$directory\E, } split(/\n/, slurp_file("/proc/$_[0]{pid}/maps"));
	};
	my $descriptors = sub { return scalar(() = glob("/proc/$_[0]{pid}/fd/*")) };
	plan skip_all => 'no /proc' unless -r "/proc/$session->{pid}/maps";

	$session->query("SELECT $score");
	my $descriptors_before = $descriptors->($session);
	foreach my $i (1 .. 20)
	{
		$store->round(qw(a b));
		$store->compact if $i % 5 == 0;
		$store->commit;
		$store->reclaim;
		$session->query("SELECT $score; SELECT count(*) FROM s, lateweave_search('s', '$Q', 5)");
		$session->error("SELECT lateweave_score('s', '$Q', n::text), $score, 1 / (n - 3) FROM generate_series(1, 4) n");
		$session->error("BEGIN; DECLARE c CURSOR FOR SELECT * FROM s; FETCH c; SAVEPOINT x; FETCH c; SELECT 1/0");
		$session->query('ROLLBACK TO x; FETCH c; ROLLBACK');
	}
	my $fresh = LwSession->new($node);
	is_current("SELECT $score", 'both sessions read', $_) foreach $session, $fresh;
	is($maps->($session), $maps->($fresh), 'a session maps what a new one maps');
	cmp_ok($maps->($fresh), '>', 0, 'which is something');
	is($descriptors->($session), $descriptors_before, 'and holds no more descriptors than before');
	$fresh->quit;
};

subtest 'changes within one tick of the clock' => sub {
	my $wrong = 0;

	foreach (1 .. 50)
	{
		$store->round(qw(a b));
		$store->round(qw(a b));
		$wrong++ if $session->query("SELECT $score") != value();
	}
	is($wrong, 0, 'two renames at once');

	# In place, with the same inode and size; the format forbids it, people do it.
	my $equal = 0;
	$wrong = 0;
	foreach (1 .. 50)
	{
		my $path = "$store->{path}/manifest.json";
		my $size = -s $path;

		$store->compact;
		$store->renew(qw(a b));
		$store->{commit}++;
		my $manifest = $store->next_manifest;
		$equal++ if length $manifest == $size;
		open(my $file, '+<', $path) or die "could not open $path: $!";
		truncate $file, length $manifest;
		print $file $manifest;
		close $file;
		$wrong++ if $session->query("SELECT $score") != value();
	}
	is($wrong, 0, 'the manifest written over');
	cmp_ok($equal, '>=', 30, 'most times by one of the same size');
};

subtest 'an unchanged manifest costs one stat' => sub {
	usleep(100_000);    # past the time in which a manifest is read again
	$session->query("SELECT $score; SET plan_cache_mode = force_generic_plan;"
		  . " PREPARE one AS SELECT lateweave_score('s', '$Q', 'a') FROM generate_series(1, 100); EXECUTE one");
	my $calls = eval { calls_of($session, '%file', 'EXECUTE one') };
	plan skip_all => 'strace does not attach here' unless defined $calls;
	is(() = $calls =~ /^(?:\w*stat\w*)\(/mg, 1, 'one stat for 100 scores in a prepared statement') or diag($calls);
	is(() = $calls =~ /\n/g, 1, 'and nothing else');
	foreach my $sql ("SELECT $score FROM generate_series(1, 100)", "SELECT count(*), max($score) FROM s")
	{
		$session->query($sql);
		$calls = calls_of($session, '%file', $sql);
		is(() = $calls =~ /^(?:\w*stat\w*)\(/mg, 1, "one stat for $sql, which is planned") or diag($calls);
		is(() = $calls =~ /\n/g, 1, 'and nothing else');
	}
};

$session->quit;
$node->stop;
done_testing();
