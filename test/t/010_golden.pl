# Every golden store opens and answers as its expected.json says, and every
# kernel of this machine gives the same bits.
use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use FindBin;
use lib $FindBin::RealBin;
use Test::More;

use LwSession;
use LwTest;

use constant DOCUMENTS_OF_TOP => 3;

my $node = start_node('golden');
my @kernels = split(/\n/,
	$node->safe_psql('postgres', 'SELECT kernel FROM lateweave_kernels() WHERE available'));

# The first token of a multivector's binary form, and the rest as its floats in little-endian order.
sub decoded
{
	my ($hex) = @_;
	my ($tokens, $dimension, @bits) = unpack('N*', pack('H*', $hex));

	return ($tokens, $dimension, pack('V*', @bits));
}

# committed_at to the microsecond: rounded to the nearest nanosecond, then cut.
sub microseconds
{
	my ($seconds) = @_;

	return substr(sprintf('%.9f', $seconds), 0, -3);
}

# The expectations without the ids that SQL cannot name, and how many those are.
sub without_unnameable
{
	my ($expected) = @_;
	my @kept = grep { $expected->{documents}[$_] !~ /\0/ } 0 .. $#{ $expected->{documents} };
	my $unnameable = @{ $expected->{documents} } - @kept;

	return 0 if $unnameable == 0;
	$expected->{$_} = [ @{ $expected->{$_} }[@kept] ] foreach qw(documents tokens);
	$expected->{absent} = [ grep { !/\0/ } @{ $expected->{absent} } ];
	delete $expected->{decoded_sha256};
	foreach my $query (@{ $expected->{queries} })
	{
		$query->{$_} = [ @{ $query->{$_} }[@kept] ] foreach qw(bits float64 bound);
		$query->{$_} = [ grep { (ref $_ ? $_->{id} : $_) !~ /\0/ } @{ $query->{$_} } ] foreach qw(gather ranking);
	}
	return $unnameable;
}

# What the files of the store add up to, found without lateweave.
sub files_of
{
	my ($store) = @_;
	my $manifest = read_json("$store/manifest.json");
	my %found = (segments => scalar @{ $manifest->{segments} }, bytes => 0, deleted => 0);

	foreach my $segment (@{ $manifest->{segments} })
	{
		my $prefix = "$store/segment-$segment->{id}";
		$found{bytes} += -s "$prefix.$_.npy"
		  foreach ('offsets', $manifest->{encoding} eq 'int8' ? ('codes', 'scales') : 'vectors');
		next unless defined $segment->{tombstones};
		my ($rows) = read_bytes("$prefix.tombstones-$segment->{tombstones}.npy") =~ /\((\d+),\s*\)/;
		$found{deleted} += $rows;
	}
	return \%found;
}

