# Approximate candidates: what a search says of them, sessions, restarts, damaged and lost files, stores that are only read, concurrent training.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('candidates');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', 'fsync = off');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION lateweave');
my $derived = $node->data_dir . '/lateweave/pgsql_tmp_derived';
my $trained = $node->data_dir . '/lateweave/trained';

$node->safe_psql('postgres', q{
	CREATE FUNCTION vectors(seed integer, tokens integer) RETURNS multivector LANGUAGE sql IMMUTABLE AS $$
		SELECT l2_normalize(array_agg(token)::real[]::multivector) FROM (
			SELECT array_agg((sin((seed * 7 + t * 13) % 60 * 12.9898 * d + d) + 0.3 * sin(seed * 78.233 + t * 37.719 + d))::real ORDER BY d) AS token
			FROM generate_series(1, tokens) t, generate_series(1, 12) d GROUP BY t ORDER BY t) rows $$;
	SELECT lateweave_create_store('s', 'encoder', 'main', 12);
	INSERT INTO s SELECT 'doc-' || i, vectors(i, 3 + i % 9) FROM generate_series(1, 2000) i});

my $search = "SELECT string_agg(id, ' ' ORDER BY rank) FROM lateweave_search('s', vectors(31, 6), 10, candidates => 60)";
my $exact = $node->safe_psql('postgres', "SELECT string_agg(id, ' ' ORDER BY rank) FROM lateweave_search('s', vectors(31, 6), 10)");
my $unassigned = "SELECT unassigned FROM lateweave_sources WHERE source = 's'::regclass";

# What a search says at DEBUG1: how many documents it scored exactly, or nothing when that were all.
sub scored
{
	my $errors;
	my $result;

	$node->psql('postgres', "SET client_min_messages = debug1; $search", stdout => \$result, stderr => \$errors);
	return $errors =~ /approximate, (\d+ of \d+) documents were scored exactly/ ? $1 : 'all';
}

sub files
{
	my ($pattern) = @_;

	my @found = sort glob $pattern;

	return @found;
}

is(scored(), 'all', 'without a training');
is($node->safe_psql('postgres', "SELECT segments FROM lateweave_train('s')"), '1', 'trained');
is(scored(), '60 of 2000', 'with one');
my $approximate = $node->safe_psql('postgres', $search);
is(scalar(files("$trained/trained-*")), 1, 'a file of the centroids');
is(scalar(files("$derived/codes-*")), 1, 'a file of codes');

# restarts, also after a crash
$node->restart;
is($node->safe_psql('postgres', $search), $approximate, 'after a restart');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', $search), $approximate, 'after a crash');
is(scored(), '60 of 2000', 'still approximate');

# derived files are a cache: the training is not
$node->stop;
unlink glob "$derived/*";
$node->start;
is(scored(), '2000 of 2000', 'without codes all are scored');
is($node->safe_psql('postgres', $search), $exact, 'and the answer is exact');
$node->safe_psql('postgres', "SELECT lateweave_prewarm('s')");
is(scored(), '60 of 2000', 'prewarming makes them');
is($node->safe_psql('postgres', $search), $approximate, 'the same');

# damage, while the server runs and a session has the files mapped
my $session = LwSession->new($node);
is($session->query($search), $approximate, 'a session');
my ($codes) = files("$derived/codes-*");
truncate $codes, 100;
is($session->query($search), $exact, 'codes that were cut under a session');
is(scored(), '2000 of 2000', 'another');
$node->safe_psql('postgres', "SELECT lateweave_prewarm('s')");
is($session->query($search), $approximate, 'made anew');
my ($file) = files("$trained/trained-*");
truncate $file, 5000;
is($session->query($search), $exact, 'centroids that were cut under a session');
is($node->safe_psql('postgres', "SELECT trained_at IS NULL, unassigned FROM lateweave_sources WHERE source = 's'::regclass"), 't|2000', 'are none');
is($node->safe_psql('postgres', "SELECT segments FROM lateweave_train('s')"), '1', 'trained anew');
is($session->query($search), $approximate, 'the session finds them');
$session->quit;

# one at a time; a search meanwhile has what there was
my $first = LwSession->new($node);
$first->query("BEGIN; SELECT lateweave_train('s', 200)");
my $errors;
$node->psql('postgres', "SET lock_timeout = 100; SELECT lateweave_train('s')", stderr => \$errors);
like($errors, qr/lock timeout/, 'a second training waits');
is(scored(), '60 of 2000', 'a search does not');
$first->query('ROLLBACK');
$first->quit;

# interrupted
$node->psql('postgres', "SET statement_timeout = 1; SELECT lateweave_train('s')", stderr => \$errors);
like($errors, qr/canceling statement due to statement timeout/, 'training can be interrupted');
$node->safe_psql('postgres', "SELECT lateweave_train('s')");

# a store that this server only reads, in a directory that it cannot write
my $elsewhere = PostgreSQL::Test::Utils::tempdir() . '/copy';
$node->safe_psql('postgres', "SELECT lateweave_snapshot('s', '$elsewhere')");
chmod 0555, $elsewhere;
$node->safe_psql('postgres', "CREATE FOREIGN TABLE r (id text, tokens multivector) SERVER lateweave OPTIONS (store '$elsewhere')");
is($node->safe_psql('postgres', "SELECT segments FROM lateweave_train('r')"), '1', 'a store that cannot be written');
chmod 0755, $elsewhere;

# a training that cannot be written
chmod 0555, $trained;
$node->psql('postgres', "SELECT lateweave_train('s', 100)", stderr => \$errors);
SKIP:
{
	skip 'root may write everywhere', 1 if $> == 0;
	like($errors, qr/could not write centroids in ".*trained": Permission denied/, 'a directory that cannot be written');
}
chmod 0700, $trained;

# a base backup has the training, not the codes
$node->safe_psql('postgres', "SELECT lateweave_train('s')");
$node->backup('backup');
is(scalar(files($node->backup_dir . '/backup/lateweave/trained/trained-*')), 1, 'the centroids are in a base backup');
is(scalar(files($node->backup_dir . '/backup/lateweave/pgsql_tmp_derived/*')), 0, 'derived files are not');

$node->safe_psql('postgres', "SELECT lateweave_drop_store('s')");
is(scalar(files("$trained/trained-*")), 0, 'a store that is dropped has none');

done_testing();
