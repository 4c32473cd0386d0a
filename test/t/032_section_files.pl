# A section file that is replaced, cut or missing; who may read and attach one; and databases of other encodings.
use strict;
use warnings;

use File::Copy qw(copy);
use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('section_files');
my $sections = $golden =~ s/stores$/sections/r;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $columns = 'ordinal bigint, chunk_id text, canonical_text text, canonical_bytes bytea, source_uri text, '
  . 'byte_start bigint, byte_end bigint, citation text, embedding real[]';
my %expected = map { $_ => read_json("$sections/$_.expected.json") } qw(everything spaces float32-768-zstd text-unicode-zstd);

# Puts a golden file into the place of another, as a writer should: whole, by a rename.
sub put_file
{
	my ($case, $name) = @_;

	copy("$sections/$case.urna", "$directory/new") or die "could not copy $case: $!";
	chmod 0644, "$directory/new";
	rename "$directory/new", "$directory/$name" or die "could not rename: $!";
	return "$directory/$name";
}

sub create_section
{
	my ($table, $path, @options) = @_;

	return "CREATE FOREIGN TABLE $table ($columns) SERVER lateweave OPTIONS (section_file "
	  . sql_text($path) . join('', map { ", $_" } @options) . ')';
}

sub error_like
{
	my ($session, $sql, $wanted, $name) = @_;

	return like($session->error($sql), $wanted, $name);
}

my $session = LwSession->new($node);
my $other = LwSession->new($node);

