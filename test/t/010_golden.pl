# Every golden store opens and answers as its expected.json says, and every
# kernel of this machine gives the same bits.
use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use FindBin;
use JSON::PP;
use lib $FindBin::RealBin;
use Test::More;

use LwScript;
use LwTest;

use constant DOCUMENTS_OF_TOP => 3;

my $node = start_node('golden');
my @kernels = split(/\n/,
	$node->safe_psql('postgres', 'SELECT kernel FROM lateweave_kernels() WHERE available'));

# The floats of a multivector's binary form, in little-endian order.
sub decoded
{
	my ($hex) = @_;
	my (undef, undef, @bits) = unpack('N*', pack('H*', $hex));

	return pack('V*', @bits);
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
	my ($script, $kernel, $n, $query, $documents) = @_;
	my $key = "$kernel.$n";
	my $q = "(SELECT q FROM queries WHERE n = $n)";
	my @finite = grep { $query->{bound}[$_] ne 'inf' } 0 .. $#$documents;
	my $ids = sql_ids(@$documents[@finite]);
	my $gather = sql_ids(@{ $query->{gather} });
	my $all = @$documents || 1;
	my $ranked = "SELECT $id_hex, encode(float4send(score), 'hex'), rank";

	$script->add("score.$key",
		    "SELECT $id_hex, encode(float4send(lateweave_score('source', $q, id)), 'hex')"
		  . " FROM unnest($ids) WITH ORDINALITY u(id, n) ORDER BY n");
	foreach my $i (grep { $query->{bound}[$_] eq 'inf' } 0 .. $#$documents)
	{
		my $id = sql_id($documents->[$i]);
		$script->add("alone.$key.$i",
			"SELECT encode(float4send(lateweave_score('source', $q, $id)), 'hex')");
	}
	$script->add("rerank.$key", "$ranked FROM lateweave_rerank('source', $q, $gather)");
	$script->add("top.$key", "$ranked FROM lateweave_rerank('source', $q, $gather, $query->{k})");
	$script->add("search.$key", "$ranked FROM lateweave_search('source', $q, $all)");
	$script->add("few.$key", "$ranked FROM lateweave_search('source', $q, " . DOCUMENTS_OF_TOP . ')');
	foreach my $i (@finite)
	{
		$script->add("explain.$key.$i",
			    q(SELECT query_token, document_token, encode(float4send(similarity), 'hex'))
			  . " FROM lateweave_explain('source', $q, " . sql_id($documents->[$i]) . ')');
	}
	return;
}

# A ranking has to be the scores' own order; it may be refused when it has a document that may overflow.
sub check_ranking
{
	my ($script, $key, $scores, $ids, $k, $overflowing) = @_;
	my $answer = $script->answer($key);

	if ($answer->{state} ne '00000' && grep { index($answer->{messages}, "\"$_\"") >= 0 } @$overflowing)
	{
		return $answer->{state} eq '22023' ? () : "$key: $answer->{messages}";
	}

	my @wanted =
	  sort { order_of_bits($scores->{ $ids->[$b] }) <=> order_of_bits($scores->{ $ids->[$a] }) || $a <=> $b }
	  grep { exists $scores->{ $ids->[$_] } } 0 .. $#$ids;
	splice(@wanted, $k) if @wanted > $k;
	my $wanted = join(' ', map { "$ids->[$wanted[$_]]=$scores->{$ids->[$wanted[$_]]}#" . ($_ + 1) } 0 .. $#wanted);
	my $found = join(' ', map { "$_->[0]=$_->[1]#$_->[2]" } rows_of_ids($script, $key));

	return $found eq $wanted ? () : "$key is $found\ninstead of $wanted";
}

# The winners sum to the score, and each has the dot product that explain says.
sub check_explain
{
	my ($script, $key, $rows, $vectors, $tokens, $bits) = @_;
	my @winners = $script->fields($key);
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
	my ($script, $kernel, $n, $query, $expected, $vectors) = @_;
	my $key = "$kernel.$n";
	my $documents = $expected->{documents};
	my %scores;
	my (@bad, @overflowing);

	$scores{ $_->[0] } = $_->[1] foreach rows_of_ids($script, "score.$key");
	foreach my $i (0 .. $#$documents)
	{
		my $id = $documents->[$i];
		if ($query->{bound}[$i] eq 'inf')
		{
			my $answer = $script->answer("alone.$key.$i");
			push(@overflowing, $id);
			if ($answer->{state} eq '00000')
			{
				$scores{$id} = $answer->{rows}[0];
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
		check_ranking($script, "rerank.$key", \%scores, $query->{gather}, scalar @{ $query->{gather} }, \@overflowing),
		check_ranking($script, "top.$key", \%scores, $query->{gather}, $query->{k}, \@overflowing),
		check_ranking($script, "search.$key", \%scores, $documents, scalar @$documents, \@overflowing),
		check_ranking($script, "few.$key", \%scores, $documents, $few, \@overflowing));
	if ($query->{decided} && $query->{ranking})
	{
		is(join(' ', map { $_->[0] } rows_of_ids($script, "top.$key")),
			join(' ', map { $_->{id} } @{ $query->{ranking} }),
			"$expected->{case}, query $n, $kernel: the reference's ranking");
	}
	check("$expected->{case}, query $n, $kernel: explanations",
		map { check_explain($script, "explain.$key.$_", $query->{rows}, $vectors->{ $documents->[$_] },
				$expected->{tokens}[$_], $scores{ $documents->[$_] }) }
		grep { $query->{bound}[$_] ne 'inf' } 0 .. $#$documents);
	return \%scores;
}

# The row of lateweave_sources, and the time of what is read.
sub check_source_row
{
	my ($script, $expected, $store, $unnameable) = @_;
	my ($row) = map { JSON::PP->new->utf8->decode($_) } $script->rows('sources');
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
	is(($script->rows('as_of'))[0], $wanted{committed_at}, "$expected->{case}: lateweave_as_of");
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
	my $script = LwScript->new;
	my %first;

	$expected->{case} = $case;
	$script->add('create', create_source('source', $store));
	$script->add('queries', 'CREATE TEMP TABLE queries (n int, q multivector)');
	foreach my $n (0 .. $#{ $expected->{queries} })
	{
		my $query = $expected->{queries}[$n];
		my $file = read_query("$golden/$case/$query->{file}");
		$query->{rows} = $file->{rows};
		$script->add("query.$n", "INSERT INTO queries VALUES ($n, " . sql_query($file) . ')');
	}
	$script->add('ids', "SELECT $id_hex FROM source ORDER BY id COLLATE \"C\"");
	my $vectors = "SELECT $id_hex, token_count(tokens), encode(multivector_send(tokens), 'hex')";
	$script->add('tokens', "$vectors FROM source ORDER BY id COLLATE \"C\"");
	$script->add('fetch', "$vectors FROM lateweave_fetch('source', $all)");
	my $absent = sql_ids(@{ $expected->{absent} });
	$script->add('absent', <<~"SQL" =~ s/\n\z//r);
		SELECT $id_hex FROM unnest($absent) u(id), queries
		WHERE n = 0 AND (lateweave_score('source', q, u.id) IS NOT NULL
			OR EXISTS (SELECT FROM source s WHERE s.id = u.id)
			OR EXISTS (SELECT FROM lateweave_fetch('source', ARRAY[u.id]))
			OR EXISTS (SELECT FROM lateweave_explain('source', q, u.id)))
		SQL
	$script->add('sources', <<~'SQL' =~ s/\n\z//r);
		SELECT json_build_object('kind', kind, 'path', path, 'corpus', corpus, 'encoding', encoding,
			'dimension', dimension, 'encoder', encoder, 'store_id', store_id, 'commit', commit,
			'committed_at', extract(epoch FROM committed_at)::text, 'documents', documents,
			'unnameable', unnameable, 'deleted', deleted, 'tokens', tokens, 'segments', segments,
			'bytes', bytes)
		FROM lateweave_sources WHERE source = 'source'::regclass AND error IS NULL AND notes <@ ARRAY['no shared view', 'compaction recommended']
		SQL
	$script->add('as_of', "SELECT extract(epoch FROM lateweave_as_of('source'))");
	foreach my $kernel (@kernels)
	{
		$script->add("kernel.$kernel", "SET lateweave.kernel = '$kernel'");
		$script->add("active.$kernel", 'SELECT kernel FROM lateweave_kernels() WHERE active');
		ask_query($script, $kernel, $_, $expected->{queries}[$_], $documents) foreach 0 .. $#{ $expected->{queries} };
	}
	$script->add('drop', 'DROP FOREIGN TABLE source');
	$script->run($node, 120);

	$script->rows($_) foreach ('create', 'queries', 'drop');
	is_deeply([ map { $_->[0] } rows_of_ids($script, 'ids') ], $documents, "$case: ids");
	is_deeply([ rows_of_ids($script, 'absent') ], [], "$case: absent ids");

	my @tokens = rows_of_ids($script, 'tokens');
	is_deeply([ rows_of_ids($script, 'fetch') ], \@tokens, "$case: lateweave_fetch gives what the table has");
	is_deeply([ map { [ $_->[0], $_->[1] ] } @tokens ],
		[ map { [ $documents->[$_], $expected->{tokens}[$_] ] } 0 .. $#$documents ], "$case: token counts");
	my %vectors = map { $_->[0] => decoded($_->[2]) } @tokens;
	is(sha256_hex(map { $vectors{$_} } @$documents), $expected->{decoded_sha256}, "$case: decoded vectors")
	  if defined $expected->{decoded_sha256};
	check_source_row($script, $expected, $store, $unnameable);

	foreach my $kernel (@kernels)
	{
		is(($script->rows("active.$kernel"))[0], $kernel, "$case: kernel $kernel is in use");
		foreach my $n (0 .. $#{ $expected->{queries} })
		{
			my $scores = check_query($script, $kernel, $n, $expected->{queries}[$n], $expected, \%vectors);
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
	my $script = LwScript->new;
	my %place;

	foreach my $corpus (sort keys %{ $across->[0]{stores} })
	{
		$place{$corpus} = keys(%place) + 1;
		$script->add("create.$corpus", create_source($corpus, "$golden/$case/$across->[0]{stores}{$corpus}"));
	}
	my @corpora = sort { $place{$a} <=> $place{$b} } keys %place;
	my $sources = sql_array('regclass', map { "'$_'" } @corpora);
	foreach my $kernel (@kernels)
	{
		$script->add("kernel.$kernel", "SET lateweave.kernel = '$kernel'");
		foreach my $n (0 .. $#$across)
		{
			my @gather = @{ $across->[$n]{gather} };
			$script->add("$kernel.$n",
				    "SELECT $id_hex, source, encode(float4send(score), 'hex'), rank"
				  . " FROM lateweave_rerank($sources, " . sql_query(read_query("$golden/$case/$across->[$n]{file}")) . ', '
				  . sql_array('int', map { $place{ $_->[0] } } @gather) . ', '
				  . sql_ids(map { $_->[1] } @gather) . ", $across->[$n]{k})");
		}
	}
	$script->add("drop.$_", "DROP FOREIGN TABLE $_") foreach @corpora;
	$script->run($node, 60);
	foreach my $kernel (@kernels)
	{
		foreach my $n (0 .. $#$across)
		{
			is_deeply([ rows_of_ids($script, "$kernel.$n") ],
				[ map { [ @$_{qw(id corpus bits rank)} ] } @{ $across->[$n]{ranking} } ],
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
		'0.0000019994' => '0.000001',
		'0.0000019996' => '0.000002',
		'0.9999999996' => '1.000000',
		'9223371331199' => '9223371331199.000000',
		'9224318016000' => 'Infinity',
		'9.2e18' => 'Infinity');
	my $script = LwScript->new;
	my $manifest = read_bytes("$golden/f32-empty/store/manifest.json");

	foreach my $time (sort keys %times)
	{
		my $store = $node->basedir . "/time-$time";
		mkdir($store) or die "could not make \"$store\": $!";
		open(my $file, '>:raw', "$store/manifest.json") or die $!;
		print $file $manifest =~ s/("committed_at": )[^,\n]+/$1$time/r;
		close($file) or die $!;
		$script->add("create.$time", create_source('source', $store));
		$script->add($time, q(SELECT extract(epoch FROM lateweave_as_of('source'))));
		$script->add("lag.$time",
			q(SELECT extract(epoch FROM committed_at), lag IS NULL FROM lateweave_sources WHERE source = 'source'::regclass));
		$script->add("drop.$time", 'DROP FOREIGN TABLE source');
	}
	$script->run($node, 60);
	foreach my $time (sort keys %times)
	{
		my $no_lag = $times{$time} eq 'Infinity' ? 't' : 'f';
		is(join(' ', $script->rows($time), $script->rows("lag.$time")),
			"$times{$time} $times{$time}|$no_lag", "committed_at $time");
	}
	return;
}

my @cases = map { $_->{case} } @{ read_json("$golden/index.json") };

cmp_ok(scalar @cases, '>', 40, 'there are golden stores');
foreach my $case (@cases)
{
	# A statement that fails and must not ends the case, not the others.
	eval { check_case($case); 1 } or fail("$case: $@");
}
check_across('two-corpora');
check_times();
$node->stop;

done_testing();
