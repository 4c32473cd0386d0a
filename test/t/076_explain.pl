# What auto_explain and pg_stat_statements see of statements that read and score, and EXPLAIN beside them, whichever was loaded first.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('explain', "shared_preload_libraries = 'lateweave, auto_explain, pg_stat_statements'", 'compute_query_id = on',
	'pg_stat_statements.track = all', 'pg_stat_statements.track_planning = on');
my $search = q(SELECT id FROM lateweave_search('s', '[[1,1,1,1]]', 3));
my $rerank = q(SELECT id FROM lateweave_rerank('s', '[[1,1,1,1]]', '{d1,d2,d3,absent}'::text[], 2));
my $nested = q(SELECT ask());

$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_stat_statements;
	SELECT lateweave_create_store('s', 'none', '1', 4, encoding => 'float32', normalized => false);
	INSERT INTO s SELECT 'd' || i, ARRAY[[i, 0, 0, 0], [0, i, 0, 0]]::real[] FROM generate_series(1, 100) i;
	CREATE FUNCTION ask() RETURNS SETOF text LANGUAGE plpgsql AS $$
	BEGIN RETURN QUERY SELECT id FROM lateweave_search('s', '[[1,1,1,1]]', 3); END $$});

# The plans that auto_explain logs of some statements, by their text.
sub plans_of
{
	my ($session, $settings, @statements) = @_;
	my $offset = -s $node->logfile;
	my %plans;

	$session->query("SET auto_explain.log_min_duration = 0; $settings");
	$session->query($_) foreach @statements;
	$session->query('SET auto_explain.log_min_duration = -1');
	my $log = substr(read_bytes($node->logfile), $offset);
	$plans{$1} = $2 while $log =~ /plan:\n\tQuery Text: (.*?);?\n((?:\t.*\n)+)/g;
	return \%plans;
}

foreach my $libraries ('lateweave, auto_explain, pg_stat_statements', 'pg_stat_statements, auto_explain, lateweave')
{
	subtest $libraries => sub {
		$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'$libraries'");
		$node->restart;
		my $session = LwSession->new($node);
		my $analyze = 'SET auto_explain.log_analyze = on; SET auto_explain.log_buffers = on; SET auto_explain.log_nested_statements = on';

		# auto_explain
		my $plans = plans_of($session, '', 'SELECT id FROM s', $search, $nested);
		like($plans->{'SELECT id FROM s'}, qr/Foreign Scan on s .*\n\t +Vector Store: /, 'a scan');
		unlike($plans->{'SELECT id FROM s'}, qr/Documents Read/, 'which is not analyzed');
		like($plans->{$search}, qr/Function Scan on lateweave_search /, 'a search');
		is(scalar(keys %$plans), 3, 'no statement in another');
		$plans = plans_of($session, $analyze, 'SELECT * FROM s', $search, $rerank, $nested);
		like($plans->{'SELECT * FROM s'}, qr/Commit: 1\n.*Documents Read: 100\n\t +Tokens Read: 200\n\t +Bytes Read: 3200\n/s, 'an analyzed scan');
		like($plans->{$search}, qr/actual time=.* rows=3[. ]/, 'search');
		like($plans->{$rerank}, qr/actual time=.* rows=2[. ]/, 'and rerank');
		ok(exists $plans->{$search} && exists $plans->{$nested}, 'statements in others');
		$session->query("SET log_min_messages = debug1; $rerank; RESET log_min_messages");
		like(read_bytes($node->logfile), qr/"[^"]+": 3 documents scored in \d+\.\d+ ms of the kernel "\w+": 6 tokens, 96 bytes, commit 1\n/, 'what it scored can be logged');

		# EXPLAIN while auto_explain analyzes what is called
		$session->query('SET auto_explain.log_min_duration = 0');
		foreach my $statement ($search, $nested)
		{
			my $plan = $session->query("EXPLAIN (ANALYZE) $statement");

			like($plan, qr/\nScored Source: s\n  Vector Store: .*\n  Commit: 1\n  Calls: 1\n  Answer: exact\n(?:  .*\n)*  Documents Scored: 100\n/,
				"EXPLAIN of $statement");
			is(() = $plan =~ /Scored Source/g, 1, 'once');
		}
		$session->query('SET auto_explain.log_min_duration = -1');

		# pg_stat_statements
		$session->query('SELECT pg_stat_statements_reset()');
		$session->query("$search; $rerank");
		$session->query(q(SELECT id FROM lateweave_search('s', '[[2,2,2,2]]', 5)));
		$session->query('SELECT * FROM s');
		$session->query(q(BEGIN; INSERT INTO s VALUES ('e', '[[1,1,1,1]]'); DELETE FROM s WHERE id = 'd1' OR id = 'd2';
			SELECT lateweave_append('s', '{d1}'::text[], ARRAY['[[1,0,0,0]]'::multivector]); ROLLBACK));
		is($session->query(q(SELECT regexp_replace(query, '\$\d+', '?', 'g'), calls, rows, total_exec_time > 0 AS timed
			FROM pg_stat_statements WHERE query !~ 'pg_stat_statements|^(BEGIN|ROLLBACK)' ORDER BY query COLLATE "C")),
			<<'EXPECTED' =~ s/\n\z//r, 'pg_stat_statements: each statement once, none of the extension\'s own');
DELETE FROM s WHERE id = ? OR id = ?|1|2|t
INSERT INTO s VALUES (?, ?)|1|1|t
SELECT * FROM s|1|100|t
SELECT id FROM lateweave_rerank(?, ?, ?::text[], ?)|1|2|t
SELECT id FROM lateweave_search(?, ?, ?)|2|8|t
SELECT lateweave_append(?, ?::text[], ARRAY[?::multivector])|1|1|t
EXPECTED
		$session->quit;
	};
}

# A statement that loads the library while it is being explained.
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->restart;
$node->safe_psql('postgres', q(CREATE TABLE queries AS SELECT '[[1,1,1,1]]'::multivector AS q));
my $late = "EXPLAIN (ANALYZE, COSTS off) SELECT r.* FROM queries, LATERAL lateweave_search('s', q, 3) r";
my $session = LwSession->new($node);
like($session->query($late), qr/Function Scan on lateweave_search r .*\n(?:.*\n)*Execution Time/, 'it does no harm');
like($session->query($late), qr/\nScored Source: s\n/, 'the next one shows what it scored');
$session->quit;

$node->stop;
done_testing();
