# Every recipe of damaged.json, and some more, ends as its `required` says, all in
# one session, which stays alive, never waits and takes no memory on a file's word.
use strict;
use warnings;

use Digest::MD5 qw(md5_hex);
use Digest::SHA qw(sha256_hex);
use FindBin;
use JSON::PP;
use lib $FindBin::RealBin;
use Test::More;

use LwScript;
use LwTest;

use constant SHOWN => 100;            # characters of an id that are compared
use constant MEMORY_MB => 300;        # what the session may have held at its peak; some files claim 2^64 bytes
use constant STATEMENT_MS => 30000;
use constant SESSION_S => 180;

# More recipes, in the form of damaged.json.
my $more = <<'END';
[
{"name": "offsets-equal-neighbours", "base": "f32-d7", "what": "an offset equal to its predecessor",
 "required": "refused", "reference": {"outcome": "refused", "class": "offsets"},
 "steps": [{"do": "value", "file": "segment-0.offsets.npy", "type": "Q", "index": 2, "value": 29}]},
{"name": "vectors-inf-both", "base": "u64", "what": "an infinite value, and scores of +inf and -inf that sum to no number",
 "required": "part", "reference": {"outcome": "part", "class": "nan", "unreadable": ["d0"]},
 "steps": [{"do": "value", "file": "segment-18446744073709551612.vectors.npy", "type": "f", "index": 2, "value": "inf"}]},
{"name": "open-other-store-id-corpus", "base": "f32-d7", "what": "another store_id and corpus",
 "required": "refused", "while_open": true, "reference": {"outcome": "same", "class": "store-replaced"},
 "steps": [{"do": "set", "file": "manifest.json", "path": ["store_id"], "value": "other"},
	{"do": "set", "file": "manifest.json", "path": ["corpus"], "value": "other"}]},
{"name": "open-other-store-id-encoding", "base": "f32-d7", "what": "another store_id and encoding, no segments",
 "required": "refused", "while_open": true,
 "reference": {"outcome": "other", "documents": [], "tokens": [], "bits": [], "changed": []},
 "steps": [{"do": "set", "file": "manifest.json", "path": ["store_id"], "value": "other"},
	{"do": "set", "file": "manifest.json", "path": ["encoding"], "value": "int8"},
	{"do": "set", "file": "manifest.json", "path": ["segments"], "value": []}]}
]
END

my $node = start_node('damaged');
my $stores = $node->basedir . '/stores';
my $list = "$stores/recipes.json";
my @recipes = (@{ read_json("$golden/damaged.json") }, @{ JSON::PP->new->decode($more) });
my %bases;

# The id and the bits of a score as they are printed.
my $id = $id_hex =~ s/\bid\b/left(id, @{[SHOWN]})/r;
my $documents_of = "SELECT $id, token_count(tokens), md5(multivector_send(tokens))";

sub score
{
	my ($score) = @_;

	return "encode(float4send($score), 'hex')";
}

# Makes all stores in one run; the ones that are damaged while open as their bases.
sub make_stores
{
	my $program = <<~'END';
		import json, sys
		from pathlib import Path
		sys.path.insert(0, sys.argv[1])
		import damage
		recipes = json.loads((damage.HERE / "damaged.json").read_text()) + json.loads(sys.argv[3])
		damage.write(Path(sys.argv[2]) / "recipes.json", recipes)
		for recipe in recipes:
		    out = Path(sys.argv[2]) / recipe["name"]
		    damage.base(recipe, out, [damage.HERE])
		    if not recipe.get("while_open") and not recipe.get("writer"):
		        damage.damage(recipe, out, [damage.HERE])
		END

	mkdir($stores) or die "could not make \"$stores\": $!";
	system('python3', '-B', '-c', $program, $golden, $stores, $more) == 0
	  or die 'could not make the damaged stores';
	return;
}

