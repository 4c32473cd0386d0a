# What lateweave_stat counts, what lateweave_progress shows of work that goes on, and the numbers and notes of
# lateweave_sources, which cost no look at every document.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwStore;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

my $node = start_node('stat', "shared_preload_libraries = 'lateweave'", 'lateweave.heartbeat = 0', 'lateweave.compact_segments = 1000000',
	'lateweave.compact_deleted_fraction = 1');
my $Q = $LwStore::QUERY;
my $session = LwSession->new($node);

sub stat_of
{
	my ($columns, $source) = @_;

	return $session->query("SELECT $columns FROM lateweave_stat WHERE source = '$source'::regclass");
}

$session->query(q(SELECT lateweave_create_store('s', 'none', '1', 4, encoding => 'float32', normalized => false)));
$session->query(q(INSERT INTO s SELECT 'd' || i, ARRAY[[i, 0, 0, 0], [0, i, 0, 0]]::real[] FROM generate_series(1, 100) i));
my $ids = q(ARRAY(SELECT 'd' || i FROM generate_series(1, 50) i));

subtest 'counts' => sub {
	my $counts = 'scores, documents, tokens, bytes_read';

	is(stat_of("$counts, commits, transactions_per_commit", 's'), '0|0|0|0|1|1', 'a commit, and no score yet');
	$session->query("SELECT * FROM lateweave_rerank('s', '$Q', $ids, 3)");
	is(stat_of($counts, 's'), '1|50|100|1600', 'a rerank is one call');
	cmp_ok(stat_of('score_time', 's'), '>', 0, 'whose time is measured');
	$session->query("SELECT lateweave_score('s', '$Q', 'd' || i) FROM generate_series(1, 10) i");
	is(stat_of($counts, 's'), '11|60|120|1920', 'scores one at a time are a call each');
	$session->query("SELECT lateweave_score('s', '$Q', 'nothing')");
	is(stat_of($counts, 's'), '11|60|120|1920', 'what is absent is not scored');
	$session->query("SELECT * FROM lateweave_search('s', '$Q', 1)");
	is(stat_of($counts, 's'), '12|160|320|5120', 'a search scores all');
	my $before = stat_of('score_time', 's');
	$session->query("SELECT lateweave_score('s', '$Q', 'd1')");
	is(stat_of('score_time', 's'), $before, 'the time of one score is not measured');
	$session->query("SET track_io_timing = on; SELECT lateweave_score('s', '$Q', 'd1'); RESET track_io_timing");
	cmp_ok(stat_of('score_time', 's'), '>', $before, 'but with track_io_timing');

	$session->query(q(CREATE TABLE ids (id text); INSERT INTO ids SELECT 'd' || i FROM generate_series(1, 100) i; CREATE INDEX ON ids USING lateweave (id)));
	$before = stat_of('scores', 's');
	$session->query("SET enable_seqscan = off; SET enable_sort = off; SELECT id FROM ids ORDER BY id \@# maxsim_query('s', '$Q') LIMIT 3; RESET enable_seqscan; RESET enable_sort");
	is(stat_of('scores', 's'), $before + 4, 'an index scan is a call, and each of its rows');

	# what others count is added when their statement ends, within a transaction, too
	my $other = LwSession->new($node);
	$other->query("BEGIN; SELECT lateweave_score('s', '$Q', 'd1')");
	is(stat_of('scores', 's'), $before + 5, 'before the transaction ends');
	$other->error("SELECT lateweave_score('s', '[[1]]', 'd1')");
	$other->query('ROLLBACK');
	is(stat_of('scores', 's'), $before + 5, 'what failed before it scored');
	my $reloads = stat_of('view_reloads', 's');
	$session->query(q(DELETE FROM s WHERE id = 'd100'));
	$other->query("SELECT lateweave_score('s', '$Q', 'd1')");
	cmp_ok(stat_of('view_reloads', 's'), '>', $reloads, 'a commit is taken up by sessions');
	is(stat_of('commits', 's'), 2, 'and counted');
	$session->query("SELECT lateweave_compact('s')");
	is(stat_of('compactions', 's'), 1, 'so is a compaction');

	is(stat_of('last_error', 's'), '', 'no error yet');
	my $path = $session->query("SELECT path FROM lateweave_sources WHERE source = 's'::regclass");
	rename "$path/manifest.json", "$path/away" or die "could not rename: $!";
	$other->error("SELECT lateweave_score('s', '$Q', 'd1')");
	rename "$path/away", "$path/manifest.json" or die "could not rename: $!";
	like(stat_of('last_error', 's'), qr/could not open ".*manifest\.json"/, 'the last error');
	is(stat_of("last_error_at > now() - interval '1 minute'", 's'), 't', 'and its time');

	# a section file
	my ($section) = glob("$golden/../sections/bm25-raw.urna");
	$session->query("CREATE FOREIGN TABLE kb (chunk_id text) SERVER lateweave OPTIONS (section_file '$section')");
	my ($documents, $dimension) = split /\|/, $session->query(q(SELECT documents, dimension FROM lateweave_sources WHERE source = 'kb'::regclass));
	$session->query("SELECT * FROM lateweave_search('kb', array_fill(1::real, ARRAY[$dimension])::multivector, 1)");
	is(stat_of('scores, documents, tokens', 'kb'), "1|$documents|$documents", 'a section file');
	$session->query('DROP FOREIGN TABLE kb');
	$other->quit;
};

