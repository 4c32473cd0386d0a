# pg_dump and restore of everything a database has of lateweave, beside its stores and without them.
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

my $node = start_node('dump', "shared_preload_libraries = 'lateweave'", 'lateweave.heartbeat = 0');
my $in = LwSession->new($node);
my $Q = $LwStore::QUERY;
my $dumps = $node->basedir;
my $store = LwStore->create("$dumps/attached");
my $section = "$golden/../sections/preset-nano.urna";

$store->round('a', 'b');
$in->query('CREATE ROLE keeper; CREATE SCHEMA laws; GRANT ALL ON SCHEMA laws TO keeper');
$in->query(q(SELECT lateweave_create_store('laws.vectors', 'none', '1', 4, encoding => 'float32', normalized => false)));
$in->query(q(ALTER FOREIGN TABLE laws.vectors OPTIONS (ADD heartbeat '10min', ADD compact_segments '7', ADD compact_deleted_fraction '0.5', ADD min_commit '0')));
$in->query(create_source('laws.attached', $store->{path}) . "; CREATE FOREIGN TABLE laws.kb (chunk_id text, embedding real[]) SERVER lateweave OPTIONS (section_file '$section')");
$in->query(q(CREATE TABLE laws.laws (id text PRIMARY KEY, tokens multivector(4), notes multivector, query maxsim_query)));
$in->query(q(CREATE TRIGGER sync AFTER INSERT OR UPDATE OR DELETE ON laws.laws FOR EACH ROW EXECUTE FUNCTION lateweave_sync('laws.vectors', 'id', 'tokens');
	CREATE TRIGGER sync_truncate AFTER TRUNCATE ON laws.laws FOR EACH STATEMENT EXECUTE FUNCTION lateweave_sync('laws.vectors', 'id', 'tokens')));
$in->query(q(INSERT INTO laws.laws VALUES ('l1', '[[1,2,3,4]]', '[[0.1,1e-30]]', '[[1]]'), ('l2', '[[5,6,7,8],[-1,0.3333333,0,0]]', NULL, NULL)));
$in->query(q(CREATE INDEX ON laws.laws (notes); CREATE INDEX ON laws.laws USING hash (tokens)));
$in->query(qq(CREATE VIEW laws.best AS SELECT id, lateweave_score('laws.vectors', '[[1,0,0,0]]', id) AS score FROM laws.laws ORDER BY id \@# maxsim_query('laws.vectors', '[[1,0,0,0]]')));
$in->query(q(CREATE MATERIALIZED VIEW laws.copy AS SELECT id, tokens FROM laws.vectors));
$in->query(q(ALTER FOREIGN TABLE laws.vectors OWNER TO keeper; GRANT SELECT ON laws.vectors TO pg_monitor; COMMENT ON FOREIGN TABLE laws.vectors IS 'of the laws'; GRANT EXECUTE ON FUNCTION lateweave_stat_reset() TO keeper));

# What is to be the same after a restore.
my $what = q(SELECT string_agg(line, E'\n' ORDER BY line) FROM (
	SELECT concat_ws(' ', ftrelid::regclass, (SELECT array_agg(o ORDER BY o) FROM unnest(ftoptions) o), obj_description(ftrelid), relowner::regrole, relacl) AS line FROM pg_foreign_table JOIN pg_class c ON c.oid = ftrelid
	UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
	UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'laws.laws'::regclass
	UNION ALL SELECT pg_get_viewdef('laws.best'::regclass) UNION ALL SELECT l::text FROM laws.laws l
	UNION ALL SELECT c::text FROM laws.copy c) x);
my $before = $in->query($what);
my $documents = 'SELECT string_agg(id || tokens, E\'\n\' ORDER BY id) FROM laws.vectors';
my $held = $in->query($documents);
my $commit = $in->query(q(SELECT commit FROM lateweave_sources WHERE source = 'laws.vectors'::regclass));

sub restore
{
	my ($to, $format, $file) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $to");
	my ($out, $err);
	return IPC::Run::run($format eq 'plain' ? [ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($to), '-f', $file ] :
		  [ 'pg_restore', '--exit-on-error', '-d', $node->connstr($to), $file ], '>' => \$out, '2>' => \$err) ? '' : "failed: $err";
}

foreach my $format ('plain', 'custom')
{
	my $file = "$dumps/$format.dump";

	command_ok([ 'pg_dump', "--format=$format", '-f', $file, $node->connstr('postgres') ], "pg_dump, $format");
	is(restore($format, $format, $file), '', 'restored beside the stores');
	my $session = LwSession->new($node, dbname => $format);
	is($session->query($what), $before, 'everything is the same');
	is($session->query($documents), $held, 'and so are the documents');
	is($session->query('SELECT array_agg(score) FROM laws.best'), $in->query('SELECT array_agg(score) FROM laws.best'), 'and scores');
	is($session->query("SELECT has_function_privilege('keeper', 'lateweave_stat_reset()', 'EXECUTE')"), 't', 'and a grant of a function');
	is($session->query("SELECT count(*) FROM pg_event_trigger WHERE evtname = 'lateweave_record_store_id'"), 1, 'there is one event trigger');
	$session->quit;
}

# The restore has written the rows into the store again, by the trigger or not: pg_dump makes triggers after the data.
is($in->query(q(SELECT commit FROM lateweave_sources WHERE source = 'laws.vectors'::regclass)), $commit, 'a restore changes no store');

subtest 'without the files' => sub {
	my $path = $in->query(q(SELECT path FROM lateweave_sources WHERE source = 'laws.vectors'::regclass));

	$in->quit;
	rename $path, "$path.away" or die "could not rename: $!";
	rename $store->{path}, "$store->{path}.away" or die "could not rename: $!";
	command_ok([ 'pg_dump', '-f', "$dumps/missing.dump", '--exclude-table-data=laws.copy', $node->connstr('postgres') ], 'pg_dump needs no store');
	is(restore('missing', 'plain', "$dumps/missing.dump"), '', 'nor does the restore');
	my $session = LwSession->new($node, dbname => 'missing');
	is($session->query('SELECT count(*) FROM laws.laws'), 2, 'the rows are there');
	like($session->error('SELECT * FROM laws.best'), qr/^ERROR:  58P01: .*\nHINT:  If it was moved/m, 'what needs the store says that it is missing');
	is($session->query('SELECT count(*) FROM lateweave_sources WHERE error IS NOT NULL'), 2, 'and so does lateweave_sources');
	rename "$path.away", $path or die "could not rename: $!";
	is($session->query('SELECT count(score) FROM laws.best'), 2, 'put back, it is used');
	$session->quit;
};

# As another role, without the privilege to attach files: what it may not is refused, and nothing else.
$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN CREATEDB');
my $plain = LwSession->new($node, user => 'plain');
like($plain->error(create_source('public.stolen', $store->{path}, "store_id 'x'")), qr/42501/, 'a dump lets nobody attach what he may not');
$plain->quit;
$node->stop;
done_testing();