# The statements about one query under one kernel.
sub ask_query
{
	my ($session, $kernel, $n, $query, $documents) = @_;
	my $key = "$kernel.$n";
	my $q = "(SELECT q FROM queries WHERE n = $n)";
	my $bits = q(encode(float4send(score), 'hex'));
	my @finite = grep { $query->{bound}[$_] ne 'inf' } 0 .. $#$documents;
	my $ids = sql_ids(@$documents[@finite]);
	my $gather = sql_ids(@{ $query->{gather} });
	my $all = @$documents || 1;
	my $ranked = "SELECT json_build_array(id, $bits, rank)";

	$session->add("score.$key",
		    "SELECT json_build_array(id, encode(float4send(lateweave_score('source', $q, id)), 'hex'))"
		  . " FROM unnest($ids) WITH ORDINALITY u(id, n) ORDER BY n");
	foreach my $i (grep { $query->{bound}[$_] eq 'inf' } 0 .. $#$documents)
	{
		my $id = sql_id($documents->[$i]);
		$session->add("alone.$key.$i",
			"SELECT json_build_array($id, encode(float4send(lateweave_score('source', $q, $id)), 'hex'))");
	}
	$session->add("rerank.$key", "$ranked FROM lateweave_rerank('source', $q, $gather)");
	$session->add("top.$key", "$ranked FROM lateweave_rerank('source', $q, $gather, $query->{k})");
	$session->add("search.$key", "$ranked FROM lateweave_search('source', $q, $all)");
	$session->add("few.$key", "$ranked FROM lateweave_search('source', $q, " . DOCUMENTS_OF_TOP . ')');
	foreach my $i (@finite)
	{
		$session->add("explain.$key.$i",
			    q(SELECT json_build_array(query_token, document_token, encode(float4send(similarity), 'hex')))
			  . " FROM lateweave_explain('source', $q, " . sql_id($documents->[$i]) . ')');
	}
	return;
}

# A ranking has to be the scores' own order; it may be refused when it has a document that may overflow.
sub check_ranking
{
	my ($session, $key, $scores, $ids, $k, $overflowing) = @_;
	my $answer = $session->answer($key);

	if ($answer->{state} ne '00000' && grep { index($answer->{messages}, "\"$_\"") >= 0 } @$overflowing)
	{
		return $answer->{state} eq '22023' ? () : "$key: $answer->{messages}";
	}

	my @wanted =
	  sort { order_of_bits($scores->{ $ids->[$b] }) <=> order_of_bits($scores->{ $ids->[$a] }) || $a <=> $b }
	  grep { exists $scores->{ $ids->[$_] } } 0 .. $#$ids;
	splice(@wanted, $k) if @wanted > $k;
	my $wanted = join(' ', map { "$ids->[$wanted[$_]]=$scores->{$ids->[$wanted[$_]]}#" . ($_ + 1) } 0 .. $#wanted);
	my $found = join(' ', map { "$_->[0]=$_->[1]#$_->[2]" } $session->json_rows($key));

	return $found eq $wanted ? () : "$key is $found\ninstead of $wanted";
}

# The winners sum to the score, and each has the dot product that explain says.
sub check_explain
{
	my ($session, $key, $rows, $vectors, $tokens, $bits) = @_;
	my @winners = $session->json_rows($key);
	my $sum = 0;
	my @bad;

	push(@bad, "$key: " . @winners . ' rows') unless @winners == @$rows;
	foreach my $i (0 .. $#winners)
	{
		my ($query_token, $document_token, $similarity) = @{ $winners[$i] };
		my $value = float_of_bits($similarity);

		$sum = round_to_float($sum + $value);
		if ($query_token != $i + 1 || $document_token < 1 || $document_token > $tokens)
		{
			push(@bad, "$key: row $i has tokens $query_token and $document_token");
			next;
		}
		my ($dot, $size) = (0, 0);
		my $dimension = @{ $rows->[$i] };
		my @token = unpack('f<*', substr($vectors, 4 * $dimension * ($document_token - 1), 4 * $dimension));
		foreach my $j (0 .. $dimension - 1)
		{
			my $product = $rows->[$i][$j] * $token[$j];
			$dot += $product;
			$size += abs($product);
		}
		push(@bad, "$key: row $i has similarity $value instead of $dot")
		  unless abs($value - $dot) <= ($dimension + 16) * 2**-24 * $size + 1e-43;
	}
	push(@bad, "$key: sum $sum, score " . float_of_bits($bits)) unless $sum == float_of_bits($bits);
	return @bad;
}

# Everything about one query under one kernel; the scores found, id to bits.
sub check_query
{
	my ($session, $kernel, $n, $query, $expected, $vectors) = @_;
	my $key = "$kernel.$n";
	my $documents = $expected->{documents};
	my %scores;
	my (@bad, @overflowing);

	foreach my $row ($session->json_rows("score.$key"))
	{
		$scores{ $row->[0] } = $row->[1];
	}
	foreach my $i (0 .. $#$documents)
	{
		my $id = $documents->[$i];
		if ($query->{bound}[$i] eq 'inf')
		{
			my $answer = $session->answer("alone.$key.$i");
			push(@overflowing, $id);
			if ($answer->{state} eq '00000')
			{
				$scores{$id} = ($session->json_rows("alone.$key.$i"))[0][1];
			}
			elsif ($answer->{state} ne '22023' || index($answer->{messages}, "\"$id\"") < 0)
			{
				push(@bad, "$id alone: $answer->{messages}");
			}
			next;
		}
		push(@bad, "$id: " . ($scores{$id} || 'nothing') . " instead of $query->{bits}[$i]")
		  unless defined $scores{$id}
		  && within_bound($scores{$id}, $query->{bits}[$i], $query->{float64}[$i], $query->{bound}[$i], $query->{exact});
	}
	check("$expected->{case}, query $n, $kernel: scores", @bad);

	my $few = DOCUMENTS_OF_TOP;
	check("$expected->{case}, query $n, $kernel: rankings",
		check_ranking($session, "rerank.$key", \%scores, $query->{gather}, scalar @{ $query->{gather} }, \@overflowing),
		check_ranking($session, "top.$key", \%scores, $query->{gather}, $query->{k}, \@overflowing),
		check_ranking($session, "search.$key", \%scores, $documents, scalar @$documents, \@overflowing),
		check_ranking($session, "few.$key", \%scores, $documents, $few, \@overflowing));
	if ($query->{decided} && $query->{ranking})
	{
		is(join(' ', map { $_->[0] } $session->json_rows("top.$key")),
			join(' ', map { $_->{id} } @{ $query->{ranking} }),
			"$expected->{case}, query $n, $kernel: the reference's ranking");
	}
	check("$expected->{case}, query $n, $kernel: explanations",
		map { check_explain($session, "explain.$key.$_", $query->{rows}, $vectors->{ $documents->[$_] },
				$expected->{tokens}[$_], $scores{ $documents->[$_] }) }
		grep { $query->{bound}[$_] ne 'inf' } 0 .. $#$documents);
	return \%scores;
}

# The row of lateweave_sources, and the time of what is read.
sub check_source_row
{
	my ($session, $expected, $store, $unnameable) = @_;
	my ($row) = $session->json_rows('sources');
	my $files = files_of($store);
	my $tokens = 0;

	$tokens += $_ foreach @{ $expected->{tokens} };
	my %wanted = (
		kind => 'store',
		path => $store,
		corpus => $expected->{corpus},
		encoding => $expected->{encoding},
		dimension => $expected->{representation}{dimension},
		encoder => $expected->{representation}{encoder},
		store_id => $expected->{store_id},
		commit => $expected->{commit},
		committed_at => microseconds($expected->{committed_at}),
		documents => scalar @{ $expected->{documents} },
		unnameable => $unnameable,
		tokens => $tokens,
		%$files);
	is_deeply($row, \%wanted, "$expected->{case}: row of lateweave_sources");
	is(($session->rows('as_of'))[0], $wanted{committed_at}, "$expected->{case}: lateweave_as_of");
	return;
}

sub check_case
{
	my ($case) = @_;
	my $store = "$golden/$case/store";
	my $expected = read_json("$golden/$case/expected.json");
	my $unnameable = without_unnameable($expected);
	my $documents = $expected->{documents};
	my $all = sql_ids(@$documents);
	my $session = LwSession->new;
	my %first;

	$expected->{case} = $case;
	$session->add('create', create_source('source', $store));
	$session->add('queries', 'CREATE TEMP TABLE queries (n int, q multivector)');
	foreach my $n (0 .. $#{ $expected->{queries} })
	{
		my $query = $expected->{queries}[$n];
		my $file = read_query("$golden/$case/$query->{file}");
		$query->{rows} = $file->{rows};
		$session->add("query.$n", "INSERT INTO queries VALUES ($n, " . sql_query($file) . ')');
	}
	$session->add('ids', 'SELECT to_json(id) FROM source ORDER BY id COLLATE "C"');
	my $vectors = q(SELECT json_build_array(id, token_count(tokens), encode(multivector_send(tokens), 'hex')));
	$session->add('tokens', "$vectors FROM source ORDER BY id COLLATE \"C\"");
	$session->add('fetch', "$vectors FROM lateweave_fetch('source', $all)");
	$session->add('absent',
		    "SELECT to_json(id) FROM unnest(" . sql_ids(@{ $expected->{absent} }) . ') id'
		  . " WHERE lateweave_score('source', (SELECT q FROM queries WHERE n = 0), id) IS NOT NULL"
		  . ' OR EXISTS (SELECT FROM source s WHERE s.id = u.id)' =~ s/u\.id/id/r
		  . " OR EXISTS (SELECT FROM lateweave_fetch('source', ARRAY[id]))"
		  . " OR EXISTS (SELECT FROM lateweave_explain('source', (SELECT q FROM queries WHERE n = 0), id))");
	my $epoch = q(extract(epoch FROM %s)::text);
	$session->add('sources',
		    q(SELECT json_build_object('kind', kind, 'path', path, 'corpus', corpus, 'encoding', encoding,)
		  . q( 'dimension', dimension, 'encoder', encoder, 'store_id', store_id, 'commit', commit, 'committed_at', )
		  . sprintf($epoch, 'committed_at')
		  . q(, 'documents', documents, 'unnameable', unnameable, 'deleted', deleted, 'tokens', tokens,)
		  . q( 'segments', segments, 'bytes', bytes))
		  . q( FROM lateweave_sources WHERE source = 'source'::regclass AND error IS NULL AND notes = '{}'));
	$session->add('as_of', 'SELECT ' . sprintf($epoch, "lateweave_as_of('source')"));
	foreach my $kernel (@kernels)
	{
		$session->add("kernel.$kernel", "SET lateweave.kernel = '$kernel'");
		$session->add("active.$kernel", 'SELECT kernel FROM lateweave_kernels() WHERE active');
		ask_query($session, $kernel, $_, $expected->{queries}[$_], $documents) foreach 0 .. $#{ $expected->{queries} };
	}
	$session->add('drop', 'DROP FOREIGN TABLE source');
	$session->run($node, 120);

	$session->rows($_) foreach ('create', 'queries', 'drop');
	is_deeply([ $session->json_rows('ids') ], $documents, "$case: ids");
	is_deeply([ $session->json_rows('absent') ], [], "$case: absent ids");

	my @tokens = $session->json_rows('tokens');
	is_deeply([ $session->json_rows('fetch') ], \@tokens, "$case: lateweave_fetch gives what the table has");
	is_deeply([ map { [ $_->[0], $_->[1] ] } @tokens ],
		[ map { [ $documents->[$_], $expected->{tokens}[$_] ] } 0 .. $#$documents ], "$case: token counts");
	my %vectors = map { $_->[0] => (decoded($_->[2]))[2] } @tokens;
	is(sha256_hex(map { $vectors{$_} } @$documents), $expected->{decoded_sha256}, "$case: decoded vectors")
	  if defined $expected->{decoded_sha256};
	check_source_row($session, $expected, $store, $unnameable);

	foreach my $kernel (@kernels)
	{
		is(($session->rows("active.$kernel"))[0], $kernel, "$case: kernel $kernel is in use");
		foreach my $n (0 .. $#{ $expected->{queries} })
		{
			my $scores = check_query($session, $kernel, $n, $expected->{queries}[$n], $expected, \%vectors);
			$first{$n} ||= $scores;
			is_deeply($scores, $first{$n}, "$case, query $n: $kernel gives the bits of $kernels[0]");
		}
	}
	return;
}

# One ranking over several stores, under every kernel.
sub check_across
{
	my ($case) = @_;
	my $across = read_json("$golden/$case/expected.json")->{across};
	my $session = LwSession->new;
	my %place;

	foreach my $corpus (sort keys %{ $across->[0]{stores} })
	{
		$place{$corpus} = keys(%place) + 1;
		$session->add("create.$corpus", create_source($corpus, "$golden/$case/$across->[0]{stores}{$corpus}"));
	}
	my @corpora = sort { $place{$a} <=> $place{$b} } keys %place;
	my $sources = sql_array('regclass', map { "'$_'" } @corpora);
	foreach my $kernel (@kernels)
	{
		$session->add("kernel.$kernel", "SET lateweave.kernel = '$kernel'");
		foreach my $n (0 .. $#$across)
		{
			my @gather = @{ $across->[$n]{gather} };
			$session->add("$kernel.$n",
				    q(SELECT json_build_array(source, id, encode(float4send(score), 'hex'), rank))
				  . " FROM lateweave_rerank($sources, " . sql_query(read_query("$golden/$case/$across->[$n]{file}")) . ', '
				  . sql_array('int', map { $place{ $_->[0] } } @gather) . ', '
				  . sql_ids(map { $_->[1] } @gather) . ", $across->[$n]{k})");
		}
	}
	$session->add("drop.$_", "DROP FOREIGN TABLE $_") foreach @corpora;
	$session->run($node, 60);
	foreach my $kernel (@kernels)
	{
		foreach my $n (0 .. $#$across)
		{
			is_deeply([ $session->json_rows("$kernel.$n") ],
				[ map { [ @$_{qw(corpus id bits rank)} ] } @{ $across->[$n]{ranking} } ],
				"$case, query $n, $kernel: one ranking over " . @corpora . ' sources');
		}
	}
	return;
}

# committed_at is rounded to the nanosecond before it is cut to the microsecond; far ones are infinite.
sub check_times
{
	my %times = (
		'1790000000.1234567' => '1790000000.123456',
		'1790000000.9999998' => '1790000000.999999',
		'0.0000019999' => '0.000001',
		'0.0000019999999' => '0.000002',
		'0.9999999996' => '1.000000',
		'9223371331199' => '9223371331199.000000',
		'9224318016000' => 'Infinity',
		'9.2e18' => 'Infinity');
	my $session = LwSession->new;
	my $manifest = read_bytes("$golden/f32-empty/store/manifest.json");

	foreach my $time (sort keys %times)
	{
		my $store = $node->basedir . "/time-$time";
		mkdir($store) or die "could not make \"$store\": $!";
		open(my $file, '>:raw', "$store/manifest.json") or die $!;
		print $file $manifest =~ s/("committed_at": )[^,\n]+/$1$time/r;
		close($file) or die $!;
		$session->add("create.$time", create_source('source', $store));
		$session->add($time, q(SELECT extract(epoch FROM lateweave_as_of('source'))));
		$session->add("lag.$time",
			q(SELECT extract(epoch FROM committed_at), lag IS NULL FROM lateweave_sources WHERE source = 'source'::regclass));
		$session->add("drop.$time", 'DROP FOREIGN TABLE source');
	}
	$session->run($node, 60);
	foreach my $time (sort keys %times)
	{
		my $no_lag = $times{$time} eq 'Infinity' ? 't' : 'f';
		is(join(' ', $session->rows($time), $session->rows("lag.$time")),
			"$times{$time} $times{$time}|$no_lag", "committed_at $time");
	}
	return;
}

my @cases = map { $_->{case} } @{ read_json("$golden/index.json") };

cmp_ok(scalar @cases, '>', 40, 'there are golden stores');
check_case($_) foreach @cases;
check_across('two-corpora');
check_times();
$node->stop;

done_testing();