subtest 'reset' => sub {
	$session->query('CREATE ROLE watcher LOGIN; GRANT pg_monitor TO watcher; CREATE ROLE nobody LOGIN');
	my $watcher = LwSession->new($node, user => 'watcher');
	my $nobody = LwSession->new($node, user => 'nobody');

	like($_->error('SELECT lateweave_stat_reset()'), qr/^ERROR:  42501: /, 'not for everyone') foreach $watcher, $nobody;
	cmp_ok($watcher->query('SELECT scores FROM lateweave_stat'), '>', 0, 'a monitor sees the counts');
	is($nobody->query('SELECT count(*) FROM lateweave_stat'), 0, 'who may not read the source does not');
	my $since = stat_of('stats_reset', 's');
	$session->query('GRANT EXECUTE ON FUNCTION lateweave_stat_reset() TO watcher');
	$watcher->query('SELECT lateweave_stat_reset()');
	is(stat_of('scores, documents, commits, compactions, last_error', 's'), '0|0|0|0|', 'reset');
	is(stat_of("stats_reset > '$since'", 's'), 't', 'and since when');
	$_->quit foreach $watcher, $nobody;
};

subtest 'more sources than there is room for' => sub {
	$node->append_conf('postgresql.conf', 'lateweave.max_sources = 2');
	$node->restart;
	my $in = LwSession->new($node);
	foreach my $i (1 .. 5)
	{
		my $store = LwStore->create($node->basedir . "/many_$i");

		$store->round('a');
		$in->query(create_source("many_$i", $store->{path}) . "; SELECT lateweave_score('many_$i', '$Q', 'a')");
	}
	is($in->query("SELECT string_agg(scores::text, ',' ORDER BY source::text) FROM lateweave_stat WHERE source::text LIKE 'many%'"),
		'0,0,0,1,1', 'those that were used last are counted');
	$in->quit;
	$node->append_conf('postgresql.conf', 'lateweave.max_sources = 128');
	$node->restart;
};

