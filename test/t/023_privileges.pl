# Who may read a source, who may attach files, and what the operating system refuses.
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

my $directory = PostgreSQL::Test::Utils::tempdir();
my $Q = $LwStore::QUERY;
my $node = start_node('privileges');
my $inside = $node->data_dir . '/lateweave';
mkdir $inside or die "could not make $inside: $!";

my %store = map { $_ => LwStore->create($_) } "$directory/store", "$directory/other", "$inside/mine";
foreach my $store (values %store)
{
	$store->put(1 => 1, b => 2, '00000000-0000-0000-0000-000000000001' => 3);
	$store->commit;
}
symlink "$directory/store", "$inside/leads-out" or die "could not make a link: $!";
symlink "$inside/mine", "$inside/stays-in" or die "could not make a link: $!";

$node->safe_psql('postgres', join(";\n",
	'CREATE ROLE reader LOGIN', 'CREATE ROLE attacher LOGIN', 'GRANT ALL ON SCHEMA public TO PUBLIC',
	create_source('s', "$directory/store"), create_source('o', "$directory/other"),
	"CREATE FUNCTION granted() RETURNS real LANGUAGE plpgsql SECURITY DEFINER AS
		\$\$ BEGIN RETURN lateweave_score('public.s', '$Q', 'b'); END \$\$",
	'CREATE VIEW rows AS SELECT id, tokens FROM s',
	"CREATE VIEW scores AS SELECT lateweave_score('s', '$Q', 'b') AS score"));
my $owner = LwSession->new($node);
my $reader = LwSession->new($node, user => 'reader');

# Every way of reading s; what comes out does not matter.
my @reads = (
	"SELECT lateweave_score('s', '$Q', 'b')",
	"SELECT lateweave_score('s', '$Q', 1)",
	"SELECT lateweave_score('s', '$Q', '00000000-0000-0000-0000-000000000001'::uuid)",
	(map { "SELECT $_ \@# maxsim_query('s', '$Q')" } "'b'::text", "'b'::varchar", '1::smallint', '1', '1::bigint',
		"'00000000-0000-0000-0000-000000000001'::uuid"),
	"SELECT * FROM lateweave_rerank('s', '$Q', ARRAY['b'])",
	"SELECT * FROM lateweave_rerank('s', '$Q', ARRAY[1::bigint])",
	"SELECT * FROM lateweave_rerank('s', '$Q', '{00000000-0000-0000-0000-000000000001}'::uuid[])",
	"SELECT * FROM lateweave_rerank(ARRAY['o', 's']::regclass[], '$Q', '{1}', '{b}')",
	"SELECT * FROM lateweave_search('s', '$Q', 1)",
	"SELECT * FROM lateweave_fetch('s', ARRAY['b'])",
	"SELECT * FROM lateweave_fetch('s', ARRAY[1::bigint])",
	"SELECT * FROM lateweave_explain('s', '$Q', 'b')",
	"SELECT * FROM lateweave_explain('s', '$Q', 1)",
	"SELECT lateweave_as_of('s')",
	'SELECT * FROM s',
	"SELECT tokens FROM s WHERE id = 'b'");

sub refused
{
	my ($in, $name, @statements) = @_;

	return check($name, grep { $in->error($_) !~ /^ERROR:  42501: /m } @statements);
}

sub allowed
{
	my ($in, $name, @statements) = @_;

	return check($name, map { "$_: " . $in->error($_) } grep { $in->error($_) } @statements);
}

subtest 'reading' => sub {
	$owner->query('GRANT SELECT ON o TO reader');
	refused($reader, 'nothing without SELECT', @reads);
	is($reader->query('SELECT source FROM lateweave_sources'), 'o', 'lateweave_sources lists what can be read');
	$owner->query('GRANT SELECT (id) ON s TO reader');
	refused($reader, 'a column is not enough for functions', grep { !/FROM s$/ } @reads);
	is($reader->query("SELECT count(id) FROM s WHERE id = 'b'"), 1, 'but for what SQL reads of it');
	$owner->query('REVOKE SELECT (id) ON s FROM reader');

	is($reader->query('SELECT granted()'), 2, 'a SECURITY DEFINER function grants');
	is($reader->query('SELECT granted() FROM generate_series(1, 2)'), "2\n2", 'row by row');
	$owner->query('GRANT SELECT ON rows, scores TO reader');
	is($reader->query('SELECT count(*) FROM rows WHERE tokens IS NOT NULL'), 3, 'a view of the rows grants');
	refused($reader, 'what is read for others does not help oneself',
		'SELECT * FROM scores',
		map { ("SELECT granted(), ($_ LIMIT 1)", "SELECT * FROM rows, LATERAL ($_) x") }
		grep { /^SELECT lateweave/ } @reads);

	foreach my $begin ('', 'BEGIN', 'BEGIN ISOLATION LEVEL REPEATABLE READ')
	{
		my $in = $begin || 'transactions of their own';

		$owner->query('GRANT SELECT ON s TO reader');
		$reader->query($begin) if $begin;
		allowed($reader, "granted: $in", @reads);
		$owner->query('REVOKE SELECT ON s FROM reader');
		$reader->query('SAVEPOINT x') if $begin;
		my @answered;
		foreach my $statement (@reads)
		{
			push @answered, $statement if $reader->error($statement) !~ /^ERROR:  42501: /m;
			$reader->query('ROLLBACK TO x') if $begin;
		}
		check("revoked: $in", @answered);
		$reader->query('ROLLBACK') if $begin;
	}

	$owner->query('CREATE ROLE readers; GRANT SELECT ON s TO readers; GRANT readers TO reader');
	$reader->query("BEGIN ISOLATION LEVEL REPEATABLE READ; $reads[0]");
	$owner->query('REVOKE readers FROM reader');
	refused($reader, 'no longer a member of a role that may', $reads[0]);
	$reader->query('ROLLBACK');

	$owner->query("BEGIN ISOLATION LEVEL REPEATABLE READ; $reads[0]; SET LOCAL ROLE reader");
	refused($owner, 'another role of the session, with a view that is pinned', $reads[0]);
	$owner->query('ROLLBACK');
	$owner->query('GRANT pg_read_all_stats TO reader');
	is($reader->query('SELECT source, documents FROM lateweave_sources ORDER BY source::text'), "o|3\ns|3",
		'lateweave_sources lists all for a monitor');
	refused($reader, 'who reads none the more', $reads[0], "SELECT * FROM lateweave_sources, LATERAL ($reads[0]) x");
};

