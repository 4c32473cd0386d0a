# Section files built in SQL: the bytes of golden ones, what is refused, who may build, and that nothing
# unfinished is ever left behind.
use strict;
use warnings;

use FindBin;
use JSON::PP;
use lib $FindBin::RealBin;

use LwSession;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = start_node('build');
my $sections = $golden =~ s/stores$/sections/r;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $data = $node->data_dir;
my $hash = 'sha256:' . '5e' x 32;
my $session = LwSession->new($node);

# The SQL of a call, as bytes; options are a hash, or JSON.
sub build
{
	my ($path, $query, $options, $more) = @_;

	$options = JSON::PP->new->encode({ embedding_model => 'm', model_hash => $hash, %$options }) if ref $options;
	my $sql = "SELECT bytes, content_hash FROM lateweave_build_section_file("
	  . join(', ', sql_text($path), sql_text($query), sql_text($options), $more // ()) . ')';
	utf8::encode($sql);
	return $sql;
}

# What lies in a directory.
sub files
{
	my ($path) = @_;

	opendir(my $handle, $path) or die "could not open \"$path\": $!";
	return join(' ', sort grep { !/^\.\.?$/ } readdir($handle));
}

sub refused
{
	my ($what, $error, $sql, $as) = @_;

	return like(($as // $session)->error($sql), $error, $what);
}

sub real_array
{
	return sql_text('{' . join(',', map { sprintf('%.9g', $_) } @_) . '}');
}

# Loads the inputs of a golden file into a table `chunks`; returns the options to build it with.
sub load_case
{
	my ($case) = @_;
	my $input = read_json("$sections/$case.input.json");
	my $options = $input->{options};
	my $npy = read_bytes("$sections/$case.rows.npy");
	my $header = 10 + unpack('v', substr($npy, 8, 2));
	my $dimension = $options->{embedding_dim};
	my @spaces = @{ $options->{spaces} // [] };
	my $blobs = delete $options->{blob_refs};
	my $blob_data = delete $options->{blob_data_hex};
	my $blob_spans = delete $options->{chunk_blob_spans};
	my @columns = ('ordinal', 'text', 'uri', 'start', '"end"', 'embedding', map { qq("space:$_->{name}") } @spaces);
	my @types = ('integer', 'bytea', 'text', 'numeric', 'numeric', 'real[]', ('real[]') x @spaces);
	my @rows;
	my $i = 0;

	push(@columns, 'blob_index', 'blob_start', 'blob_end'), push(@types, 'integer', 'bigint', 'bigint') if $blob_spans;
	foreach my $chunk (@{ $input->{chunks} })
	{
		my $text = $chunk->{canonical_text};
		my $row = substr($npy, $header + 4 * $dimension * $i, 4 * $dimension);
		my @values = ($i, undef, sql_text($chunk->{source_uri}), $chunk->{byte_start}, $chunk->{byte_end},
			real_array(unpack('f<*', $row)));

		utf8::encode($text);
		$values[1] = "'\\x" . unpack('H*', $text) . "'";
		push @values, real_array(@{ $_->{vectors}[$i] }) foreach @spaces;
		push @values, map { $_ // 'NULL' } @{ $blob_spans->[$i] }{qw(blob_ref_index byte_start byte_end)} if $blob_spans;
		push @rows, '(' . join(', ', @values) . ')';
		$i++;
	}
	$node->safe_psql('postgres',
		'DROP TABLE IF EXISTS chunks; CREATE TABLE chunks ('
		  . join(', ', map { "$columns[$_] $types[$_]" } 0 .. $#columns)
		  . '); INSERT INTO chunks VALUES ' . join(', ', @rows));
	delete $_->{vectors} foreach @spaces;
	$options->{blobs} = 'VALUES ' . join(', ', map {
			my $bytes = $blobs->[$_]{inlined} ? "'\\x$blob_data->[$_]'" : 'NULL';
			"(" . sql_text($blobs->[$_]{original_uri}) . ", '\\x" . substr($blobs->[$_]{content_hash}, 7)
			  . "'::bytea, $bytes\::bytea, $blobs->[$_]{byte_len})"
	} 0 .. $#$blobs) if $blobs;
	$options->{blobs} = "SELECT column1 AS uri, column2 AS sha256, column3 AS bytes, column4 AS byte_len FROM ($options->{blobs}) v"
	  if $blobs;
	$options->{producer} = 'urna 0.5.6';
	shift @columns;
	return ('SELECT ' . join(', ', @columns) . ' FROM chunks ORDER BY ordinal', JSON::PP->new->canonical->encode($options));
}

# Compressed sections have the reference's bytes only by this libzstd.
$session->query("LOAD 'lateweave'");
my $reference_zstd = read_bytes("/proc/$session->{pid}/maps") =~ m{/libzstd\.so\.1\.5\.7$}m;

subtest 'golden files' => sub {
	foreach my $case (qw(preset-exact float16-64-raw int4-384-raw odd-383-int8 hnsw-raw graph bm25-raw blobs
		text-unicode-raw mrl-int4 spans-limits spaces everything micro text-dictionary))
	{
		my ($query, $options) = load_case($case);
		my $expected = read_json("$sections/$case.expected.json");
		my $answer = $session->query(build("$directory/$case.urna", $query, $options));
		my $bytes = read_bytes("$directory/$case.urna");
		my $raw = !grep { $_->{encoding} == 1 || $_->{encoding} == 5 || $_->{encoding} == 10 } @{ $expected->{sections} };

		is($answer, length($bytes) . "|$expected->{content_hash}", "$case: size and content hash");
		ok($bytes eq read_bytes("$sections/$case.urna"), "$case: every byte") if $raw || $reference_zstd;
		$session->query("CREATE FOREIGN TABLE built (ordinal bigint, embedding real[]) SERVER lateweave OPTIONS (section_file "
			  . sql_text("$directory/$case.urna") . ')');
		is($session->query("SELECT check_name, detail FROM lateweave_verify('built') WHERE NOT ok"), '', "$case: verified");
		is($session->query("SELECT content_hash FROM lateweave_section_info('built')"), $expected->{content_hash},
			"$case: content hash, read");
		is($session->query('SELECT count(*) FROM built'), $session->query('SELECT count(*) FROM chunks'), "$case: rows");
		$session->query('DROP FOREIGN TABLE built');
	}
};

my $rows = 'SELECT i::text AS text, $$doc$$::text AS uri, i AS start, i + 1 AS "end", ARRAY[i, 1, 2, 3]::real[] AS embedding '
  . 'FROM generate_series(1, 300) i';

# The same with something else in the place of a column.
sub rows_with
{
	my ($from, $to) = @_;
	my $query = $rows;

	$query =~ s/\Q$from\E/$to/ or die "no $from";
	return $query;
}

subtest 'options' => sub {
	my $manifest = sub { my ($options, $query) = @_;
		$session->query(build("$directory/o.urna", $query // $rows, $options, 'true'));
		return decode_json($session->query("SELECT manifest FROM lateweave_section_info('o')")); };

	$session->query(build("$directory/o.urna", $rows, {}));
	$session->query("CREATE FOREIGN TABLE o (canonical_text text, embedding real[]) SERVER lateweave OPTIONS (section_file '$directory/o.urna')");
	my $plain = $manifest->({});
	is($plain->{chunker_version}, 'lateweave/1', 'the default of chunker_version');
	like($plain->{producer}, qr/^lateweave /, 'the producer');
	ok(!exists $plain->{created}, 'no time of creation');
	is($manifest->({ reproducible => JSON::PP::true })->{created}, '1970-01-01T00:00:00Z', 'reproducible');
	is($manifest->({ title => "T \x{e9}", authors => [ 'a', 'b' ] })->{authors}[1], 'b', 'descriptive members');
	$session->query(build("$directory/o.urna", $rows,
			qq({"embedding_model": "m", "model_hash": "$hash", "provenance": {"z": 1, "a": [1.50, {"k": null}], "z": 2}}), 'true'));
	like(read_bytes("$directory/o.urna"), qr/\Q{"z":1,"a":[1.5,{"k":null}],"z":2}\E/, 'provenance as it was given');
	my $wide = rows_with('ARRAY[i, 1, 2, 3]::real[]', '(SELECT array_agg(i + j)::real[] FROM generate_series(1, 300) j)');
	my $micro = $manifest->({ preset => 'micro' }, $wide);
	is("$micro->{dtype} $micro->{mrl_dim} $micro->{full_dim} $micro->{index_type}", 'int8 256 300 hnsw', 'preset micro');
	is($manifest->({ preset => 'micro', mrl_dim => 64 }, $wide)->{embedding_dim}, 64, 'which another mrl_dim overrides');
};

subtest 'overwriting' => sub {
	my $path = "$directory/kept.urna";

	$session->query(build($path, $rows, {}));
	my $first = read_bytes($path);
	refused('an existing file', qr/58P02: file ".*kept\.urna" already exists.*overwrite => true/s, build($path, $rows, { title => 'x' }));
	ok(read_bytes($path) eq $first, 'it is untouched');
	$session->query(build($path, $rows, { title => 'x' }, 'true'));
	ok(read_bytes($path) ne $first, 'overwritten when that is asked for');
	refused('a failure', qr/22012/, build($path, rows_with('i::text', '(1 / (299 - i))::text'), {}, 'true'));
	like(read_bytes($path), qr/"title":"x"/, 'a failure leaves it as it was');
	is((stat($path))[2] & 07777, 0600 | ((stat($directory))[2] & 0644), 'who may look into the directory may read it');
};

subtest 'refused' => sub {
	my $path = "$directory/never.urna";
	my $before = files($directory);

	refused("NULL as $_->[0]", qr/22004: $_->[0] must not be NULL/,
		"SELECT lateweave_build_section_file($_->[1])")
	  foreach [ 'path', "NULL, '', '{}'" ], [ 'query', "'x', NULL, '{}'" ], [ 'options', "'x', '', NULL" ],
	  [ 'overwrite', "'x', '', '{}', NULL" ];
	refused('an unknown option', qr/22023: section file ".*never\.urna" cannot be built: .*option "titel"/, build($path, $rows, { titel => 'x' }));
	refused('an unknown preset', qr/22023: .*preset "small"/, build($path, $rows, { preset => 'small' }));
	refused('no model', qr/22023: .*ManifestInvalid\./s, build($path, $rows, { embedding_model => '' }));
	refused('no hash of a model', qr/22023: .*InvalidModelHash\./s, build($path, $rows, { model_hash => 'x' }));
	refused('the placeholder', qr/22023: .*allow_placeholder_model_hash/s, build($path, $rows, { model_hash => 'sha256:' . '0' x 64 }));
	refused('a dimension for micro', qr/22023: .*mrl_dim/, build($path, $rows, { preset => 'micro' }));
	refused('a dimension for int4', qr/22023: .*InvalidInput\./s, build($path, $rows, { dtype => 'int4' }));
	refused('no rows', qr/22023: .*ManifestInvalid\./s, build($path, "$rows OFFSET 300", {}));
	refused('a column that is missing', qr/42703: .*"uri" \(text\)/, build($path, rows_with('AS uri', 'AS text_uri') =~ s/\$\$doc\$\$::text AS text_uri, //r, {}));
	refused('a column of another type', qr/42804: .*"embedding".*real\[\].*double precision\[\]/, build($path, rows_with('::real[]', '::float8[]'), {}));
	refused('a column twice', qr/42701: .*"text"/, build($path, rows_with('AS uri', 'AS text'), {}));
	refused('a column without a meaning', qr/22023: .*"extra"/, build($path, rows_with('SELECT', 'SELECT 1 AS extra,'), {}));
	refused('a space that is not listed', qr/22023: .*"space:a"/, build($path, rows_with('SELECT', 'SELECT ARRAY[1]::real[] AS "space:a",'), {}));
	refused('a space without a column', qr/42703: .*"space:a"/,
		build($path, $rows, { spaces => [ { name => 'a', dtype => 'int8', model_hash => $hash } ] }));
	refused('blobs that are not given', qr/22023: .*"blob_index".*option blobs/, build($path, rows_with('SELECT', 'SELECT 0 AS blob_index,'), {}));
	refused('NULL', qr/22004: column "text" is NULL in row 7/, build($path, rows_with('i::text', 'nullif(i, 7)::text'), {}));
	refused('a component that is NULL', qr/22004: column "embedding".* in row 7/, build($path, rows_with('[i,', '[nullif(i, 7),'), {}));
	refused('a negative start', qr/22003: column "start".* row 1/, build($path, rows_with('i AS start', '-i AS start'), {}));
	refused('a start that is no integer', qr/22003: column "start".* row 1/, build($path, rows_with('i AS start', 'i - 0.5 AS start'), {}));
	refused('an end before the start', qr/22000: row 3 .*InvalidInput\./s, build($path, rows_with('i + 1 AS', 'CASE i WHEN 3 THEN 0 ELSE i END AS'), {}));
	refused('another dimension', qr/22000: row 5 .*DimensionMismatch\./s, build($path, rows_with('ARRAY[i, 1, 2, 3]', 'CASE i WHEN 5 THEN ARRAY[1] ELSE ARRAY[1, 2] END'), {}));
	refused('NaN', qr/22000: row 5 .*InvalidEmbeddingValue\./s, build($path, rows_with('ARRAY[i,', q(ARRAY[CASE i WHEN 5 THEN 'NaN' ELSE i::float8 END,)), {}));
	refused('what float16 cannot hold', qr/22000: row 299 .*InvalidEmbeddingValue\./s,
		build($path, rows_with('[i,', '[CASE i WHEN 299 THEN 65520 ELSE i END,'), { dtype => 'float16' }));
	refused('bytes that are no UTF-8', qr/22000: row 1 .*UTF-8.*InvalidInput\./s, build($path, rows_with('i::text', "'\\xff'::bytea"), {}));
	refused('a blob with another hash', qr/22000: row 1 .*BlobHashMismatch\./s,
		build($path, $rows, { blobs => "SELECT 'u'::text AS uri, decode(repeat('00', 32), 'hex') AS sha256, '\\x01'::bytea AS bytes" }));
	refused('a blob that is not there', qr/22000: row 1 .*InvalidInput\./s,
		build($path, rows_with('SELECT', 'SELECT 1 AS blob_index, 0 AS blob_start, 1 AS blob_end,'),
			{ blobs => "SELECT 'u'::text AS uri, NULL::bytea AS sha256, '\\x01'::bytea AS bytes" }));
	refused('no query', qr/42P11/, build($path, 'CREATE TABLE never ()', {}));
	refused('two queries', qr/42P11/, build($path, 'SELECT 1; SELECT 2', {}));
	refused('a directory', qr/42809/, build($directory, $rows, {}, 'true'));
	refused('no such directory', qr/58P01/, build("$directory/none/x.urna", $rows, {}));
	is(files($directory), $before, 'nothing is left of all that');
	is($session->query("SELECT to_regclass('never') IS NULL"), 't', 'and nothing was done');
};

subtest 'paths and privileges' => sub {
	$node->safe_psql('postgres', 'CREATE ROLE writer LOGIN; CREATE ROLE other LOGIN; GRANT pg_write_server_files TO writer; '
		  . 'GRANT pg_read_server_files TO other');
	my $writer = LwSession->new($node, user => 'writer');
	my $other = LwSession->new($node, user => 'other');

	mkdir "$data/lateweave" or die "could not make a directory: $!";
	mkdir "$data/lateweave/kb" or die "could not make a directory: $!";
	symlink $directory, "$data/lateweave/out" or die "could not make a link: $!";
	$writer->query(build('kb/w.urna', $rows, {}));
	ok(-f "$data/lateweave/kb/w.urna", 'a relative path lies under lateweave.directory');
	$writer->query(build("$directory/w.urna", $rows, {}));
	refused('a role that may not write', qr/42501: permission denied to write/, build('kb/o.urna', $rows, {}), $other);
	refused('a role that may not write, anywhere', qr/42501/, build("$directory/other.urna", $rows, {}), $other);
	refused('a path that leaves', qr/42501/, build('../x.urna', $rows, {}));
	refused('a link that leaves', qr/42501/, build('out/x.urna', $rows, {}));
	refused('no path', qr/22023/, build('', $rows, {}));
	refused('what the role may not read', qr/42501: .*chunks/, build("$directory/x.urna", 'SELECT * FROM chunks', {}), $writer);
	ok(!-e "$directory/x.urna" && !-e "$data/x.urna", 'nothing was written');
};

subtest 'a failure that is caught' => sub {
	my $before = files($directory);

	$session->query("CREATE FUNCTION try_build(query text) RETURNS text LANGUAGE plpgsql AS \$f\$
		BEGIN
			RETURN (lateweave_build_section_file('$directory/caught.urna', query, '{\"embedding_model\": \"m\", \"model_hash\": \"$hash\"}')).bytes;
		EXCEPTION WHEN OTHERS THEN
			RETURN SQLSTATE;
		END \$f\$");
	is($session->query("BEGIN; SELECT try_build(" . sql_text(rows_with('i::text', '(1 / (299 - i))::text')) . ')'), '22012', 'its SQLSTATE');
	is(files($directory), $before, 'nothing is left though the transaction goes on');
	like($session->query("SELECT try_build(" . sql_text($rows) . ')'), qr/^\d{4,}$/, 'another try');
	$session->query('ROLLBACK');
	ok(-s "$directory/caught.urna", 'what was built stays');
};

# Nothing may be left of what takes long, wherever it is stopped.
subtest 'interrupts' => sub {
	my $before = files($directory);
	my %long = (
		'a query' => build("$directory/long.urna", rows_with('i::text', 'pg_sleep(i * 0.01)::text'), {}),
		'an index' => build("$directory/long.urna", 'SELECT * FROM many', { with_hnsw => JSON::PP::true }),
		'texts' => build("$directory/long.urna", 'SELECT * FROM many_texts', { preset => 'compressed' }));

	$node->safe_psql('postgres', 'CREATE TABLE many AS SELECT i::text AS text, i::text AS uri, i AS start, i AS "end", '
		  . '(SELECT array_agg(sin(i * j))::real[] FROM generate_series(1, 64) j) AS embedding FROM generate_series(1, 20000) i');
	$node->safe_psql('postgres', q(CREATE TABLE many_texts AS SELECT (SELECT string_agg(md5((i * j)::text), ' ') FROM generate_series(1, 100) j) AS text, )
		  . q(i::text AS uri, i AS start, i AS "end", ARRAY[1]::real[] AS embedding FROM generate_series(1, 5000) i));
	foreach my $what (sort keys %long)
	{
		my $begin = time;

		$session->query('SET statement_timeout = 1500');
		refused("$what is cancelled", qr/57014/, $long{$what});
		cmp_ok(time - $begin, '<', 10, 'soon');
		$session->query('RESET statement_timeout');
		is(files($directory), $before, 'nothing is left of it');

		my $victim = LwSession->new($node);
		$victim->{in} .= "$long{$what};\n";
		$victim->{run}->pump_nb;
		$node->poll_query_until('postgres', "SELECT state = 'active' FROM pg_stat_activity WHERE pid = $victim->{pid}");
		$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_ls_dir(" . sql_text($directory) . ") n WHERE n LIKE 'long.urna.tmp%'");
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($victim->{pid})");
		ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $victim->{pid}"),
			"$what ends with its session");
		is(files($directory), $before, 'nothing is left of it');
	}
};

subtest 'another encoding' => sub {
	$node->safe_psql('postgres', "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
	$node->safe_psql('latin', 'CREATE EXTENSION lateweave');
	my $latin = LwSession->new($node, dbname => 'latin');
	my $query = rows_with('i::text', 'chr(233)::text');

	$latin->query(build("$directory/latin.urna", $query, {}));
	is($latin->query("CREATE FOREIGN TABLE l (canonical_text text, canonical_bytes bytea) SERVER lateweave OPTIONS "
			  . "(section_file '$directory/latin.urna'); SELECT DISTINCT canonical_bytes, ascii(canonical_text) FROM l"),
		'\xc3a9|233', 'texts are UTF-8 in the file');
};

is(files("$data/lateweave/kb"), 'w.urna', 'nothing else lies beside what was built');

subtest 'the first statement of a session, preloaded' => sub {
	$session->quit;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'lateweave'");
	$node->restart;
	my $first = LwSession->new($node);
	like($first->query(build("$directory/first.urna", rows_with('i::text', "'x'::text"), {})), qr/^\d+\|sha256:/, 'builds');
	$first->quit;
	$first = LwSession->new($node);
	like($first->error(build("$directory/bad.urna", rows_with('i::text', 'NULL::text'), {})), qr/^ERROR:  22004: /, 'or says what is wrong');
	my $inner = build("$directory/inner.urna", rows_with('i::text', "'y'::text"), {});
	like($first->query(build("$directory/outer.urna", rows_with('i::text', "(SELECT content_hash FROM ($inner) b)"), {})), qr/^\d+\|sha256:/, 'one that builds another');
	$first->quit;
	is(files($directory) =~ /tmp/ ? files($directory) : '', '', 'nothing else is left');
	unlike(slurp_file($node->logfile), qr/could not remove file/, 'nor said');
};

$node->stop;
done_testing();