subtest 'another file takes the place' => sub {
	my $path = put_file('everything', 'kb.urna');
	my $hash = sub { $_[0]->query("SELECT content_hash FROM lateweave_section_info('kb')") };

	$session->query(create_section('kb', $path));
	is($hash->($session), $expected{everything}{content_hash}, 'the first file');
	$session->query('BEGIN; DECLARE c CURSOR FOR SELECT ordinal FROM kb; FETCH 1 FROM c');
	$other->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM kb");
	put_file('spaces', 'kb.urna');
	is($session->query('SELECT count(*) FROM kb'), 20, 'the next statement reads the other');
	is($session->query('FETCH ALL FROM c') =~ tr/\n//, 62, 'a cursor reads on in the first one');
	is($session->query("COMMIT; SELECT count(*) FROM lateweave_search('kb', (SELECT embedding::multivector FROM kb WHERE ordinal = 0), 1000)"),
		20, 'and so do functions');
	is($other->query('SELECT count(*) FROM kb'), 64, 'REPEATABLE READ stays with the first');
	is($hash->($other), $expected{everything}{content_hash}, 'in functions too');
	$other->query('COMMIT');
	is($hash->($other), $expected{spaces}{content_hash}, 'until the transaction ends');

	my $hits = "SELECT count(*) FROM kb a JOIN kb b ON a.chunk_id = b.chunk_id";
	is($session->query($hits), 20, 'a join');
	$session->query("CREATE FOREIGN TABLE kb2 (ordinal bigint) SERVER lateweave OPTIONS (section_file '$path')");
	$session->query('SELECT count(*) FROM kb2');
	my $count = () = $session->query("SELECT pg_read_file('/proc/self/maps')") =~ /kb\.urna/g;
	is($count, 1, 'two tables map one file, and the first one is mapped no longer');

	my $calls = calls_of($session, 'mmap', 'SELECT count(*) FROM kb');
  SKIP: {
		skip 'strace does not attach', 1 unless defined $calls;
		is(() = $calls =~ /kb\.urna/g, 1, 'a statement looks at the file once, with one stat') or diag($calls);
	}
	$session->query('DROP FOREIGN TABLE kb, kb2');
};

subtest 'content_hash' => sub {
	my $path = put_file('everything', 'pinned.urna');

	$session->query(create_section('pinned', $path, "content_hash '$expected{everything}{content_hash}'"));
	is($session->query('SELECT count(*) FROM pinned'), 64, 'the content that is meant');
	put_file('spaces', 'pinned.urna');
	foreach my $sql ('SELECT count(*) FROM pinned', "SELECT * FROM lateweave_sections('pinned')")
	{
		error_like($session, $sql,
			qr/^ERROR:  55000: .*\Q$expected{spaces}{content_hash}\E.*\Q$expected{everything}{content_hash}\E.*\nDETAIL:  ContentHashMismatch/m,
			"other content: $sql");
	}
	is($session->query("SELECT check_name FROM lateweave_verify('pinned') WHERE NOT ok"), 'ContentHashMismatch', 'lateweave_verify');
	like($session->query("SELECT error FROM lateweave_sources WHERE source = 'pinned'::regclass"), qr/was replaced/, 'lateweave_sources');
	$session->query("ALTER FOREIGN TABLE pinned OPTIONS (SET content_hash '$expected{spaces}{content_hash}')");
	is($session->query('SELECT count(*) FROM pinned'), 20, 'until the option is changed');
	error_like($session, "ALTER FOREIGN TABLE pinned OPTIONS (SET content_hash 'x')", qr/^ERROR:  22023: /m, 'what is no hash');
	$session->query('DROP FOREIGN TABLE pinned');
};

subtest 'missing, damaged, cut' => sub {
	my (undef, $said) = $session->send(create_section('gone', "$directory/none.urna"));

	like($said, qr/^WARNING:  58P01: /m, 'a table over nothing is a WARNING');
	error_like($session, 'SELECT count(*) FROM gone', qr/^ERROR:  58P01: .*none\.urna/m, 'and an ERROR when it is used');
	error_like($session, "SELECT * FROM lateweave_verify('gone')", qr/^ERROR:  58P01: /m, 'also by lateweave_verify');
	like($session->query("SELECT kind, error FROM lateweave_sources WHERE source = 'gone'::regclass"),
		qr/^section_file\|could not/, 'a row of lateweave_sources');
	like(($session->send('ANALYZE gone'))[1], qr/^WARNING:  58P01: /m, 'ANALYZE goes on');
	put_file('everything', 'none.urna');
	is($session->query('SELECT count(*) FROM gone'), 64, 'it appears');
	mkdir "$directory/dir.urna";
	$session->send(create_section('dir', "$directory/dir.urna"));
	error_like($session, 'SELECT count(*) FROM dir', qr/^ERROR:  XX001: .*\nDETAIL:  NotRegular/m, 'a directory is none');

	my $path = put_file('float32-768-zstd', 'cut.urna');
	$session->query(create_section('cut', $path));
	$session->query('BEGIN; DECLARE c CURSOR FOR SELECT ordinal, embedding FROM cut; FETCH 1 FROM c');
	truncate $path, 4096 or die "could not truncate: $!";
	error_like($session, 'FETCH ALL FROM c', qr/^ERROR:  XX001: .*truncated/m, 'cut under a cursor');
	$session->query('ROLLBACK');
	error_like($session, 'SELECT count(*) FROM cut', qr/^ERROR:  XX001: /m, 'and after it');
	put_file('float32-768-zstd', 'cut.urna');
	is($session->query('SELECT count(*) FROM cut'), $expected{'float32-768-zstd'}{n_embeddings}, 'restored');
	$session->query('DROP FOREIGN TABLE gone, dir, cut');
};

subtest 'privileges' => sub {
	my $path = put_file('everything', 'private.urna');
	my $query = "(SELECT ('{' || repeat('1,', 63) || '1}')::real[]::multivector)";
	my $id = "'$expected{everything}{chunks}[0]{id}'";
	my @reads = (
		'SELECT * FROM private',
		(map { "SELECT * FROM lateweave_$_('private')" } qw(section_info sections spaces blobs verify)),
		"SELECT lateweave_blob('private', 0)",
		"SELECT * FROM lateweave_neighbors('private', $id)",
		"SELECT * FROM lateweave_section_search('private', $query, 1)",
		"SELECT * FROM lateweave_search('private', $query, 1)",
		"SELECT lateweave_score('private', $query, $id)",
		"SELECT ${id}::text \@# maxsim_query('private', $query)",
		"SELECT * FROM lateweave_rerank('private', $query, ARRAY[$id]::text[])",
		"SELECT * FROM lateweave_fetch('private', ARRAY[$id]::text[])",
		"SELECT * FROM lateweave_explain('private', $query, $id)");

	$session->query('CREATE ROLE reader LOGIN; ' . create_section('private', $path));
	my $reader = LwSession->new($node, user => 'reader');
	my $cite = "SELECT count(*) FROM lateweave_cite('$expected{everything}{chunks}[0]{citation}')";

	check('nothing without SELECT', grep { $reader->error($_) !~ /^ERROR:  42501: /m } @reads);
	is($reader->query($cite), 0, 'nor by citation');
	error_like($reader, "SET ROLE reader; " . create_section('mine', $path), qr/^ERROR:  42501: /m, 'no attaching');
	$session->query('GRANT SELECT ON private TO reader');
	check('all with it', grep { $reader->error($_) } @reads);
	is($reader->query($cite), 1, 'a citation is found');
	$session->query('REVOKE SELECT ON private FROM reader');
	check('revoked', grep { $reader->error($_) !~ /^ERROR:  42501: /m } @reads);
	$session->query('DROP FOREIGN TABLE private');
};

subtest 'encodings' => sub {
	my $path = put_file('text-unicode-zstd', 'unicode.urna');
	my $n = $expected{'text-unicode-zstd'}{n_embeddings};

	$session->query("CREATE DATABASE latin1 ENCODING LATIN1 LOCALE 'C' TEMPLATE template0");
	$session->query("CREATE DATABASE ascii ENCODING SQL_ASCII LOCALE 'C' TEMPLATE template0");
	foreach my $database (qw(postgres latin1 ascii))
	{
		my $in = LwSession->new($node, dbname => $database);
		my $error;

		$in->query('CREATE EXTENSION lateweave') if $database ne 'postgres';
		$in->query(create_section('u', $path));
		is($in->query('SELECT count(canonical_bytes) FROM u'), $n, "bytes in $database");
		error_like($in, 'SELECT canonical_text FROM u',
			qr/^ERROR:  22(021|P05): text of chunk "sha256:[0-9a-f]{64}" in ".*" (contains U\+0000|has no equivalent)/m,
			"a text that $database cannot hold");
		my $plain = $in->query("SELECT array_agg(ordinal) FROM u WHERE position('\\x00'::bytea IN canonical_bytes) = 0");
		my $texts = "SELECT count(*) FROM u WHERE ordinal = ANY ('$plain') AND canonical_bytes = convert_to(canonical_text, 'UTF8')";

		if ($database eq 'latin1')
		{
			error_like($in, $texts, qr/^ERROR:  22P05: /m, 'LATIN1 lacks characters');
		}
		elsif ($database eq 'postgres')
		{
			cmp_ok($in->query($texts), '>', 0, 'texts without U+0000');
			is($in->query($texts), $plain =~ tr/,// + 1, 'all of them');
		}
		else
		{
			is($in->query("SELECT count(*) FROM u WHERE ordinal = ANY ('$plain') AND length(canonical_text) = length(canonical_bytes)"),
				$plain =~ tr/,// + 1, 'SQL_ASCII takes bytes as they are');
		}
	}
};

unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal/, 'no crash in the log');
$node->stop;

done_testing();
