# Who may do what: every function, view and statement for the owner of a source, a role with SELECT on it, a role with
# nothing and a member of pg_monitor.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('privileges', "shared_preload_libraries = 'lateweave'", 'lateweave.heartbeat = 0');
my $super = LwSession->new($node);
my $section = "$golden/../sections/preset-nano.urna";
my @roles = qw(owner reader nobody monitor);

$super->query("CREATE ROLE $_ LOGIN") foreach @roles;
$super->query('GRANT pg_monitor TO monitor; GRANT CREATE ON SCHEMA public TO owner');
my %in = map { $_ => LwSession->new($node, user => $_) } @roles;
$in{owner}->query(q(SELECT lateweave_create_store('s', 'none', '1', 2, encoding => 'float32', normalized => false)));
$in{owner}->query(q(INSERT INTO s VALUES ('a', '[[1,0]]'), ('b', '[[0,1]]')));
$super->query("CREATE FOREIGN TABLE kb (chunk_id text, canonical_text text) SERVER lateweave OPTIONS (section_file '$section'); ALTER FOREIGN TABLE kb OWNER TO owner");
$in{owner}->query('CREATE TABLE t (id text, tokens multivector); GRANT ALL ON t TO PUBLIC; INSERT INTO t VALUES (\'a\', \'[[1,0]]\')');
$in{owner}->query('GRANT SELECT ON s, kb TO reader');
my $Q = "'[[1,0]]'";
my $dimension = $super->query(q(SELECT dimension FROM lateweave_sources WHERE source = 'kb'::regclass));
my $V = "array_fill(1::real, ARRAY[$dimension])::multivector";
my $chunk = $super->query('SELECT chunk_id FROM kb LIMIT 1');

# Statements, and which of the roles may run them: o(wner), r(eader), n(obody), m(onitor).
my @table = (
	# reading and scoring a store
	[ 'or', "SELECT lateweave_score('s', $Q, 'a')" ],
	[ 'or', "SELECT lateweave_score('s', $Q, 1::bigint)" ],
	[ 'or', "SELECT lateweave_score('s', $Q, '00000000-0000-0000-0000-000000000001'::uuid)" ],
	(map { [ 'or', "SELECT $_ @# maxsim_query('s', $Q)" ] } "'a'::text", "'a'::varchar", '1::smallint', '1', '1::bigint', "'00000000-0000-0000-0000-000000000001'::uuid"),
	(map { [ 'or', "SELECT * FROM lateweave_rerank('s', $Q, $_, 1)" ] } "ARRAY['a']", 'ARRAY[1::bigint]', "'{}'::uuid[]"),
	[ 'or', "SELECT * FROM lateweave_rerank(ARRAY['s']::regclass[], $Q, '{1}', '{a}', 1)" ],
	[ 'or', "SELECT * FROM lateweave_search('s', $Q, 1)" ],
	(map { [ 'or', "SELECT * FROM lateweave_fetch('s', $_)" ] } "ARRAY['a']", 'ARRAY[1::bigint]', "'{}'::uuid[]"),
	(map { [ 'or', "SELECT * FROM lateweave_explain('s', $Q, $_)" ] } "'a'::text", '1::bigint', "'00000000-0000-0000-0000-000000000001'::uuid"),
	[ 'or', "SELECT lateweave_as_of('s')" ],
	[ 'or', 'SELECT * FROM s' ],
	[ 'or', "SELECT * FROM s WHERE id = 'a'" ],
	[ 'or', "SELECT lateweave_prewarm('s')" ],
	[ 'or', "SELECT * FROM lateweave_verify('s')" ],
	[ 'or', "SELECT * FROM lateweave_diff('s', 't', 'id')" ],
	# a section file
	[ 'or', 'SELECT canonical_text FROM kb' ],
	[ 'or', "SELECT * FROM lateweave_section_info('kb')" ],
	[ 'or', "SELECT * FROM lateweave_sections('kb')" ],
	[ 'or', "SELECT * FROM lateweave_spaces('kb')" ],
	[ 'or', "SELECT * FROM lateweave_blobs('kb')" ],
	[ 'or', "SELECT * FROM lateweave_search('kb', $V, 1)" ],
	[ 'or', "SELECT * FROM lateweave_section_search('kb', $V, 1)" ],
	[ 'or', "SELECT * FROM lateweave_neighbors('kb', '$chunk')" ],
	[ 'or', "SELECT * FROM lateweave_verify('kb')" ],
	# changing
	[ 'o', "INSERT INTO s VALUES ('c', '[[1,1]]')" ],
	[ 'o', "UPDATE s SET tokens = '[[1,1]]' WHERE id = 'c'" ],
	[ 'o', "DELETE FROM s WHERE id = 'c'" ],
	(map { [ 'o', "SELECT lateweave_append('s', $_, ARRAY['[[1,1]]']::multivector[])" ] } "ARRAY['c']", 'ARRAY[1::bigint]', "ARRAY['00000000-0000-0000-0000-000000000001']::uuid[]"),
	(map { [ 'o', "SELECT lateweave_delete('s', $_)" ] } "ARRAY['c']", 'ARRAY[1::bigint]', "ARRAY['00000000-0000-0000-0000-000000000001']::uuid[]"),
	[ 'o', 'TRUNCATE s' ],
	[ 'o', "SELECT lateweave_commit('s')" ],
	# maintaining
	[ 'o', "SELECT lateweave_compact('s')" ],
	[ 'o', "SELECT lateweave_settle('s', 'publish')" ],
	[ 'o', "SELECT lateweave_train('s')" ],
	[ '', "SELECT lateweave_snapshot('s', 'copy')" ],
	[ '', "SELECT lateweave_snapshot('s', '/tmp/copy')" ],
	[ '', "SELECT lateweave_build_section_file('new.urna', 'SELECT 1', '{}')" ],
	[ '', "SELECT lateweave_stat_reset()" ],
	[ '', 'SELECT lateweave_enable_pgvector()' ],
	[ 'o', "ALTER FOREIGN TABLE s RENAME TO s" ],
	[ 'o', "SELECT lateweave_create_store('u', 'none', '1', 2)" ],
	[ '', "SELECT lateweave_create_store('u', 'none', '1', 2, path => 'elsewhere')" ],
	[ '', create_source('u', "$golden/none") ],
	[ '', "ALTER FOREIGN TABLE s OPTIONS (ADD heartbeat '1')" ],
	# what everybody may
	[ 'ornm', 'SELECT * FROM lateweave_kernels()' ],
	[ 'ornm', "SELECT * FROM lateweave_estimate(1000, 10, 128, 'int8')" ],
	[ 'ornm', 'SELECT * FROM lateweave_sources' ],
	[ 'ornm', 'SELECT * FROM lateweave_stat' ],
	[ 'ornm', 'SELECT * FROM lateweave_progress' ],
	[ 'ornm', "SELECT maxsim(maxsim_query($Q), '[[1,2]]')" ],
	[ 'ornm', "SELECT lateweave_encode_zstd('a')" ]);

