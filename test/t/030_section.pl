# Section files as the reference reads them: texts, spans, citations, embeddings, blobs, and every search bit for bit.
use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use FindBin;
use lib $FindBin::RealBin;

use LwScript;
use LwStore;
use LwTest;
use Test::More;

my $node = start_node('section');
my $directory = $golden =~ s/stores$/sections/r;
my @cases = map { m,([^/]*)\.expected\.json$, } glob("$directory/*.expected.json");
my %expected = map { $_ => read_json("$directory/$_.expected.json") } @cases;

# a search in a space has no method of its own
$_->{method} //= 'exact' foreach map { @{ $_->{searches}{scalar} } } values %expected;

# An expression for a string, printed so that nothing in it matters; and the bytes out of it.
sub hex_of
{
	return "encode(convert_to($_[0], 'UTF8'), 'hex')";
}

sub bytes_of
{
	return pack('H*', $_[0]);
}

sub vector
{
	my ($values) = @_;

	return "multivector_from_bytes('\\x" . unpack('H*', pack('f<*', @$values)) . "', " . @$values . ')';
}

sub create_section
{
	my ($table, $case, @options) = @_;

	utf8::encode($_) foreach @options;
	return "CREATE FOREIGN TABLE $table (ordinal bigint, chunk_id text, canonical_bytes bytea, source_uri text,
		byte_start numeric, byte_end numeric, citation text, embedding real[]) SERVER lateweave OPTIONS (section_file "
	  . sql_text("$directory/$case.urna") . join('', map { ", $_" } @options) . ')';
}

# A search as the call that makes it.
sub search_call
{
	my ($search, $queries) = @_;
	my @arguments = (
		"'t'",
		vector($search->{query_values} || $queries->[ $search->{query} ]),
		$search->{k},
		"method => '$search->{method}'");

	push @arguments, 'space => ' . sql_id($search->{space}) if defined $search->{space};
	push @arguments, 'query_text => ' . sql_id($search->{text}) if defined $search->{text};
	push @arguments, map { "$_ => $search->{$_}" } grep { defined $search->{$_} } qw(ef hops candidates);
	return 'lateweave_section_search(' . join(', ', @arguments) . ')';
}

my $bits = "encode(float4send(score), 'hex')";
my $script = LwScript->new;
my $rows = 'SELECT ' . hex_of('chunk_id') . ", encode(canonical_bytes, 'hex'), " . hex_of('source_uri')
  . ', byte_start, byte_end, ' . hex_of('citation') . ' FROM t ORDER BY ordinal';
