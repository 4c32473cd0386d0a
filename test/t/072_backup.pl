# Copies of stores: snapshots and base backups under constant writes, standbys, a restore to an earlier time, and what
# a statement says when the store beside a database is missing, another, or older than it must be.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Copy;
use File::Path qw(remove_tree);
use IPC::Run;
use LwSession;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $Q = '[[1,0,0,0]]';
my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C', '--data-checksums' ]);
$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = 'lateweave'", 'lateweave.heartbeat = 0',
		'fsync = off', 'lateweave.compact_segments = 12'));
$node->start;
my $session = LwSession->new($node);
$session->query('CREATE EXTENSION lateweave; CREATE TABLE t (id text PRIMARY KEY, tokens multivector)');
$session->query(q(SELECT lateweave_create_store('s', 'none', '1', 4, encoding => 'float32', normalized => false)));
$session->query(q(CREATE TRIGGER sync AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.s', 'id', 'tokens')));
$session->query(q(INSERT INTO t SELECT 'd' || i, ARRAY[i, 0, 0, 0]::real[] FROM generate_series(1, 1500) i));
my $path = $session->query(q(SELECT path FROM lateweave_sources));
my $inside = substr($path, length($node->data_dir) + 1);
my $diff = q(SELECT count(*) FROM lateweave_diff('s', 't', 'id'));

# Each transaction inserts a pair of documents and deletes an older pair, so that their number is even and steady.
my $writes = $node->basedir . '/writes.sql';
append_to_file($writes, "SELECT nextval('n') AS n \\gset\nBEGIN;\n"
	  . "INSERT INTO t VALUES ('a' || :n, ARRAY[1, :n % 100, 0, 0]::real[]), ('b' || :n, ARRAY[1, :n % 100, 0, 0]::real[]);\n"
	  . "DELETE FROM t WHERE id IN ('a' || :n - 40, 'b' || :n - 40);\nCOMMIT;\n");
$session->query('CREATE SEQUENCE n START 100');

sub start_writing
{
	my $run = IPC::Run::start([ 'pgbench', '-n', '-f', $writes, '-c', 2, '-T', 600, $node->connstr('postgres') ], '>' => \my $out, '2>' => \my $err);

	usleep(300_000);
	return $run;
}

sub stop_writing
{
	my ($run) = @_;

	$run->signal('INT');
	eval { $run->finish };
	return;
}

subtest 'snapshots while it is written' => sub {
	my $writing = start_writing();
	foreach my $i (1 .. 5)
	{
		my $copy = $node->basedir . "/copy_$i";
		my $commit = $session->query("SELECT lateweave_snapshot('s', '$copy')");

		$session->query(create_source("copy_$i", $copy));
		is($session->query("SELECT commit FROM lateweave_sources WHERE source = 'copy_$i'::regclass"), $commit, "snapshot $i is of the commit that it says");
		check('it is whole', split(/\n/, $session->query("SELECT object, check_name FROM lateweave_verify('copy_$i') WHERE NOT ok")));
		is($session->query("SELECT count(*) % 2 FROM copy_$i"), 0, 'of whole transactions');
		usleep(200_000);
	}
	stop_writing($writing);
	is($session->query($diff), 0, 'the store itself is in step');
	# one that is older is refused
	my $newer = $session->query(q(SELECT commit FROM lateweave_sources WHERE source = 's'::regclass));
	$session->query("ALTER FOREIGN TABLE copy_1 OPTIONS (ADD min_commit '$newer')");
	like($session->error("SELECT lateweave_score('copy_1', '$Q', 'd1')"), qr/^ERROR:  55000: .*min_commit.*\nDETAIL:  BelowMinCommit/, 'an older copy is refused below min_commit');
	is($session->query("SELECT lateweave_as_of('copy_2') < lateweave_as_of('s')"), 't', 'or answers with its own time');
	$session->query("DROP FOREIGN TABLE copy_$_") foreach 1 .. 5;
};

my $restored;
subtest 'base backups while it is written' => sub {
	my $writing = start_writing();
	$node->backup("base_$_") foreach 1, 2;
	stop_writing($writing);
	foreach my $i (1, 2)
	{
		my $backup = $node->backup_dir . "/base_$i";

		command_ok([ 'pg_verifybackup', $backup ], 'pg_verifybackup is content');
		$restored = PostgreSQL::Test::Cluster->new("restored_$i");
		$restored->init_from_backup($node, "base_$i");
		$restored->start;
		my $in = LwSession->new($restored);
		my ($count, $said) = $in->send('SELECT count(*) % 2 FROM s');
		if ($said =~ /ERROR/)
		{
			# a file that the manifest of the copy names had gone before it was its turn
			like($said, qr/^ERROR:  58P01: .*\nHINT:  .*restore/m, 'an incomplete copy says what to do');
			remove_tree($restored->data_dir . "/$inside");
			$session->query("SELECT lateweave_snapshot('s', '" . $restored->data_dir . "/$inside')");
		}
		else
		{
			is($count, 0, 'the copy has whole transactions');
		}
		check('it is whole', split(/\n/, $in->query(q(SELECT object, check_name FROM lateweave_verify('s') WHERE NOT ok))));
		# the database has been recovered to the end of the backup, the store's files were copied at some time before
		$in->query(q(SELECT lateweave_append('s', array_agg(t.id), array_agg(t.tokens)) FROM t JOIN lateweave_diff('s', 't', 'id') d USING (id) WHERE problem = 'not in the store' HAVING count(*) > 0));
		$in->query(q(SELECT lateweave_delete('s', ARRAY(SELECT id FROM lateweave_diff('s', 't', 'id') WHERE problem = 'not in the table'))));
		is($in->query($diff), 0, 'and can be brought into step');
		is($in->query('SELECT count(*) FROM t JOIN s USING (id) WHERE t.tokens <> s.tokens'), 0, 'with the same vectors');
		is($in->error(q(INSERT INTO t VALUES ('new', '[[1,2,3,4]]'))), '', 'and be written');
		$in->quit;
		$restored->stop;
		command_ok([ 'pg_checksums', '--check', '-D', $restored->data_dir ], 'pg_checksums is content');
	}
};

subtest 'standby' => sub {
	$node->backup('standby');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'standby', has_streaming => 1);
	$standby->start;
	my $in = LwSession->new($standby);
	my $documents = $session->query(q(SELECT documents FROM lateweave_sources));
	is($in->query('SELECT count(*) FROM s'), $documents, 'answers from its own copy');
	is($in->query(qq(SELECT path LIKE '@{[ $standby->data_dir ]}%' FROM lateweave_sources)), 't', 'which lies in its directory');
	like($in->error($_), qr/^ERROR:  25006: /, "refused: $_") foreach q(INSERT INTO s VALUES ('x', '[[1,0,0,0]]')), q(SELECT lateweave_compact('s')), q(SELECT lateweave_commit('s')),
	  q(SELECT lateweave_delete('s', ARRAY['d1'])), q(SELECT lateweave_settle('s', 'publish')), q(SELECT lateweave_create_store('u', 'none', '1', 2));
	$session->query(q(INSERT INTO t VALUES ('later', '[[9,0,0,0]]')));
	$node->wait_for_catchup($standby);
	is($in->query("SELECT lateweave_score('s', '$Q', id) IS NULL FROM t WHERE id = 'later'"), 't', 'a later document is in no answer until the copy is renewed');
	is($in->query("SELECT lateweave_as_of('s') < now()"), 't', 'as its time says');
	# by a snapshot of the primary, put in the place of the copy
	my $place = $standby->data_dir . "/$inside";
	$session->query("SELECT lateweave_snapshot('s', '$place.new')");
	rename $place, "$place.old" or die "could not rename: $!";
	rename "$place.new", $place or die "could not rename: $!";
	is($in->query("SELECT lateweave_score('s', '$Q', 'later')"), 9, 'which it can be while the standby runs');

	# missing, or another: only that query fails
	rename $place, "$place.away" or die "could not rename: $!";
	foreach my $fresh (0, 1)
	{
		my $by = $fresh ? LwSession->new($standby) : $in;

		like($by->error("SELECT lateweave_score('s', '$Q', 'd1')"), qr/^ERROR:  58P01: .*\nHINT:  If it was moved.*restored or upgraded, restore the source's files too/m, 'missing');
		is($by->query('SELECT count(*) > 1000 FROM t'), 't', 'the rest answers');
		like($by->query('SELECT error FROM lateweave_sources'), qr/could not open/, 'and the view has it');
	}
	$session->query(q(SELECT lateweave_create_store('other', 'none', '1', 4, encoding => 'float32', normalized => false)));
	my $other = $session->query(q(SELECT path FROM lateweave_sources WHERE source = 'other'::regclass));
	my ($id, $its) = map { $session->query("SELECT store_id FROM lateweave_sources WHERE source = '$_'::regclass") } 's', 'other';
	$session->query("SELECT lateweave_snapshot('other', '$place')");
	like($in->error("SELECT lateweave_score('s', '$Q', 'd1')"), qr/^ERROR:  55000: .*"$its" instead of "$id".*\nDETAIL:  StoreIdMismatch.*\nHINT:  /, 'another store');
	$in->quit;
	$standby->stop;
};

subtest 'back in time' => sub {
	$session->query(q(INSERT INTO t VALUES ('before', '[[1,0,0,0]]')));
	$node->backup('earlier');
	$session->query(q(INSERT INTO t VALUES ('after', '[[2,0,0,0]]')));
	# one whose publishing fails stays pending
	$session->query(q(SET lateweave.fault = 'round-written:enospc'; INSERT INTO t VALUES ('pending', '[[3,0,0,0]]'); SET lateweave.fault = ''));
	is($session->query("SELECT lateweave_score('s', '$Q', 'pending')"), 3, 'pending, and seen');
	$session->quit;
	$node->stop('immediate');
	my $back = PostgreSQL::Test::Cluster->new('back');
	$back->init_from_backup($node, 'earlier');
	$back->append_conf('postgresql.conf', "recovery_target = 'immediate'\nrecovery_target_action = 'promote'\nrestore_command = 'false'");
	$back->set_recovery_mode;
	# beside the store as it is now
	remove_tree($back->data_dir . "/$inside");
	system_or_bail('cp', '-a', $path, $back->data_dir . "/$inside");
	$back->start;
	$back->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	my $in = LwSession->new($back);
	is($in->query(q(SELECT count(*) FROM t WHERE id IN ('before', 'after', 'pending'))), 1, 'the database is of an earlier time');
	is($in->query("SELECT lateweave_score('s', '$Q', 'after'), lateweave_score('s', '$Q', 'pending')"), '2|', 'the store is not; what it cannot judge does not count');
	is($in->query('SELECT pending, \'undecided changes\' = ANY (notes) FROM lateweave_sources WHERE source = \'s\'::regclass'), '1|t', 'and is shown');
	like($in->error(q(INSERT INTO t VALUES ('x', '[[1,0,0,0]]'))), qr/^ERROR:  55000: .*cannot be judged\nDETAIL:  .*\nHINT:  Run lateweave_settle/m, 'no change until it is settled');
	is($in->query(q(SELECT lateweave_settle('s', 'discard'))), 1, 'settled');
	is($in->query('SELECT pending, \'undecided changes\' = ANY (notes) FROM lateweave_sources WHERE source = \'s\'::regclass'), '0|f', 'nothing is pending');
	is($in->query(q(SELECT id, problem FROM lateweave_diff('s', 't', 'id'))), 'after|not in the table', 'lateweave_diff shows what is ahead');
	$in->query(q(SELECT lateweave_delete('s', ARRAY(SELECT id FROM lateweave_diff('s', 't', 'id') WHERE problem = 'not in the table'))));
	is($in->query($diff), 0, 'and then they are in step');
	$in->quit;
	$back->stop;
};

done_testing();