# The undamaged stores: what their documents are, checked against the reference, and their first queries.
sub read_bases
{
	my $script = LwScript->new;
	my @names = do { my %seen; grep { !$seen{$_}++ } map { $_->{base} } @recipes };

	$script->add('queries', 'CREATE TABLE queries (base text, q multivector)');
	foreach my $name (@names)
	{
		$script->add("create.$name", create_source('t', "$golden/$name/store"));
		$script->add("query.$name",
			"INSERT INTO queries VALUES ('$name', " . sql_query(read_query("$golden/$name/query-0.npy")) . ')');
		$script->add($name, "SELECT $id_hex, encode(multivector_send(tokens), 'hex') FROM t ORDER BY id COLLATE \"C\"");
		$script->add("drop.$name", 'DROP FOREIGN TABLE t');
	}
	$script->run($node, 60);
	foreach my $name (@names)
	{
		my $expected = read_json("$golden/$name/expected.json");
		my $query = $expected->{queries}[0];
		my $base = { %$expected, query => "(SELECT q FROM queries WHERE base = '$name')" };
		my @values;

		foreach my $row (rows_of_ids($script, $name))
		{
			my $binary = pack('H*', $row->[1]);
			$base->{md5}{ $row->[0] } = md5_hex($binary);
			push(@values, pack('V*', unpack('x8N*', $binary)));
		}
		is(sha256_hex(@values), $expected->{decoded_sha256}, "base $name: decoded vectors");
		foreach my $i (0 .. $#{ $expected->{documents} })
		{
			$base->{score}{ $expected->{documents}[$i] } =
			  [ map { $query->{$_}[$i] } qw(bits float64 bound) ];
		}
		$base->{exact} = $query->{exact};
		$bases{$name} = $base;
	}
	return;
}

# What the store has to answer when it is read: see README.md there.
sub wanted
{
	my ($recipe) = @_;
	my $base = $bases{ $recipe->{base} };
	my $reference = $recipe->{reference};
	my %wanted = (documents => $base->{documents}, tokens => $base->{tokens}, changed => {},
		unscored => [], unfetched => [], unnameable => 0, long => 0);

	if ($reference->{count})
	{
		# ids-16mb, whose documents are not listed
		my $long = 'x' x SHOWN;
		my @order = sort { $a->[0] cmp $b->[0] }
		  map { [ $base->{documents}[$_] eq 'doc-7' ? $long : $base->{documents}[$_], $base->{tokens}[$_] ] }
		  0 .. $#{ $base->{documents} };
		$wanted{documents} = [ map { $_->[0] } @order ];
		$wanted{tokens} = [ map { $_->[1] } @order ];
		$wanted{changed}{$long} = $base->{score}{'doc-7'}[0];
		$wanted{long} = 16000000;
	}
	elsif ($reference->{outcome} eq 'other')
	{
		my @kept = grep { $reference->{documents}[$_] !~ /\0/ } 0 .. $#{ $reference->{documents} };
		my %bits;

		@bits{ @{ $reference->{documents} } } = @{ $reference->{bits} };
		$wanted{$_} = [ @{ $reference->{$_} }[@kept] ] foreach qw(documents tokens);
		$wanted{unnameable} = @{ $reference->{documents} } - @kept;
		$wanted{changed}{$_} = $bits{$_} foreach @{ $reference->{changed} };
	}
	if ($recipe->{required} eq 'part')
	{
		$wanted{unscored} = $wanted{unfetched} = $reference->{unreadable} || $reference->{changed};
		$wanted{state} = ($reference->{class} || '') eq 'scales' ? 'XX001' : '22023';
	}

	# A score may be infinite, a multivector may not.
	$wanted{unfetched} = $reference->{changed} if $recipe->{name} eq 'vectors-inf';

	# Nothing to score, but the query has another dimension.
	$wanted{other_dimension} = $recipe->{name} eq 'empty-dimension-max';
	return \%wanted;
}

# The SQLSTATE of what is refused; a directory or FIFO in the place of a file is a damaged store.
sub state_of
{
	my ($recipe) = @_;
	my $class = $recipe->{reference}{class} || '';

	return '58030' if $recipe->{name} eq 'symlink-loop-vectors';
	return '58P01' if $class eq 'missing-file';
	return '55000' if $class eq 'store-replaced' || $recipe->{name} =~ /^open-other-store-id/;
	return 'XX001';
}

sub ask_sources
{
	my ($script, $key) = @_;

	$script->add("$key.sources", q(SELECT error IS NULL, documents, tokens, unnameable)
		  . q( FROM lateweave_sources WHERE source = 't'::regclass));
	return;
}

# The statements about a store that has to answer.
sub ask_documents
{
	my ($script, $key, $recipe, $wanted) = @_;
	my $q = $bases{ $recipe->{base} }{query};
	my $readable = "SELECT id FROM t WHERE id <> ALL(" . sql_ids(@{ $wanted->{unscored} }) . ')';
	my $fetched = "SELECT id FROM t WHERE id <> ALL(" . sql_ids(@{ $wanted->{unfetched} }) . ')';
	my $ranked = "SELECT $id, " . score('score') . ', rank';
	my $all = @{ $wanted->{documents} } || 1;

	$script->add("$key.ids", "SELECT $id FROM t ORDER BY id COLLATE \"C\"");
	$script->add("$key.long", 'SELECT max(length(id)) FROM t');
	$script->add("$key.scan", "$documents_of FROM t ORDER BY id COLLATE \"C\"");
	$script->add("$key.fetch", "$documents_of FROM lateweave_fetch('t', ARRAY($fetched)) ORDER BY id COLLATE \"C\"");
	$script->add("$key.score", "SELECT $id, " . score("lateweave_score('t', $q, id)") . " FROM ($readable) r");
	$script->add("$key.rerank", "$ranked FROM lateweave_rerank('t', $q, ARRAY($readable ORDER BY id COLLATE \"C\"))");
	$script->add("$key.search", "$ranked FROM lateweave_search('t', $q, $all)");
	foreach my $i (0 .. $#{ $wanted->{unscored} })
	{
		my $document = sql_id($wanted->{unscored}[$i]);
		$script->add("$key.score.$i", "SELECT lateweave_score('t', $q, $document)");
		$script->add("$key.rerank.$i", "SELECT * FROM lateweave_rerank('t', $q, ARRAY[$document])");
		$script->add("$key.explain.$i", "SELECT * FROM lateweave_explain('t', $q, $document)");
	}
	foreach my $i (0 .. $#{ $wanted->{unfetched} })
	{
		$script->add("$key.fetch.$i",
			"SELECT * FROM lateweave_fetch('t', ARRAY[" . sql_id($wanted->{unfetched}[$i]) . '])');
	}
	ask_sources($script, $key);
	return;
}

# A statement that had to fail with this SQLSTATE and had to name this.
sub check_error
{
	my ($script, $key, $state, $named) = @_;
	my $answer = $script->answer($key);

	return "$key: SQLSTATE $answer->{state} instead of $state: $answer->{messages}" if $answer->{state} ne $state;
	return "$key: does not name $named: $answer->{messages}" if index($answer->{messages}, $named) < 0;
	return;
}

# The documents of a scan or a fetch: counts, and the vectors of those that are the base's.
sub check_vectors
{
	my ($script, $key, $recipe, $wanted) = @_;
	my $base = $bases{ $recipe->{base} };
	my %unfetched = map { $_ => 1 } @{ $wanted->{unfetched} };
	my @rows = rows_of_ids($script, $key);
	my @bad;

	foreach my $i (grep { !$unfetched{ $wanted->{documents}[$_] } } 0 .. $#{ $wanted->{documents} })
	{
		my $name = $wanted->{documents}[$i];
		my ($found, $tokens, $md5) = @{ shift(@rows) || [ 'nothing', 0, '' ] };
		push(@bad, "$key: $found with $tokens tokens instead of $name with $wanted->{tokens}[$i]")
		  if $found ne $name || $tokens != $wanted->{tokens}[$i];
		push(@bad, "$key: other vectors of $name")
		  if !exists $wanted->{changed}{$name} && $md5 ne $base->{md5}{$name};
	}
	push(@bad, "$key: @$_") foreach @rows;
	return @bad;
}

sub check_scores
{
	my ($script, $key, $recipe, $wanted) = @_;
	my $base = $bases{ $recipe->{base} };
	my %unscored = map { $_ => 1 } @{ $wanted->{unscored} };
	my %scores = map { @$_ } rows_of_ids($script, "$key.score");
	my @scored = grep { !$unscored{$_} } @{ $wanted->{documents} };
	my @bad;

	push(@bad, "$key: scores of " . join(' ', sort keys %scores)) unless keys %scores == @scored;
	foreach my $name (@scored)
	{
		my $bits = $scores{$name};
		my $changed = $wanted->{changed}{$name};
		my $good = defined $bits && (
			!defined $changed ? within_bound($bits, @{ $base->{score}{$name} }, $base->{exact})
			: within_bound($bits, $changed, float_of_bits($changed), 1e-5 * abs(float_of_bits($changed)),
				abs(float_of_bits($changed)) == 9**9**9));
		return (@bad, "$key: score of $name is " . ($bits || 'nothing')) unless $good;
	}

	my @order = sort { order_of_bits($scores{ $scored[$b] }) <=> order_of_bits($scores{ $scored[$a] }) || $a <=> $b }
	  0 .. $#scored;
	my $ranking = join(' ', map { "$scored[$order[$_]]=$scores{$scored[$order[$_]]}#" . ($_ + 1) } 0 .. $#order);
	foreach my $how ('rerank', @{ $wanted->{unscored} } ? () : 'search')
	{
		my $found = join(' ', map { "$_->[0]=$_->[1]#$_->[2]" } rows_of_ids($script, "$key.$how"));
		push(@bad, "$key.$how: $found\ninstead of $ranking") if $found ne $ranking;
	}
	return @bad;
}

sub check_documents
{
	my ($script, $key, $recipe, $wanted, $store) = @_;
	my @ids = map { $_->[0] } rows_of_ids($script, "$key.ids");
	my $total = 0;
	my @bad;

	return "$key: ids @ids" if "@ids" ne "@{ $wanted->{documents} }";
	push(@bad, "$key: the longest id") if $wanted->{long} && ($script->rows("$key.long"))[0] != $wanted->{long};
	push(@bad, check_vectors($script, "$key.fetch", $recipe, $wanted));
	push(@bad, @{ $wanted->{unfetched} } ? check_error($script, "$key.scan", 'XX001', $store)
		: check_vectors($script, "$key.scan", $recipe, $wanted));
	if ($wanted->{other_dimension})
	{
		push(@bad, map { check_error($script, "$key.$_", '22000', $store) } qw(rerank search));
	}
	else
	{
		push(@bad, check_scores($script, $key, $recipe, $wanted));
	}
	foreach my $i (0 .. $#{ $wanted->{unscored} })
	{
		push(@bad, map { check_error($script, "$key.$_", $wanted->{state}, "\"$wanted->{unscored}[$i]\"") }
			"score.$i", "rerank.$i", "explain.$i", 'search');
	}
	push(@bad, check_error($script, "$key.fetch.$_", 'XX001', "\"$wanted->{unfetched}[$_]\""))
	  foreach 0 .. $#{ $wanted->{unfetched} };

	$total += $_ foreach @{ $wanted->{tokens} };
	my ($row) = $script->rows("$key.sources");
	my $sources = join('|', 't', scalar @ids, $total, $wanted->{unnameable});
	push(@bad, "$key: lateweave_sources has $row instead of $sources") if $row ne $sources;
	return @bad;
}

# The statements about a store that has to be refused, or of which the vectors are gone.
sub ask_refused
{
	my ($script, $key, $recipe) = @_;
	my $base = $bases{ $recipe->{base} };

	$script->add("$key.score", "SELECT lateweave_score('t', $base->{query}, id) FROM unnest("
		  . sql_ids(@{ $base->{documents} }) . ') id');
	$script->add("$key.search", "SELECT * FROM lateweave_search('t', $base->{query}, 3)");
	$script->add("$key.fetch", "SELECT * FROM lateweave_fetch('t', " . sql_ids(@{ $base->{documents} }) . ')');
	$script->add("$key.scan", 'SELECT * FROM t');
	$script->add("$key.as_of", "SELECT lateweave_as_of('t')");
	ask_sources($script, $key);
	return;
}

sub check_refused
{
	my ($script, $key, $state, $store) = @_;
	my ($row) = $script->rows("$key.sources");
	my @bad = map { check_error($script, "$key.$_", $state, $store) } qw(score search fetch scan as_of);

	push(@bad, "$key: lateweave_sources has $row") if $row ne 'f|||';
	return @bad;
}

# A store that is damaged before it is opened.
sub ask_closed
{
	my ($script, $recipe, $wanted) = @_;
	my $key = $recipe->{name};
	my $store = "$stores/$key";

	$script->add("$key.create", create_source('t', $store));
	if ($recipe->{required} eq 'refused')
	{
		$script->add("$key.named",
			create_source('t', $store, 'store_id ' . sql_text($bases{ $recipe->{base} }{store_id})));
		ask_refused($script, $key, $recipe);
	}
	else
	{
		ask_documents($script, $key, $recipe, $wanted);
	}
	$script->add("$key.drop", 'DROP FOREIGN TABLE IF EXISTS t');
	return;
}

sub check_closed
{
	my ($script, $recipe, $wanted) = @_;
	my $key = $recipe->{name};
	my $store = "$stores/$key";

	if ($recipe->{required} eq 'refused')
	{
		my $state = state_of($recipe);
		my $named = $script->answer("$key.named");
		my @bad = check_error($script, "$key.create", $state, $store);

		push(@bad, "$key: with a store_id, CREATE says $named->{state}: $named->{messages}")
		  if $named->{state} ne '00000' || $named->{messages} !~ /WARNING:  $state: .*\Q$store\E/;
		return (@bad, check_refused($script, $key, $state, $store));
	}
	if ($recipe->{required} eq 'any' && $script->answer("$key.create")->{state} ne '00000')
	{
		return check_error($script, "$key.create", 'XX001', $store);
	}
	$script->rows("$key.create");
	return check_documents($script, $key, $recipe, $wanted, $store);
}

# A store that is damaged while the session has it open, and then repaired in place.
sub ask_open
{
	my ($script, $recipe, $wanted) = @_;
	my $key = $recipe->{name};
	my $store = "$stores/$key";
	my $base = wanted({ %$recipe, required => 'same', reference => { outcome => 'same' } });

	$script->add("$key.create", create_source('t', $store));
	ask_documents($script, "$key.before", $recipe, $base);
	$script->shell("python3 -B '$golden/damage.py' --recipes '$list' --onto $key '$store' && touch '$store.damaged'");
	if ($recipe->{required} !~ /^(refused|error)$/)
	{
		ask_documents($script, $key, $recipe, $wanted);
	}
	else
	{
		ask_refused($script, $key, $recipe);
		if ($key =~ /^open-other-store-id/)
		{
			$script->add("$key.alter", "ALTER FOREIGN TABLE t OPTIONS (SET store_id 'other')");
			ask_documents($script, "$key.altered", $recipe, $wanted);
			ask_refused($script, "$key.altered.refused", $recipe);
			$script->add("$key.back", "ALTER FOREIGN TABLE t OPTIONS (SET store_id '$bases{$recipe->{base}}{store_id}')");
		}
		$script->shell("cp -R '$golden/$recipe->{base}/store/.' '$store'");
		ask_documents($script, "$key.repaired", $recipe, $base);
	}
	$script->add("$key.drop", 'DROP FOREIGN TABLE t');
	return;
}

sub check_open
{
	my ($script, $recipe, $wanted) = @_;
	my $key = $recipe->{name};
	my $store = "$stores/$key";
	my $base = wanted({ %$recipe, required => 'same', reference => { outcome => 'same' } });
	my @bad;

	$script->rows("$key.create");
	return "$key: the store could not be damaged" unless -e "$store.damaged";
	push(@bad, check_documents($script, "$key.before", $recipe, $base, $store));
	return (@bad, check_documents($script, $key, $recipe, $wanted, $store))
	  if $recipe->{required} !~ /^(refused|error)$/;

	# When another store is at the path and broken besides, its own errors come first.
	push(@bad, check_refused($script, $key, state_of($recipe), $store));
	if ($key =~ /^open-other-store-id/)
	{
		$script->rows("$key.alter");
		push(@bad, $recipe->{reference}{outcome} eq 'refused'
			? check_refused($script, "$key.altered.refused", state_of($recipe), $store)
			: check_documents($script, "$key.altered", $recipe, $wanted, $store));
	}
	return (@bad, check_documents($script, "$key.repaired", $recipe, $base, $store));
}

sub check_recipes
{
	my $script = LwScript->new;
	my $pid = 'SELECT pg_backend_pid()';

	$script->add('timeout', 'SET statement_timeout = ' . STATEMENT_MS);
	$script->add('first pid', $pid);
	foreach my $recipe (grep { !$_->{writer} } @recipes)
	{
		($recipe->{while_open} ? \&ask_open : \&ask_closed)->($script, $recipe, wanted($recipe));
	}
	$script->add('status', q{SELECT pg_read_file('/proc/' || pg_backend_pid() || '/status')});
	$script->add('last pid', $pid);
	$script->run($node, SESSION_S);

	foreach my $recipe (@recipes)
	{
		my $name = "$recipe->{name} ($recipe->{what}): $recipe->{required}";
	  SKIP:
		{
			skip("$name: about writing stores, which this version does not do", 1) if $recipe->{writer};
			my $how = $recipe->{while_open} ? \&check_open : \&check_closed;
			my @bad = eval { $how->($script, $recipe, wanted($recipe)) };
			check($name, @bad, $@ || ());
		}
	}
	is(($script->rows('last pid'))[0], ($script->rows('first pid'))[0], 'one session lived through it all');

	my ($peak) = join("\n", $script->rows('status')) =~ /^VmHWM:\s+(\d+) kB/m;
	cmp_ok($peak, '<', MEMORY_MB * 1024, 'peak memory of the session, kB');
	note("peak memory of the session: $peak kB");
	return;
}

# Nothing of a dropped table's store is known of another store in its directory.
sub check_reused_directory
{
	my $script = LwScript->new;
	my $store = "$stores/reused";

	$script->shell("cp -R '$golden/f32-d7/store' '$store'");
	foreach my $key ('before', 'after')
	{
		$script->add("create.$key", create_source('t', $store));
		$script->add($key, 'SELECT count(*) FROM t');
		$script->add("drop.$key", 'DROP FOREIGN TABLE t');
		$script->shell("cp '$golden/two-corpora/store/'* '$store'");
	}
	$script->run($node, SESSION_S);
	is(join(' ', map { $script->rows($_) } 'before', 'after'), '17 14', 'another store in the directory of a dropped table');
	return;
}

cmp_ok(scalar @recipes, '>', 300, 'there are recipes');
make_stores();
read_bases();
check_recipes();
check_reused_directory();
is($node->safe_psql('postgres', 'SELECT 1'), '1', 'the server is up');
unlike(read_bytes($node->logfile), qr/PANIC|terminated by signal/, 'no crash in the log');
$node->stop;

done_testing();