foreach my $case (@cases)
{
	my $facts = $expected{$case};
	my $queries = read_query("$directory/$case.query.npy")->{rows};
	my $n = 0;

	$script->add("create $case", create_section('t', $case));
	$script->add("info $case", "SELECT file_hash, content_hash, bytes, documents, manifest->>'n_chunks' FROM lateweave_section_info('t')");
	$script->add("sections $case", "SELECT section_id, name, file_offset, size, checksum, valid FROM lateweave_sections('t')");
	$script->add("chunks $case", $rows);
	$script->add("verify $case", "SELECT check_name FROM lateweave_verify('t') WHERE NOT ok");
	$script->add("blobs $case", 'SELECT content_hash, ' . hex_of('original_uri')
		  . ", byte_len, inlined, CASE WHEN inlined THEN encode(sha256(lateweave_blob('t', blob_index)), 'hex') END FROM lateweave_blobs('t')");
	$script->add("spaces $case", 'SELECT name, dtype, dimension, rows, model_hash FROM lateweave_spaces(\'t\')');
	foreach my $search (@{ $facts->{searches}{scalar} })
	{
		my $call = search_call($search, $queries);

		$script->add("search $case $n", "SELECT ordinal, $bits FROM $call ORDER BY rank");
		if ($search->{method} eq 'exact' && !defined $search->{space})
		{
			my $arguments = "'t', " . vector($queries->[ $search->{query} ]);

			$script->add("plain $case $n", "SELECT t.ordinal, $bits FROM lateweave_search($arguments, $search->{k}) s
				JOIN LATERAL (SELECT min(ordinal) AS ordinal FROM t WHERE chunk_id = s.id) t ON true ORDER BY rank");
			$script->add("rerank $case $n", "SELECT id, $bits FROM lateweave_rerank($arguments,
				ARRAY(SELECT DISTINCT ON (chunk_id) chunk_id FROM t ORDER BY chunk_id, ordinal))");
			$script->add("score $case $n", "SELECT DISTINCT chunk_id, $bits FROM (SELECT chunk_id,
				lateweave_score($arguments, chunk_id) AS score FROM t) x");
		}
		$n++;
	}
	foreach my $embedding (@{ $facts->{embeddings} })
	{
		my $id = $embedding->{section_id};

		$script->add("drop $case $id", 'DROP FOREIGN TABLE t');
		$script->add("create $case $id",
			create_section('t', $case, defined $embedding->{space} ? 'space ' . sql_text($embedding->{space}) : ()));
		$script->add("embeddings $case $id",
			'SELECT encode(multivector_send(embedding::multivector), \'hex\') FROM t ORDER BY ordinal');
	}
	$script->add("drop $case", 'DROP FOREIGN TABLE t');
}
$script->run($node, 300);

sub compare
{
	my ($what, $got, $wanted) = @_;

	return $got eq $wanted ? () : "$what is \"$got\", not \"$wanted\"";
}

sub compare_chunks
{
	my ($case, $facts) = @_;
	my $all = Digest::SHA->new(256);

	foreach my $row ($script->fields("chunks $case"))
	{
		my ($id, $text, $uri, $start, $end, $citation) = @$row;

		$all->add('[' . join(',', (map { LwStore::json_string(bytes_of($_)) } $id, $text, $uri), $start, $end,
				LwStore::json_string(bytes_of($citation))) . "]\n");
	}
	return compare('chunks', $all->hexdigest, $facts->{chunks_sha256});
}

# What a search found; the ordinal of a chunk whose id stands twice is not told.
sub compare_hits
{
	my ($what, $rows, $wanted, $bits_only) = @_;
	my @hits = map { [ @$_ ] } @$rows;

	return "$what: " . @hits . ' hits, not ' . @$wanted if @hits != @$wanted;
	return grep { defined } map {
		my ($hit, $reference) = ($hits[$_], $wanted->[$_]);
		my $same = $hit->[1] eq $reference->[2] && (!defined $reference->[0] || $bits_only || $hit->[0] == $reference->[0]);
		$same ? undef : "$what, rank $_: @$hit, not " . ($reference->[0] // '?') . " $reference->[2]"
	} 0 .. $#hits;
}

my %counts;
foreach my $case (@cases)
{
	my $facts = $expected{$case};
	my (@searches, @plain);

	subtest $case => sub {
		my ($info) = $script->fields("info $case");

		check('hashes and sizes',
			compare('file_hash', $info->[0], $facts->{file_hash}),
			compare('content_hash', $info->[1], $facts->{content_hash}),
			compare('bytes', $info->[2], $facts->{file_size}),
			compare('documents', $info->[3], $facts->{n_embeddings}),
			compare('manifest', $info->[4], $facts->{manifest}{n_chunks}));
		is_deeply([ $script->fields("sections $case") ],
			[ map { [ @$_{qw(section_id name offset size checksum)}, 't' ] } @{ $facts->{sections} } ], 'sections');
		check('chunks', compare_chunks($case, $facts));
		is(join(' ', $script->rows("verify $case")), '', 'lateweave_verify finds nothing');
		is_deeply([ map { [ $_->[0], bytes_of($_->[1]), @$_[ 2 .. 4 ] ] } $script->fields("blobs $case") ],
			[ map { [ @$_{qw(content_hash original_uri byte_len)}, $_->{inlined} ? ('t', $_->{bytes_sha256}) : ('f', '') ] }
				@{ $facts->{blobs} || [] } ], 'blobs');

		foreach my $n (0 .. $#{ $facts->{searches}{scalar} })
		{
			my $search = $facts->{searches}{scalar}[$n];

			push @searches, compare_hits("search $n ($search->{method})", [ $script->fields("search $case $n") ], $search->{hits});
			next if $search->{method} ne 'exact' || defined $search->{space};

			# ids that stand twice: the bits tell
			push @plain, compare_hits("lateweave_search $n", [ $script->fields("plain $case $n") ], $search->{hits},
				scalar grep { !defined $_->[0] } @{ $search->{hits} });
			my %scores = map { @$_ } $script->fields("score $case $n");
			push @plain, "lateweave_score and lateweave_rerank differ in $n"
			  if grep { $scores{ $_->[0] } ne $_->[1] } $script->fields("rerank $case $n");
			$counts{plain}++;
		}
		$counts{searches} += @{ $facts->{searches}{scalar} };
		check('every search of the reference', @searches);
		check('lateweave_search, _rerank and _score', @plain);
		foreach my $embedding (@{ $facts->{embeddings} })
		{
			my $id = $embedding->{section_id};
			my $values = join('', map { pack('V*', unpack('x8N*', bytes_of($_))) } $script->rows("embeddings $case $id"));

			is(sha256_hex($values), $embedding->{rows_sha256}, "embeddings of section $id");
		}
	};
}
cmp_ok($counts{searches}, '>', 200, "$counts{searches} searches were compared");
$node->stop;

done_testing();