foreach my $case (@table)
{
	my ($may, $statement) = @$case;
	my @wrong;

	foreach my $role (@roles)
	{
		my $allowed = $may =~ /^\Q@{[ substr($role, 0, 1) ]}\E|@{[ substr($role, 0, 1) ]}/;
		my (undef, $said) = $in{$role}->send("BEGIN;\n$statement");

		# who owns the table is refused for another reason: the name is taken
		$said = '' if $statement =~ /RENAME/ && $role eq 'owner' && $said =~ /already exists/;
		$in{$role}->send('ROLLBACK');
		push @wrong, "$role: " . ($said || 'no error') if $allowed ? $said =~ /ERROR/ : $said !~ /^(?:psql.*)?ERROR:  42501/m;
	}
	check($statement =~ s/\n.*//sr, @wrong);
}

# What the views show to whom.
my %rows = (owner => 'kb,s', reader => 'kb,s', nobody => '', monitor => 'kb,s');
foreach my $view ('lateweave_sources', 'lateweave_stat')
{
	is($in{$_}->query("SELECT string_agg(source::text, ',' ORDER BY source::text) FROM $view"), $rows{$_}, "$view for $_") foreach @roles;
}
is($in{monitor}->query("SELECT error IS NULL, path IS NOT NULL FROM lateweave_sources WHERE source = 's'::regclass"), 't|t', 'a monitor sees where a source lies');
like($in{monitor}->error('SELECT * FROM s'), qr/42501/, 'but reads none');

# A trigger changes the store with the privileges of who changes the row.
$super->query(q(CREATE TRIGGER sync AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'id', 'tokens')));
my $insert = q(INSERT INTO t VALUES ('z', '[[1,2]]'));
like($in{reader}->error($insert), qr/42501/, 'SELECT is not enough for the trigger');
$in{owner}->query('GRANT INSERT, DELETE ON s TO reader');
is($in{reader}->error($insert), '', 'INSERT and DELETE are');

# Every function of the extension has been looked at: none is forgotten here.
my %known = map { $_ => 1 } map { $_->[1] =~ /\b((?:lateweave|maxsim)_?\w*)\(/g } @table;
my @forgotten = grep { !$known{$_} } split /\n/, $super->query(q(
	SELECT DISTINCT proname FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND extname = 'lateweave'
	WHERE proname LIKE 'lateweave%' AND proname !~ '(?:_support|_handler)$|^lateweave_(list|encode|decode|fdw|distance)_?' AND prorettype <> 'event_trigger'::regtype AND prorettype <> 'trigger'::regtype));
is("@forgotten", 'lateweave_blob lateweave_cite lateweave_drop_store', 'no function was forgotten, but what is tested below');
is($in{nobody}->query("SELECT count(*) FROM lateweave_cite('urna://sha256:" . '0' x 64 . '/sha256:' . '0' x 64 . "')"), 0, 'lateweave_cite looks at what one may read');
like($in{$_}->error("SELECT lateweave_blob('kb', 0)"), $_ =~ /owner|reader/ ? qr/^ERROR:  (?!42501)/ : qr/42501/, "lateweave_blob for $_") foreach @roles;
like($in{$_}->error("SELECT lateweave_drop_store('s')"), qr/42501/, "lateweave_drop_store for $_") foreach qw(reader nobody monitor);
is($in{owner}->error("SELECT lateweave_drop_store('s')"), '', 'lateweave_drop_store for the owner');

$_->quit foreach $super, values %in;
$node->stop;
done_testing();
