# Documents of one collection on two servers, each with a store of its own, searched by one statement through postgres_fdw:
# the example of the README.  The servers are databases here.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('shards', "shared_preload_libraries = 'lateweave'", 'lateweave.heartbeat = 0');
my ($host, $port) = ($node->host, $node->port);
my $whole = LwSession->new($node);
my $make = q(SELECT lateweave_create_store('law_vectors', 'none', '1', 4, encoding => 'float32', normalized => false));
my $document = q('law-' || i, ARRAY[[i * 7919 % 1000, 1, i % 10, 0], [i % 13, i * 31 % 500, 0, 1]]::real[]::multivector);

$whole->query($make);
$whole->query("INSERT INTO law_vectors SELECT $document FROM generate_series(1, 600) i");

foreach my $shard (0, 1)
{
	my $name = "shard_$shard";

	$whole->query("CREATE DATABASE $name");
	my $in = LwSession->new($node, dbname => $name);
	$in->query('CREATE EXTENSION lateweave');
	$in->query($make);
	$in->query("INSERT INTO law_vectors SELECT $document FROM generate_series(1, 600) i WHERE i % 2 = $shard");
	$in->query(q(CREATE TABLE requests (shard text, request bigint, query multivector, k integer)));
	$in->query(q(CREATE VIEW found AS SELECT shard, request, id, score FROM requests, LATERAL lateweave_search('law_vectors', query, k)));
	$in->quit;
}

$whole->query('CREATE DATABASE front');
my $front = LwSession->new($node, dbname => 'front');
$front->query('CREATE EXTENSION lateweave; CREATE EXTENSION postgres_fdw; CREATE SEQUENCE request_ids');
$front->query('CREATE TABLE requests (shard text, request bigint, query multivector, k integer) PARTITION BY LIST (shard)');
$front->query('CREATE TABLE found (shard text, request bigint, id text, score real) PARTITION BY LIST (shard)');
foreach my $shard ('shard_0', 'shard_1')
{
	my $user = $front->query('SELECT current_user');

	$front->query("CREATE SERVER $shard FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname '$shard', async_capable 'true', extensions 'lateweave')");
	$front->query("CREATE USER MAPPING FOR CURRENT_USER SERVER $shard OPTIONS (user '$user')");
	$front->query("CREATE FOREIGN TABLE requests_$shard PARTITION OF requests FOR VALUES IN ('$shard') SERVER $shard OPTIONS (table_name 'requests')");
	$front->query("CREATE FOREIGN TABLE found_$shard PARTITION OF found FOR VALUES IN ('$shard') SERVER $shard OPTIONS (table_name 'found')");
}
$front->query(q(
CREATE FUNCTION search_shards(query multivector, k integer, OUT id text, OUT score real) RETURNS SETOF record
LANGUAGE plpgsql AS $$
DECLARE
	its bigint := nextval('request_ids');
BEGIN
	INSERT INTO requests VALUES ('shard_0', its, query, k), ('shard_1', its, query, k);
	RETURN QUERY WITH best AS MATERIALIZED (SELECT f.id, f.score FROM found f WHERE f.request = its)
		SELECT b.id, b.score FROM best b ORDER BY b.score DESC, b.id COLLATE "C" LIMIT k;
	DELETE FROM requests r WHERE r.request = its;
END $$));

like($front->query('EXPLAIN (COSTS OFF) WITH best AS MATERIALIZED (SELECT id, score FROM found WHERE request = 1) SELECT * FROM best ORDER BY score DESC LIMIT 3'),
	qr/Append\n.*Async Foreign Scan on found_shard_0.*\n.*Async Foreign Scan on found_shard_1/s, 'both servers search at the same time');
foreach my $query ('[[1,1,1,1]]', '[[0,1,0,0],[1,0,0,0]]', '[[0,0,-1,0]]')
{
	foreach my $k (1, 10, 700)
	{
		is($front->query("SELECT id, score FROM search_shards('$query', $k)"),
			$whole->query("SELECT id, score FROM lateweave_search('law_vectors', '$query', $k)"), "$query, $k: as one store has it");
	}
}
is($front->query('SELECT count(*) FROM requests'), 0, 'nothing is left');

$_->quit foreach $whole, $front;
$node->stop;
done_testing();
