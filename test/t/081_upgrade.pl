# pg_upgrade and pg_rewind of servers with stores in the data directory: what they carry over, and what the README
# says to do about the rest.  LATEWEAVE_OLD_BINDIR names the programs of an older PostgreSQL, with lateweave,
# to upgrade from; else a server of the same version is.
use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $Q = '[[1,0,0,0]]';
my @settings = ("shared_preload_libraries = 'lateweave'", 'lateweave.heartbeat = 0', 'fsync = off');
my @encoding = (extra => [ '--encoding=UTF8', '--locale=C', '--data-checksums' ]);
my $diff = q(SELECT count(*) FROM lateweave_diff('s', 't', 'id'));

# A table with a store in step, and an index over it.
sub fill
{
	my ($session) = @_;

	$session->query('CREATE EXTENSION lateweave; CREATE TABLE t (id text PRIMARY KEY, tokens multivector)');
	$session->query(q(SELECT lateweave_create_store('s', 'none', '1', 4, encoding => 'float32', normalized => false)));
	$session->query(q(CREATE TRIGGER sync AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'id', 'tokens')));
	$session->query(q(INSERT INTO t SELECT 'd' || i, ARRAY[i, 0, 0, 0]::real[] FROM generate_series(1, 1200) i));
	$session->query(q(CREATE INDEX ranked ON t USING lateweave (id) WITH (source = 'public.s')));
	return;
}

# The answers by the index.
my $best = "SET enable_seqscan = off; SET enable_sort = off; SELECT string_agg(id, ' ') FROM (SELECT id FROM t ORDER BY id \@# maxsim_query('s', '$Q') LIMIT 3) x";

subtest 'pg_upgrade' => sub {
	my $old = PostgreSQL::Test::Cluster->new('old', install_path => $ENV{LATEWEAVE_OLD_BINDIR} ? abs_path("$ENV{LATEWEAVE_OLD_BINDIR}/..") : undef);
	my $new = PostgreSQL::Test::Cluster->new('new');
	my $old_programs = $ENV{LATEWEAVE_OLD_BINDIR} // $new->config_data('--bindir');

	$_->init(@encoding) foreach $old, $new;
	$_->append_conf('postgresql.conf', join("\n", @settings)) foreach $old, $new;
	$old->start;
	my $session = LwSession->new($old);
	fill($session);
	my $path = $session->query(q(SELECT path FROM lateweave_sources));
	my $inside = substr($path, length($old->data_dir) + 1);
	$session->quit;
	$old->stop;

	chdir(PostgreSQL::Test::Utils::tempdir());
	command_ok(
		[
			'pg_upgrade', '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old_programs, '-B', $new->config_data('--bindir'),
			'-s', $new->host, '-p', $old->port, '-P', $new->port
		],
		'a cluster is upgraded');
	$new->start;
	$session = LwSession->new($new);
	like($session->error("SELECT lateweave_score('s', '$Q', 'd1')"), qr/^ERROR:  58P01: .*\nHINT:  .*restored or upgraded, restore the source's files too/m, 'the store is not carried over, as the hint says');
	is($session->query('SELECT count(*) FROM t'), 1200, 'tables are');
	like($session->error(q(INSERT INTO t VALUES ('lost', '[[1,2,3,4]]'))), qr/^ERROR:  58P01: /, 'nothing is written until it is there');

	# as the README says; databases keep their number
	ok(-d $path, 'it lies where it was');
	rename($old->data_dir . '/lateweave', $new->data_dir . '/lateweave') or die "could not rename: $!";
	is($session->query("SELECT lateweave_score('s', '$Q', 'd7')"), 7, 'moved by its owner, it answers');
	is($session->query('SELECT path LIKE \'' . $new->data_dir . "%$inside' FROM lateweave_sources"), 't', 'from its new place');
	is($session->query($diff), 0, 'in step with the table');
	is($session->query($best), 'd1200 d1199 d1198', 'the index is whole');
	is($session->error(q(INSERT INTO t VALUES ('new', '[[5000,0,0,0]]'))), '', 'and it is written');
	is($session->query($best), 'new d1200 d1199', 'through trigger and index');
	is($session->query($diff), 0, 'and is in step');
	check('it is whole', split(/\n/, $session->query(q(SELECT object, check_name FROM lateweave_verify('s') WHERE NOT ok))));
	$session->quit;
	$new->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $new->data_dir ], 'pg_checksums is content');
};

subtest 'pg_rewind' => sub {
	my $one = PostgreSQL::Test::Cluster->new('one');
	$one->init(allows_streaming => 1, @encoding);
	$one->append_conf('postgresql.conf', join("\n", @settings, 'wal_log_hints = on', 'wal_keep_size = 320MB'));
	$one->start;
	my $session = LwSession->new($one);
	fill($session);
	my $path = $session->query(q(SELECT path FROM lateweave_sources));
	my $inside = substr($path, length($one->data_dir) + 1);
	$one->backup('two');
	my $two = PostgreSQL::Test::Cluster->new('two');
	$two->init_from_backup($one, 'two', has_streaming => 1);
	$two->start;
	$one->wait_for_catchup($two);
	$two->promote;

	# both go on, each its own way
	$session->query(q(INSERT INTO t SELECT 'one' || i, ARRAY[-i, 0, 0, 0]::real[] FROM generate_series(1, 10) i));
	$session->quit;
	my $other = LwSession->new($two);
	$other->query(q(DELETE FROM t WHERE id = 'd1200'; INSERT INTO t SELECT 'two' || i, ARRAY[9000 + i, 0, 0, 0]::real[] FROM generate_series(1, 10) i));
	$other->quit;
	$one->stop;
	$two->stop;
	command_ok([ 'pg_rewind', '--no-sync', '--source-pgdata', $two->data_dir, '-D', $one->data_dir ], 'the first is made like the second');
	# it has the other's postgresql.conf now
	$one->append_conf('postgresql.conf', 'port = ' . $one->port);
	$one->start;
	$session = LwSession->new($one);
	is($session->query('SELECT count(*), count(*) FILTER (WHERE id LIKE \'two%\') FROM t'), '1209|10', 'the table is');
	is($session->query($diff), 0, 'the store, too');
	is($session->query($best), 'two10 two9 two8', 'and the index');
	check('it is whole', split(/\n/, $session->query(q(SELECT object, check_name FROM lateweave_verify('s') WHERE NOT ok))));
	is($session->error(q(INSERT INTO t VALUES ('new', '[[50000,0,0,0]]'))), '', 'it is written');
	is($session->query($best), 'new two10 two9', 'and answers');
	is($session->query($diff), 0, 'in step');
	$session->quit;
	$one->stop;
};

done_testing();
