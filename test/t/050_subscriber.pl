# A subscriber of logical replication keeps a store in step with the table that it receives.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', 'fsync = off');
$publisher->start;
my $subscriber = start_node('subscriber', 'wal_retrieve_retry_interval = 100ms');

my $table = 'CREATE TABLE laws (id int PRIMARY KEY, title text, tokens real[])';
$publisher->safe_psql('postgres', "$table; CREATE PUBLICATION laws FOR TABLE laws;
	INSERT INTO laws VALUES (1, 'copied', '{1,0}')");
$subscriber->safe_psql('postgres', "$table; SELECT lateweave_create_store('law_vectors', 'e', 'r', 2, 'float32');
	CREATE TRIGGER rows AFTER INSERT OR UPDATE OR DELETE ON laws
		FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.law_vectors', 'id', 'tokens');
	CREATE TRIGGER all_rows AFTER TRUNCATE ON laws
		FOR EACH STATEMENT EXECUTE FUNCTION lateweave_sync('public.law_vectors', 'id', 'tokens')");
$subscriber->safe_psql('postgres', 'CREATE SUBSCRIPTION laws CONNECTION ' .
	sql_text($publisher->connstr('postgres')) . ' PUBLICATION laws');
$subscriber->wait_for_subscription_sync($publisher, 'laws');

# What the store has once the subscriber has received everything.
sub documents
{
	$publisher->wait_for_catchup('laws');
	return $subscriber->safe_psql('postgres',
		"SELECT string_agg(id || tokens::text, ' ' ORDER BY id COLLATE \"C\") FROM law_vectors");
}

is(documents(), '', 'an ordinary trigger does not fire for what is received');
$subscriber->safe_psql('postgres', 'ALTER TABLE laws ENABLE ALWAYS TRIGGER rows;
	ALTER TABLE laws ENABLE ALWAYS TRIGGER all_rows; UPDATE laws SET id = id');
is(documents(), '', 'nor is a row that stays as it is a change');
$publisher->safe_psql('postgres', "INSERT INTO laws VALUES (2, 'two', '{0,1}'), (3, 'three', NULL), (4, 'four', '{{1,0},{0,1}}')");
is(documents(), '2[[0,1]] 4[[1,0],[0,1]]', 'INSERT');
$publisher->safe_psql('postgres', "BEGIN; UPDATE laws SET tokens = '{1,0}' WHERE id = 3; SAVEPOINT one; DELETE FROM laws WHERE id = 2;
	ROLLBACK TO one; UPDATE laws SET id = 5 WHERE id = 2; UPDATE laws SET tokens = NULL WHERE id = 4; COMMIT");
is(documents(), '3[[1,0]] 5[[0,1]]', 'UPDATE');
$publisher->safe_psql('postgres', 'DELETE FROM laws WHERE id = 3');
is(documents(), '5[[0,1]]', 'DELETE');

# While the store is away the changes wait, and none is lost.
my $path = $subscriber->safe_psql('postgres', "SELECT path FROM lateweave_sources WHERE source = 'law_vectors'::regclass");
rename $path, "$path.away" or die "could not rename \"$path\": $!";
$publisher->safe_psql('postgres', "INSERT INTO laws VALUES (6, 'six', '{1,0}')");
# dies when that does not come
$subscriber->wait_for_log(qr/ERROR: .*"\Q$path\E.*": No such file or directory/);
rename "$path.away", $path or die "could not rename \"$path.away\": $!";
is(documents(), '5[[0,1]] 6[[1,0]]', 'what came while the store was away is not lost');
$subscriber->safe_psql('postgres', 'CREATE VIEW with_vectors AS SELECT id FROM laws WHERE tokens IS NOT NULL');
is($subscriber->safe_psql('postgres', "SELECT * FROM lateweave_diff('law_vectors', 'with_vectors', 'id')"), '1|not in the store',
	'only what was there before differs');
$publisher->safe_psql('postgres', 'TRUNCATE laws');
is(documents(), '', 'TRUNCATE');

$subscriber->safe_psql('postgres', "DROP SUBSCRIPTION laws; SELECT lateweave_drop_store('law_vectors')");
ok(!-e $path, 'the files went with the store');
done_testing();
