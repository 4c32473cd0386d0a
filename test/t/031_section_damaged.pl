# Every recipe of damaged.json for section files gives the reference's error name, by lateweave_verify and when a
# statement opens the file with lateweave.verify_on_open; without it no statement does harm. One session lives through all.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwScript;
use LwTest;
use Test::More;

use constant MEMORY_MB => 600;       # what the session may have held at its peak; some files claim 2^64 bytes

# Refused though the reference accepts them: as many vectors as chunks are asked for, as many references to texts, and
# indexes of as many documents, whose edges lead to one of them.
my %refused = (
	(map { $_ => 'SectionCountMismatch' } qw(embeddings-none-empty-lists dedup-none dedup-two dedup-many dedup-amplified)),
	(map { $_ => 'MalformedSectionPayload' }
		qw(lexical-doc-of-more-docs lexical-fewer-docs lexical-no-docs graph-target-wraps)));

my $node = start_node('section_damaged');
my $sections = $golden =~ s/stores$/sections/r;
my @recipes = @{ read_json("$sections/damaged.json") };
my $files = $node->basedir . '/files';

mkdir $files or die "could not make \"$files\": $!";
system('python3', '-B', "$sections/damage.py", 'write', $files) == 0 or die 'could not make the damaged files';

# The name that has to be given; '' when the file is to be accepted.
sub wanted
{
	my ($recipe) = @_;
	my ($open, $validate) = @{ $recipe->{outcome} }{qw(open validate)};

	return $refused{ $recipe->{name} } if $refused{ $recipe->{name} };

	# where the reference dies
	return 'MalformedSectionPayload' if $open =~ /^(Panic|crash)/;
	return $open eq 'ok' ? '' : $open;
}

# What the reference's command line has no name for, and opening does not look at.
sub is_blob_check
{
	my ($recipe, $found) = @_;

	return $recipe->{outcome}{validate} eq 'blob check' && $found =~ /^Blob(Hash|Count)Mismatch$/;
}

sub file_of
{
	my ($recipe) = @_;
	my ($file) = grep { -e } map { "$files/$_" } $recipe->{name}, "$recipe->{name}.urna";

	return $file // die "no file of \"$recipe->{name}\"";
}

my $script = LwScript->new;
$script->add('off', 'SET lateweave.verify_on_open = off');
foreach my $recipe (@recipes)
{
	my $name = $recipe->{name};

	$script->add("create $name", "CREATE FOREIGN TABLE t (ordinal bigint, chunk_id text, canonical_bytes bytea, source_uri text,
		byte_start numeric, byte_end numeric, citation text, embedding real[]) SERVER lateweave OPTIONS (section_file "
		  . sql_text(file_of($recipe)) . ')');
	$script->add("verify $name", "SELECT check_name FROM lateweave_verify('t') WHERE NOT ok");
	$script->add("read $name", 'SELECT count(*), count(embedding) FROM t');
	$script->add("rows $name", 'SELECT count(octet_length(canonical_bytes) + length(citation) + byte_end) FROM t');
	$script->add("search $name", "SELECT count(*) FROM lateweave_list_sources() s, LATERAL (SELECT l.* FROM
		(SELECT array_agg((1.0 / i)::real) v FROM generate_series(1, s.dimension::int) i) q,
		unnest('{exact,ann,hybrid,graph}'::text[]) m,
		LATERAL lateweave_section_search('t', q.v::multivector, 3, m, query_text => 'river water') l) x
		WHERE s.source = 't'::regclass AND s.dimension < 100000");
	$script->add("on $name", 'SET lateweave.verify_on_open = on');
	$script->add("opened $name", 'SELECT count(*) FROM t');
	$script->add("off $name", 'SET lateweave.verify_on_open = off');
	$script->add("drop $name", 'DROP FOREIGN TABLE t');
}
$script->add('peak', "SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s*(\\d+) kB')");
$script->run($node, 300);

my (@verified, @opened, @odd, %seen);
foreach my $recipe (@recipes)
{
	my $name = $recipe->{name};
	my $wanted = wanted($recipe);
	my ($found) = ($script->rows("verify $name"), '');
	my $opened = $script->answer("opened $name");
	my ($detail) = $opened->{messages} =~ /^DETAIL:  (\w+)/m;

	$seen{$wanted}++;
	push @verified, "$name: \"$found\", not \"$wanted\"" if $found ne $wanted && !is_blob_check($recipe, $found);
	push @opened, "$name: $opened->{state} " . ($detail // '') . ", not \"$wanted\""
	  if $wanted eq '' ? $opened->{state} ne '00000' : $opened->{state} ne 'XX001' || ($detail // '') ne $wanted;
	foreach my $what (qw(read rows search))
	{
		my $answer = $script->answer("$what $name");

		push @odd, "$what $name: $answer->{state} $answer->{messages}"
		  if $answer->{state} !~ /^(00000|XX001)$/ || ($answer->{state} ne '00000' && $wanted eq '' && $what eq 'read');
	}
}
check('lateweave_verify gives the names of the reference', @verified);
check('verify_on_open does too', @opened);
check('no other statement does harm', @odd);
cmp_ok(keys %seen, '>', 15, keys(%seen) . ' names in ' . @recipes . ' recipes');
cmp_ok(($script->rows('peak'))[0] / 1024, '<', MEMORY_MB, 'memory');
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/PANIC|terminated by signal/, 'no crash in the log');
$node->stop;

done_testing();
