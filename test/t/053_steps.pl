# What the reference's writer was asked, asked in SQL: the same files, byte for byte, after each commit,
# and the same appends accepted and refused.
use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use FindBin;
use lib $FindBin::RealBin;

use LwScript;
use LwTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('steps', "shared_preload_libraries = 'lateweave'");
my $directory = PostgreSQL::Test::Utils::tempdir();

# An array of the documents of so many tokens each, from rows of a matrix on; `bytes` are its float32 values.
sub documents
{
	my ($bytes, $columns, $row, @lengths) = @_;
	my @documents;

	foreach my $tokens (@lengths)
	{
		push @documents, "multivector_from_bytes('\\x" . unpack('H*', substr($bytes, 4 * $columns * $row, 4 * $columns * $tokens)) . "', $columns)";
		$row += $tokens;
	}
	return sql_array('multivector', @documents);
}

sub call_of
{
	my ($step, $inputs) = @_;

	return "SELECT lateweave_delete('steps', " . sql_ids(@{ $step->{ids} }) . ')' if $step->{do} eq 'delete';
	return "SELECT lateweave_append('steps', " . sql_ids(@{ $step->{ids} }) . ', '
	  . documents($inputs->{bytes}, $inputs->{dimension}, $step->{rows}[0], @{ $step->{lengths} }) . ')';
}

# Names and hashes of a store's files, without the manifest.
sub files
{
	my ($path) = @_;

	opendir(my $entries, $path) or die "could not open $path: $!";
	my %files = map { $_ => sha256_hex(read_bytes("$path/$_")) } grep { /^[^.]/ && $_ ne 'manifest.json' } readdir $entries;
	closedir $entries;
	return %files;
}

# A manifest without what no two stores share.
sub common
{
	my ($path) = @_;

	return read_bytes($path) =~ s/("(?:store_id|committed_at)": )[^\n]*/$1/gr;
}

my $replayed = 0;
foreach my $case (map { $_->{case} } @{ read_json("$golden/index.json") })
{
	my $steps_file = "$golden/$case/steps.json";
	next if !-e $steps_file;
	my $steps = read_json($steps_file);
	next if grep { $_->{do} eq 'compact' || grep { /\0/ } @{ $_->{ids} || [] } } @{ $steps->{steps} };
	my $manifest = read_json("$golden/$case/store/manifest.json");
	my $representation = $manifest->{representation};
	my $inputs = read_query("$golden/$case/$steps->{inputs}");
	my $path = "$directory/$case";
	my @complaints;

	# begins where a store can begin
	next if $manifest->{commit} != grep { $_->{do} eq 'commit' } @{ $steps->{steps} };
	$node->safe_psql('postgres', "SELECT lateweave_create_store('steps', " .
		  join(', ', map { sql_text($_) } @$representation{qw(encoder encoder_revision)}) .
		  ", $representation->{dimension}, '$manifest->{encoding}', " . sql_text($manifest->{corpus}) .
		  ', ' . ($representation->{normalized} ? 'true' : 'false') .
		  ', ' . join(', ', map { sql_text($_) } @$representation{qw(query_template document_template)}) . ", '$path')");
	my @calls;
	foreach my $step (@{ $steps->{steps} })
	{
		if ($step->{do} ne 'commit')
		{
			push @calls, [ call_of($step, $inputs), $step->{do} eq 'delete' ? $step->{deleted} : scalar @{ $step->{ids} } ];
			next;
		}
		# the reference commits whether anything has changed or not
		push @calls, [ "SELECT lateweave_commit('steps')", '' ];
		my ($out, $err) = ('', '');
		$node->psql('postgres', join(";\n", 'BEGIN', (map { $_->[0] } @calls), 'COMMIT'), stdout => \$out, stderr => \$err);
		push @complaints, "commit $step->{commit}: $err" if $err;
		push @complaints, "commit $step->{commit}: returned $out" if $out ne join("\n", map { $_->[1] } @calls);
		my %files = files($path);
		push @complaints, map { "commit $step->{commit}: $_ differs" }
		  grep { ($files{$_} // '') ne ($step->{sha256}{$_} // '') } sort keys %{ { %files, %{ $step->{sha256} } } };
		my $now = read_json("$path/manifest.json");
		push @complaints, "commit $step->{commit}: $_ is $now->{$_}" foreach grep { $now->{$_} ne $step->{$_} } qw(commit next_segment_id);
		push @complaints, "commit $step->{commit}: other segments"
		  if JSON::PP->new->canonical->encode($now->{segments}) ne JSON::PP->new->canonical->encode($step->{segments});
		@calls = ();
	}
	push @complaints, 'the manifest is another text' if common("$path/manifest.json") ne common("$golden/$case/store/manifest.json");
	check("the steps of $case", @complaints);
	$node->safe_psql('postgres', "SELECT lateweave_drop_store('steps')");
	$replayed++;
}
cmp_ok($replayed, '>=', 30, 'cases were replayed');

# Each single append to an empty store.
my $script = LwScript->new;
my @appends = @{ read_json("$golden/appends.json") };
my @asked;
foreach my $i (0 .. $#appends)
{
	my $append = $appends[$i];
	my $rows = @{ $append->{bits} } / $append->{columns};
	my $left = $rows;

	# what has a negative number of tokens cannot be said in SQL, nor what has vectors for nobody
	$left -= $_ foreach @{ $append->{lengths} };
	next if $left != 0 || grep { $_ < 0 } @{ $append->{lengths} };
	next if grep { /\0/ } @{ $append->{ids} };
	push @asked, $i;
	$script->add("create $i", "SELECT lateweave_create_store('append', 'e', 'r', $append->{dimension}, 'float32', normalized => "
		  . ($append->{normalized} ? 'true' : 'false') . ", path => '$directory/append$i')");
	$script->add("append $i", "SELECT lateweave_append('append', " . sql_ids(@{ $append->{ids} }) . ', '
		  . documents(pack('f<*', map { float_of_bits($_) } @{ $append->{bits} }), $append->{columns}, 0, @{ $append->{lengths} }) . ')');
	$script->add("fetch $i", "SELECT string_agg(encode(multivector_send(tokens), 'hex'), '' ORDER BY array_position("
		  . sql_ids(@{ $append->{ids} }) . ', id)) FROM append');
	$script->add("forget $i", 'DROP FOREIGN TABLE append');
}
$script->run($node, 60);
my @complaints;
foreach my $i (@asked)
{
	my $append = $appends[$i];
	my $answer = $script->answer("append $i");
	my %files = files("$directory/append$i");

	$script->rows($_) foreach "create $i", "forget $i";
	if ($append->{accepted})
	{
		push @complaints, "$append->{what}: $answer->{messages}" if $answer->{state} ne '00000';
		my ($hex) = ($script->rows("fetch $i"))[0] // '';
		push @complaints, "$append->{what}: other values" if @{ $append->{bits} } && index($hex, join('', @{ $append->{bits} })) < 0 && @{ $append->{ids} } == 1;
	}
	else
	{
		push @complaints, "$append->{what}: accepted" if $answer->{state} !~ /^2/;
		push @complaints, "$append->{what}: leaves " . join(' ', sort keys %files) if %files;
	}
}
check(scalar(@asked) . ' appends are accepted or refused as by the reference', @complaints);
cmp_ok(scalar @asked, '>', 60, 'appends were tried');
$node->stop;
done_testing();
