# The best k are those of the whole ranking, though most documents are never scored in full; and
# documents that are not in memory are read ahead, others are not asked for.
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

my $DIMENSION = 64;
my $TOKENS = 100;
my $DOCUMENTS = 300;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $node = start_node('best');

srand(4);

sub token
{
	return [ map { int(rand(255)) - 127 } 1 .. $DIMENSION ];
}

# Some documents are equal, so that there are ties at every rank.
my @documents = map { [ "d$_", map { token() } 1 .. $TOKENS ] } 1 .. $DOCUMENTS;
foreach my $i (0 .. 29)
{
	my (undef, @tokens) = @{ $documents[ 10 * $i ] };

	push @documents, [ "e$i", @tokens ], [ "c$i", @tokens ];
}
foreach my $encoding ('float32', 'int8')
{
	my $store = LwStore->create("$directory/$encoding", encoding => $encoding, dimension => $DIMENSION);

	$store->append(@documents[ 0 .. 199 ]);
	$store->append(@documents[ 200 .. $#documents ]);
	$store->remove('d7', 'd150', 'e3');
	$store->commit;
	$node->safe_psql('postgres', create_source($encoding, "$directory/$encoding"));
}

my $session = LwSession->new($node);
my $q = "'[" . join(',', map { '[' . join(',', @{ token() }) . ']' } 1 .. 20) . "]'";
$session->query("CREATE TABLE candidates AS SELECT array_agg('d' || i ORDER BY (i * 7919) % 301) || array_agg('c' || i)"
	  . " || array_agg('e' || i) AS ids FROM generate_series(1, $DOCUMENTS) i");
my %in_full = (
	rerank => "(SELECT array_agg((id, score, rank)::text ORDER BY rank) FROM lateweave_rerank('SOURCE', $q, (SELECT ids FROM candidates)) WHERE rank <= K)",
	search => "(SELECT array_agg((id, score, r)::text ORDER BY r) FROM (SELECT id, score,"
	  . " row_number() OVER (ORDER BY score DESC, id COLLATE \"C\") AS r"
	  . " FROM (SELECT id, lateweave_score('SOURCE', $q, id) AS score FROM SOURCE) x) y WHERE r <= K)");
my %best = (
	rerank => "(SELECT array_agg((id, score, rank)::text ORDER BY rank) FROM lateweave_rerank('SOURCE', $q, (SELECT ids FROM candidates), K))",
	search => "(SELECT array_agg((id, score, rank)::text ORDER BY rank) FROM lateweave_search('SOURCE', $q, K))");

foreach my $kernel (split ' ', $session->query("LOAD 'lateweave'; SELECT string_agg(k, ' ') FROM pg_settings, unnest(enumvals) k WHERE name = 'lateweave.kernel'"))
{
	$session->query("SET lateweave.kernel = $kernel");
	foreach my $source ('float32', 'int8')
	{
		foreach my $call ('rerank', 'search')
		{
			foreach my $k (1, 2, 10, 64, 65, 355, 357, 400)
			{
				my $sql = "SELECT $in_full{$call} = $best{$call}";

				is($session->query($sql =~ s/SOURCE/$source/gr =~ s/\bK\b/$k/gr), 't', "$call of $source, best $k, $kernel");
			}
		}
	}
}
$session->query('RESET lateweave.kernel');

# Queries that are stored out of line are told apart, row by row and after an UPDATE.
my $other = "'[" . join(',', map { '[' . join(',', @{ token() }) . ']' } 1 .. 20) . "]'";
my $stored = "SELECT count(*), count(DISTINCT lateweave_score('int8', t, id)), bool_and(lateweave_score('int8', t, id) ="
  . " lateweave_score('int8', t::text::multivector, id)) FROM queries, unnest(ARRAY['d1', 'd2', 'd3']) AS id";
$session->query("CREATE TABLE queries (n int, t multivector);"
	  . " ALTER TABLE queries ALTER t SET STORAGE EXTERNAL; INSERT INTO queries VALUES (1, $q), (2, $other)");
cmp_ok($session->query("SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE relname = 'queries'"), '>', 0, 'out of line');
is($session->query($stored), '6|6|t', 'two stored queries');
is($session->query("UPDATE queries SET t = $other WHERE n = 1; $stored"), '6|3|t', 'after an UPDATE');
is($session->query("SELECT count(DISTINCT lateweave_score('int8', (SELECT t FROM queries WHERE n = 2), id)) FROM unnest(ARRAY['d1', 'd2', 'd3']) AS id"),
	3, 'a stored query of all rows');

# Documents of 512 kB, far more than is read when the file is opened; their zeros take no place on disk.
sub create_large
{
	my ($path, $documents, $tokens) = @_;
	my $store = LwStore->create($path, encoding => 'int8', dimension => $DIMENSION);
	my %content = (
		'offsets.npy' => LwStore::npy('<u8', [ $documents + 1 ], pack('Q<*', map { $_ * $tokens } 0 .. $documents)),
		'scales.npy' => LwStore::npy('<f4', [ $documents * $tokens ], pack('f<', 1) x ($documents * $tokens)),
		'codes.npy' => LwStore::npy('|i1', [ $documents * $tokens, $DIMENSION ], ''));

	$store->append(map { [ "b$_", [ (0) x $DIMENSION ] ] } 0 .. $documents - 1);
	$store->{segments}[0]{tokens} = $documents * $tokens;
	foreach my $name (sort keys %content)
	{
		unlink "$path/segment-0.$name" or die "could not remove: $!";
		LwStore::write_file("$path/segment-0.$name", $content{$name});
	}
	truncate("$path/segment-0.codes.npy", length($content{'codes.npy'}) + $documents * $tokens * $DIMENSION)
	  or die "could not extend: $!";
	$store->commit;
	return;
}

subtest 'reading ahead' => sub {
	my $rerank = "SELECT count(*) FROM lateweave_rerank('large', $q, ARRAY['b50', 'b39', 'b61', 'b20', 'b58'], 2)";

	create_large("$directory/large", 64, 8192);
	$node->safe_psql('postgres', create_source('large', "$directory/large"));
	my $calls = eval { calls_of($session, 'madvise', $rerank) };
	plan skip_all => 'strace does not attach here' unless defined $calls;
	like($calls, qr/madvise\(\w+, \d+, MADV_WILLNEED\) += 0/, 'files that are not in memory');
	$calls = calls_of($session, 'madvise', $rerank);
	unlike($calls, qr/madvise/, 'once');
};

$session->quit;
$node->stop;
done_testing();