subtest 'attaching' => sub {
	my $attacher = LwSession->new($node, user => 'attacher');
	my $create = sub { return create_source('a', @_) . '; DROP FOREIGN TABLE a' };
	my %paths = (
		absolute => "$directory/store",
		relative => 'mine',
		'through a link that stays inside' => 'stays-in');
	my %leaving = (
		'..' => '../lateweave/mine',
		'.. in the middle' => 'mine/../mine',
		'.. at the end' => 'mine/..',
		'.' => './mine',
		'an empty component' => 'mine//',
		'a link that leads out' => 'leads-out');

	refused($attacher, "without a role: $_", create_source('a', $paths{$_})) foreach sort keys %paths;
	refused($attacher, "without a role: $_", create_source('a', $leaving{$_})) foreach sort keys %leaving;
	refused($attacher, 'without a role: what is not there', create_source('a', 'nothing'), create_source('a', '/nothing'));
	refused($attacher, 'without a role: IMPORT FOREIGN SCHEMA',
		"IMPORT FOREIGN SCHEMA files FROM SERVER lateweave INTO public OPTIONS (directory '$inside')");
	$owner->query(create_source('a', 'mine') . '; ALTER FOREIGN TABLE a OWNER TO attacher');
	is($attacher->query("SELECT lateweave_score('a', '$Q', 'b')"), 2, 'an owner without a role reads');
	refused($attacher, 'but changes no option',
		map { "ALTER FOREIGN TABLE a OPTIONS ($_)" } "SET store '$directory/store'", "SET store_id 'x'", "ADD writable 'true'");
	$attacher->query('DROP FOREIGN TABLE a');

	$owner->query('GRANT pg_read_server_files TO attacher');
	allowed($attacher, "with pg_read_server_files: $_", $create->($paths{$_})) foreach sort keys %paths;
	refused($attacher, "with it: $_", create_source('a', $leaving{$_})) foreach sort keys %leaving;
	refused($owner, "as superuser: $_", create_source('a', $leaving{$_})) foreach sort keys %leaving;
	refused($attacher, 'with it, for writing', create_source('a', 'mine', "writable 'true'"));
	$owner->query('GRANT pg_write_server_files TO attacher');
	allowed($attacher, 'with pg_write_server_files, for writing', $create->('mine', "writable 'true'"));
	like($owner->error(create_source('a', '')), qr/^ERROR:  22023: /, 'an empty path');

	# a link that is laid later
	$owner->query(create_source('later', 'mine'));
	rename "$inside/mine", "$inside/real" or die "could not rename: $!";
	symlink "$directory/store", "$inside/mine" or die "could not make a link: $!";
	foreach my $session ($owner, my $fresh = LwSession->new($node))
	{
		like($session->error("SELECT lateweave_score('later', '$Q', 'b')"), qr/^ERROR:  42501: .*\Q$inside\E/,
			'a link that leads out is followed by nobody');
	}
	unlink "$inside/mine";
	rename "$inside/real", "$inside/mine" or die "could not rename: $!";
	is($owner->query("SELECT lateweave_score('later', '$Q', 'b')"), 2, 'the directory is back');
};

subtest 'files that the server may not read' => sub {
	plan skip_all => 'root reads everything' if $> == 0;
	my $user = getpwuid($>);
	my $path = "$directory/other";
	my $score = "SELECT lateweave_score('o', '$Q', 'b')";

	foreach my $case ([ "$path/manifest.json", 0000, 0 ], [ $path, 0600, 0 ], [ "$path/segment-0.offsets.npy", 0200, 1 ])
	{
		my ($file, $mode, $only_new) = @$case;
		my $old = (stat $file)[2] & 07777;
		my $session = LwSession->new($node);
		my $text = sprintf('%04o', $mode);

		is($owner->query($score), 2, "before $file");
		chmod $mode, $file or die "could not chmod $file: $!";
		foreach my $in ($only_new ? $session : ($session, $owner))
		{
			my $error = $in->error($score);

			like($error, qr/^ERROR:  42501: .*\Q$path\E/, 'denied');
			like($error, qr/DETAIL:  .*\Q$file\E" belongs to user "$user" and has mode $text/, 'whose it is');
			like($error, qr/HINT:  .*0600/, 'why it may be');
		}
		is($session->query("SELECT error IS NOT NULL FROM lateweave_sources WHERE source = 'o'::regclass"), 't',
			'lateweave_sources has it as an error');
		chmod $old, $file or die "could not chmod $file: $!";
		is($_->query($score), 2, 'and back') foreach $session, $owner;
	}
};

$_->quit foreach $owner, $reader;
$node->stop;
done_testing();
