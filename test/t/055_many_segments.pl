# A store of 20,000 segments of one document each opens, answers, is written to and is compacted.
# (A process may have 65,530 maps; each segment of int8 has three.)

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwStore;
use LwTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $segments = 20000;
my $node = start_node('segments', 'lateweave.compact_segments = 32');
my $directory = PostgreSQL::Test::Utils::tempdir();

sub ask
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', $sql);
}

my $encoding = 'int8';
my $store = LwStore->create("$directory/$encoding", encoding => $encoding);
my $numbers = "SELECT i, i AS value FROM generate_series(0, $segments - 1) i";

$store->put("d$_" => $_) foreach 0 .. $segments - 1;
$store->commit;
ask(create_source($encoding, "$directory/$encoding", "writable 'true'", "store_id '$store->{store_id}'"));

# one session: a new one opens all of them again
is( ask("SELECT count(*) FROM $encoding;
		SELECT count(*) FROM ($numbers) t WHERE lateweave_score('$encoding', '$LwStore::QUERY', 'd' || i) IS DISTINCT FROM value;
		SELECT string_agg(id || ' ' || score, ', ') FROM lateweave_search('$encoding', '$LwStore::QUERY', 2);
		SELECT segments, 'compaction recommended' = ANY (notes) FROM lateweave_sources WHERE source = '$encoding'::regclass"),
	"$segments\n0\nd19999 19999, d19998 19998\n$segments|t",
	"all documents are listed and have their scores, and compaction is recommended");
is( ask("INSERT INTO $encoding VALUES ('new', '[[1,0,0,0]]'), ('d5', '[[6,0,0,0]]');
		DELETE FROM $encoding WHERE id IN ('d7', 'd19999');
		SELECT string_agg(id || ' ' || score, ', ') FROM lateweave_rerank('$encoding', '$LwStore::QUERY', '{d5,d6,d7,new,d19999}'::text[])"),
	'd5 6, d6 6, new 1', "documents are appended, replaced and deleted");
is(ask("SELECT documents, segments_after FROM lateweave_compact('$encoding')"),
	($segments - 1) . '|1', "it is compacted");
is(ask("SELECT count(*), sum(lateweave_score('$encoding', '$LwStore::QUERY', id)::float8) FROM $encoding"),
	($segments - 1) . '|' . (($segments - 1) * $segments / 2 + 1 + 1 - 7 - 19999), "then its documents have their scores");
$node->stop;
done_testing();