subtest 'progress' => sub {
	my $worker = LwSession->new($node);
	my $watcher = LwSession->new($node, user => 'watcher');
	my $nobody = LwSession->new($node, user => 'nobody');
	my %seen;

	# starts a statement, looks at it until it ends
	my $watch = sub {
		my ($sql, $check) = @_;
		my @rows;

		$worker->{in} .= "$sql;\n\\echo >>> done\n";
		$worker->{out} = '';
		until ($worker->{out} =~ />>> done/)
		{
			my $row = $watcher->query('SELECT pid, source, phase, done, total FROM lateweave_progress');

			push @rows, $row if $row;
			$check->() if $row && $check;
			$check = undef if $row;
			$worker->{run}->pump_nb;
		}
		return @rows;
	};

	$worker->query(q(SELECT lateweave_create_store('big', 'none', '1', 64, encoding => 'float32', normalized => false)));
	my @rows = $watch->(q(INSERT INTO big SELECT 'd' || i, array_fill(i::real, ARRAY[32, 64])::multivector FROM generate_series(1, 6000) i));
	check('a bulk load', grep { !/^$worker->{pid}\|big\|bulk load: writing documents\|\d+\|$/ } @rows ? @rows : 'none was seen');
	$worker->query(q(DELETE FROM big WHERE id LIKE '%7'));
	$worker->query('SET lateweave.cost_limit = 50; SET lateweave.cost_delay = 10');
	@rows = $watch->(q(SELECT lateweave_compact('big')), sub {
			is($nobody->query('SELECT count(*) FROM lateweave_progress'), 0, 'who may not read the source sees nothing');
		});
	my @copying = grep { /copying/ } @rows;
	check('a compaction', grep { !/^$worker->{pid}\|big\|compaction: [a-z' ]+\|\d+\|\d*$/ } @rows);
	cmp_ok(scalar(@copying), '>', 1, 'which copies for long');
	my @done = map { (split /\|/)[3] } @copying;
	my ($total) = map { (split /\|/)[4] } @copying;
	is_deeply(\@done, [ sort { $a <=> $b } @done ], 'and gets on');
	cmp_ok($done[-1], '<=', $total, 'to a known end');
	@rows = $watch->(q(SELECT count(*) FROM lateweave_verify('big')));
	check('a verification', grep { !/^$worker->{pid}\|big\|verification: checking files\|\d+\|$/ } @rows);
	$worker->query('SET lateweave.cost_limit = 5; SET lateweave.cost_delay = 10');
	@rows = $watch->(q(SELECT lateweave_build_section_file('built.urna',
		$$SELECT 'text ' || i AS text, 'u' AS uri, 0 AS start, 1 AS "end", array_fill(i::real, ARRAY[64]) AS embedding FROM generate_series(1, 5000) i$$,
		'{"embedding_model": "none", "model_hash": "sha256:0000000000000000000000000000000000000000000000000000000000000000", "preset": "exact", "allow_placeholder_model_hash": true}')));
	check('a build', grep { !/^$worker->{pid}\|\|build: (?:reading rows|writing bytes)\|\d+\|$/ } @rows ? @rows : 'none was seen');
	is($watcher->query('SELECT count(*) FROM lateweave_progress'), 0, 'nothing is left');

	# what ends by an error leaves nothing, either
	$worker->query('DELETE FROM big');
	$worker->{in} .= "SET lateweave.cost_limit = 1; SET lateweave.cost_delay = 100;\nINSERT INTO big SELECT 'e' || i, array_fill(1::real, ARRAY[32, 64])::multivector FROM generate_series(1, 6000) i;\nSELECT lateweave_compact('big');\n";
	$worker->{run}->pump_nb;
	$node->poll_query_until('postgres', q(SELECT count(*) = 1 FROM lateweave_progress WHERE phase LIKE 'compaction%'));
	$session = LwSession->new($node);
	$session->query("SELECT pg_terminate_backend($worker->{pid})");
	ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM lateweave_progress'), 'nor of a session that was ended');
	eval { $worker->{run}->finish };
	$_->quit foreach $watcher, $nobody;
};

subtest 'sources' => sub {
	my $columns = 'documents, deleted, tokens, segments, pending, unassigned, trained_at, notes';
	my $of = sub { return $session->query("SELECT $_[0] FROM lateweave_sources WHERE source = 'n'::regclass") };

	$session->query(q(SELECT lateweave_create_store('n', 'none', '1', 1, encoding => 'float32', normalized => false)));
	is($of->($columns), '0|0|0|0|0|0||{}', 'empty');
	$session->query("SELECT lateweave_append('n', ARRAY['d' || i, 'e' || i], ARRAY['[[1]]', '[[1],[2]]']::multivector[]) FROM generate_series(1, 3) i");
	$session->query(q(DELETE FROM n WHERE id = 'd1'));
	$session->query(q(INSERT INTO n VALUES ('e1', '[[1]]')));
	is($of->('documents, tokens'), '5|7', 'replaced and deleted documents do not count');
	is($of->('notes'), '{}', 'nothing to note: all may be deleted');
	$session->query(q(ALTER FOREIGN TABLE n OPTIONS (ADD compact_deleted_fraction '0.2')));
	is($of->('notes'), '{"compaction recommended"}', 'more than a fifth are deleted');
	$session->query(q(ALTER FOREIGN TABLE n OPTIONS (SET compact_deleted_fraction '0.5')));
	is($of->('notes'), '{}', 'but not half');
	$session->query(q(ALTER FOREIGN TABLE n OPTIONS (ADD compact_segments '0')));
	is($of->('notes'), '{"compaction recommended"}', 'too many segments');
	$session->query(q(ALTER FOREIGN TABLE n OPTIONS (SET compact_segments '100')));
	is($of->('notes'), '{}', 'not so');
	foreach my $bad ("ADD heartbeat '-1'", "ADD heartbeat 'x'", "ADD heartbeat '2d'", "SET compact_segments '1.5e9'", "SET compact_deleted_fraction '1.1'",
		"SET compact_deleted_fraction 'nan'")
	{
		like($session->error("ALTER FOREIGN TABLE n OPTIONS ($bad)"), qr/^ERROR:  22023: invalid value for option/, "refused: $bad");
	}
	$session->query("ALTER FOREIGN TABLE n OPTIONS (ADD heartbeat '1min')");
	my $writer = LwSession->new($node);
	$writer->query(q(BEGIN; INSERT INTO n VALUES ('f', '[[1]]')));
	is($of->('pending'), 0, 'what is staged is not pending');
	$writer->query(q(SET lateweave.fault = 'round-written:enospc'; COMMIT));
	is($of->('documents, pending'), '6|1', 'what could not be published is, and counts');
	like($session->query(q(SELECT last_error FROM lateweave_stat WHERE source = 'n'::regclass)), qr/No space left/, 'and why');
	$writer->query(q(SET lateweave.fault = ''; SELECT lateweave_commit('n')));
	is($of->('documents, pending'), '6|0', 'until it is');
	$writer->quit;

	# many segments, small and large: the same counts as by looking at each
	$session->query(q(SELECT lateweave_create_store('m', 'none', '1', 1, encoding => 'float32', normalized => false)));
	$session->query(q(INSERT INTO m SELECT i, '[[1]]' FROM generate_series(1, 20000) i));
	my $fill = q(SELECT lateweave_append('m', ARRAY(SELECT (i * %d %% 20500)::text FROM generate_series(%d, %d) i), ARRAY(SELECT '[[1],[2]]'::multivector FROM generate_series(%d, %d))));
	foreach my $i (1 .. 14)
	{
		my ($from, $to) = (1, $i % 5 == 0 ? 3000 : 30 * $i);

		$session->query(sprintf($fill, 2 * $i + 1, ($from, $to) x 2));
		$session->query("SELECT lateweave_delete('m', ARRAY['$i', '" . 100 * $i . "'])");
		my $fresh = LwSession->new($node);
		is($fresh->query(q(SELECT documents, tokens FROM lateweave_sources WHERE source = 'm'::regclass)),
			$fresh->query(q(SELECT count(*), sum(token_count(tokens)) FROM lateweave_fetch('m', ARRAY(SELECT i::text FROM generate_series(0, 21000) i)))),
			"segments: $i");
		$fresh->quit;
	}
	cmp_ok($session->query(q(SELECT segments FROM lateweave_sources WHERE source = 'm'::regclass)), '>', 8, 'there are many');
	my $distinct = $session->query(q(SELECT count(DISTINCT id) = count(*) FROM m));
	is($distinct, 't', 'each document once');
};

$session->quit;
$node->stop;
done_testing();
