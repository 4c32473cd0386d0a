# Derived files: whatever happens to them, the answers stay what they are; sessions, databases and restarts
# share them; and they go when what they belong to is gone.
use strict;
use warnings;

use Fcntl qw(:flock O_RDWR O_CREAT);
use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwStore;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $DOCUMENTS = 3000;
my $Q = $LwStore::QUERY;
my $directory = PostgreSQL::Test::Utils::tempdir();
my $node = PostgreSQL::Test::Cluster->new('derived');

$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', 'fsync = off');
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION lateweave');
my $derived = $node->data_dir . '/lateweave/pgsql_tmp_derived';

# Gives files a time that is settled: what is younger is not remembered.
sub settle
{
	my (@paths) = @_;

	utime(1600000000, 1600000000, @paths) == @paths or die "could not set times: $!";
	return;
}

sub create_store
{
	my ($name, $documents, %options) = @_;
	my $store = LwStore->create("$directory/$name", encoding => 'int8', %options);

	$store->put(map { ("d$_", $_) } 0 .. $documents - 1);
	$store->commit;
	settle(glob("$directory/$name/*"));
	$node->safe_psql('postgres', create_source($name, $store->{path}));
	return $store;
}

# The names of derived files that begin so.
sub files
{
	my ($kind, $where) = @_;

	return map { s,.*/,,r } sort glob(($where // $derived) . "/$kind-*");
}

sub inode
{
	return (stat("$derived/$_[0]"))[1];
}

sub write_bytes
{
	my ($path, $bytes) = @_;

	open(my $file, '>:raw', $path) or die "could not open $path: $!";
	print $file $bytes;
	close $file or die "could not write $path: $!";
	return;
}

# Documents present and absent, by score, by scan, by rerank; and the line that this gives.
sub statement
{
	my ($table) = @_;

	return "SELECT (SELECT string_agg(coalesce(lateweave_score('$table', '$Q', 'd' || g * 100)::text, '-'), ' ') "
	  . "FROM generate_series(0, 31) g), "
	  . "(SELECT sum(maxsim(maxsim_query('$Q'), tokens)::bigint) || ' ' || count(DISTINCT id) FROM $table), "
	  . "(SELECT string_agg(id, ' ' ORDER BY rank) FROM lateweave_rerank('$table', '$Q', ARRAY(SELECT 'd' || g FROM generate_series(2000, 4000) g), 3))";
}

sub answer
{
	my ($documents) = @_;
	my $sum = $documents * ($documents - 1) / 2;

	return join(' ', map { $_ * 100 < $documents ? $_ * 100 : '-' } 0 .. 31)
	  . "|$sum $documents|" . join(' ', map { 'd' . ($documents - $_) } 1 .. 3);
}

# What a new session answers.
sub complaint
{
	my ($what, $table) = @_;
	my ($status, $out, $err) = $node->psql('postgres', statement($table // 'laws'));

	return if $status == 0 && $out eq answer($DOCUMENTS);
	return "$what: $out $err";
}

my $store = create_store('laws', $DOCUMENTS);
my @files = files('segment');

# Made once, by whoever comes first
is(@files, 1, 'a derived file is made');
my $file = $files[0];
my $path = "$derived/$file";
my $inode = inode($file);
is((stat($path))[2] & 0777, 0600, 'for the server alone');
is($node->safe_psql('postgres', statement('laws')), answer($DOCUMENTS), 'a session answers');
is(inode($file), $inode, 'from it');
create_store('few', 999);
is(files('segment'), 1, 'a small store needs none');

# Whether a session has this derived file mapped.
sub has_mapped
{
	my ($session, $number) = @_;

	return scalar grep { m,\s\Q$number\E\s.*/pgsql_tmp_derived/, } split(/\n/, slurp_file("/proc/$session->{pid}/maps"));
}

# Damage
my $whole = read_bytes($path);
my (@complaints, @unmended);
foreach my $at (0, 8, 60, 300, 900, 1400, 4096, 4100, map { 8192 + int((length($whole) - 8193) * $_ / 40) } 0 .. 40)
{
	my $damaged = $whole;

	substr($damaged, $at, 1) = chr(ord(substr($whole, $at, 1)) ^ 0x40);
	write_bytes($path, $damaged);
	push @complaints, complaint("byte $at flipped");
	push @complaints, complaint("after byte $at was flipped");
	push @unmended, "byte $at" if read_bytes($path) ne $whole && ord(substr($whole, $at, 1)) != 0;
}
check('a flipped byte', @complaints);
check('is mended', @unmended);
@complaints = ();
foreach my $size (0, 100, 4095, 4096, 8192, 30000, length($whole) - 1)
{
	truncate($path, $size) or die "could not truncate: $!";
	push @complaints, complaint("cut to $size"), complaint("after a cut to $size");
	push @complaints, "cut to $size stays" if read_bytes($path) ne $whole;
}
check('a file cut short', @complaints);

create_store('others', $DOCUMENTS, scale => 2);
my ($other) = grep { $_ ne $file } files('segment');
write_bytes($path, read_bytes("$derived/$other"));
check('that of another store', complaint('swapped'), complaint('after that'));
is(read_bytes($path), $whole, 'is not taken for it');

chmod 0, $path;
check('one that cannot be read', complaint('mode 0000'));
is((stat($path))[2] & 0777, 0600, 'is made anew');

# While sessions have it mapped
my $session = LwSession->new($node);
my $score = "SELECT lateweave_score('laws', '$Q', 'd17')";
is($session->query($score), 17, 'a session has it mapped');
ok(has_mapped($session, inode($file)), 'says the system');
truncate($path, 5000);
is($session->query(statement('laws')), answer($DOCUMENTS), 'and answers after it was cut');
is($session->query($score), 17, 'also later');
$session->quit;
$session = LwSession->new($node);
is($session->query($score), 17, 'another session');
unlink $path;
is($session->query(statement('laws')), answer($DOCUMENTS), 'one that was deleted stays readable');
check('the next session', complaint('makes it anew'));
$session->quit;

# The directory
SKIP:
{
	skip 'this user may write everywhere', 4 if $> == 0;
	$inode = inode($file);
	chmod 0500, $derived;
	check('a directory that cannot be written', complaint('read-only'));
	is(inode($file), $inode, 'is read');
	chmod 0700, $derived;
	unlink $path;
	chmod 0500, $derived;
	check('and without the file', complaint('read-only, no file'));
	ok(!-e $path, 'stays as it is');
	chmod 0700, $derived;
}
system('rm', '-rf', $derived);
check('no directory', complaint('it is made'));
ok(-e $path, 'is made');
system('rm', '-rf', $derived);
write_bytes($derived, 'x');
check('a file in its place', complaint('not a directory'));
unlink $derived;
check('and again', complaint('again'));

# Two sessions at once: both wait for the lock that this process holds, then one makes it
my @sessions = map { LwSession->new($node) } 1 .. 3;
unlink $path;
sysopen(my $lock, "$path.new", O_RDWR | O_CREAT, 0600) or die "could not create: $!";
flock($lock, LOCK_EX) or die "could not lock: $!";
foreach my $one (@sessions)
{
	$one->{in} .= "$score;\n";
	$one->{run}->pump_nb while length $one->{in};
}
my $waiting = "SELECT count(*) = %d FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%%d17%%' AND pid <> pg_backend_pid()";
ok($node->poll_query_until('postgres', sprintf($waiting, 3)), 'three sessions wait for one who makes it');
usleep(100_000);
ok(!-e $path, 'and do not make it themselves');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($sessions[2]{pid})");
ok($node->poll_query_until('postgres', sprintf($waiting, 2)), 'who is cancelled leaves');
like(($sessions[2]->send('SELECT 1'))[1], qr/ERROR:  57014/, 'and says so');
close $lock;
is(($sessions[$_]->send('SELECT 1'))[0], "17\n1", "session $_ answers") foreach 0, 1;
ok(has_mapped($sessions[$_], inode($file)), "session $_ has the one file") foreach 0, 1;
is(glob("$derived/*.new"), undef, 'nothing else is left');

# What others left
write_bytes("$derived/segment-0123456789abcdef.new", 'died');
write_bytes("$derived/segment-0123456789abcdef", 'nothing');
write_bytes("$derived/mine", 'of somebody else');
unlink $path;
check('a session', complaint('makes it'));
ok(!-e "$derived/segment-0123456789abcdef.new" && !-e "$derived/segment-0123456789abcdef", 'removes what nobody needs');
ok(-e "$derived/mine", 'and no more');

# Databases, restarts, copies
$inode = inode($file);
$node->safe_psql('postgres', 'CREATE DATABASE second');
$node->safe_psql('second', 'CREATE EXTENSION lateweave; ' . create_source('laws', $store->{path}));
is($node->safe_psql('second', statement('laws')), answer($DOCUMENTS), 'another database');
is(inode($file), $inode, 'shares it');
$_->quit foreach @sessions;
$node->restart;
$session = LwSession->new($node);
is($session->query($score), 17, 'a restarted server');
ok(inode($file) == $inode && has_mapped($session, $inode), 'has it still');

$node->backup('copy');
ok(!-e $node->backup_dir . '/copy/lateweave/pgsql_tmp_derived', 'a base backup leaves it out');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
is($standby->safe_psql('postgres', statement('laws')), answer($DOCUMENTS), 'a standby answers');
is(join(' ', files('segment', $standby->data_dir . '/lateweave/pgsql_tmp_derived')), $file, 'and has its own');
$standby->stop;

# A segment that is gone
$store->compact;
$store->commit;
$store->reclaim;
settle(glob("$store->{path}/*"));
is($session->query(statement('laws')), answer($DOCUMENTS), 'another segment');
my @now = grep { $_ ne $other } files('segment');
ok(@now == 1 && $now[0] ne $file, 'has a derived file, and the old one is gone') or diag("@now");

# Section files
my $hash = 'sha256:' . '5e' x 32;
my $kb = "$directory/kb.urna";
my $last = 2000;
$node->safe_psql('postgres', <<"EOM");
SELECT lateweave_build_section_file('$kb', \$\$
	SELECT 'text ' || t AS text, 'doc' AS uri, t AS start, t + 1 AS "end",
		ARRAY(SELECT sin(g * i * 0.77)::real FROM generate_series(1, 256) i) AS embedding
	FROM (SELECT g, CASE WHEN g % 500 = 0 THEN 7 ELSE g END AS t FROM generate_series(1, $last) g) s ORDER BY g\$\$,
	'{"embedding_model": "m", "model_hash": "$hash"}');
CREATE FOREIGN TABLE kb (ordinal bigint, chunk_id text, canonical_text text, citation text) SERVER lateweave OPTIONS (section_file '$kb');
EOM
settle($kb);
my $vector = "ARRAY(SELECT sin(1234 * i * 0.77)::real FROM generate_series(1, 256) i)::multivector";
my $id = $node->safe_psql('postgres', 'SELECT chunk_id FROM kb WHERE ordinal = 6');
my $section = "SELECT (SELECT string_agg(ordinal::text, ' ' ORDER BY ordinal) FROM kb WHERE chunk_id = '$id'), "
  . "(SELECT count(*) FROM kb WHERE chunk_id IN ('x', '')), (SELECT count(DISTINCT chunk_id) FROM kb), "
  . "(SELECT ordinal FROM kb WHERE chunk_id = (SELECT id FROM lateweave_search('kb', $vector, 1)))";
my $found = '6 499 999 1499 1999|0|1996|1233';

is($node->safe_psql('postgres', $section), $found, 'chunks by id, twins too, and a search');
is(join(' ', map { scalar files($_) } 'chunks', 'checks'), '1 1', 'are remembered');
foreach my $kind ('chunks', 'checks')
{
	my ($name) = files($kind);
	my $content = read_bytes("$derived/$name");

	@complaints = ();
	foreach my $at (0, 300, 4096, 8192, map { 8192 + int((length($content) - 8193) * $_ / 25) } 1 .. 25)
	{
		my $damaged = $content;

		substr($damaged, $at, 1) = chr(ord(substr($content, $at, 1)) ^ 0x40);
		write_bytes("$derived/$name", $damaged);
		push @complaints, "byte $at" if $node->safe_psql('postgres', $section) ne $found;
	}
	truncate("$derived/$name", 9000);
	push @complaints, 'cut' if $node->safe_psql('postgres', $section) ne $found;
	check("damaged $kind", @complaints);
	is($node->safe_psql('postgres', $section), $found, 'and once more');
	is(length(read_bytes("$derived/$name")), length($content), 'are mended');
}

# Flips a bit of the last component of an embedding, in the file itself, and leaves size and time as they were.
sub flip
{
	my $content = read_bytes($kb);
	my $row = $node->safe_psql('postgres', "SELECT file_offset FROM lateweave_sections('kb') WHERE section_id = 4") + 1024 * 100;

	substr($content, $row, 1) = chr(ord(substr($content, $row, 1)) ^ 0x01);
	open(my $handle, '+<:raw', $kb) or die "could not open: $!";
	print $handle $content;
	close $handle;
	settle($kb);
	return;
}

my $verify = "SELECT bool_and(ok), max(check_name) FILTER (WHERE NOT ok) FROM lateweave_verify('kb')";
my $checked = 'SET lateweave.verify_on_open = on';
is($node->safe_psql('postgres', $verify), 't|', 'a verified file');
flip();
is($node->safe_psql('postgres', $section), $found, 'damaged behind the back of all: nobody checks it again');
is($node->safe_psql('postgres', "$checked; $section"), $found, 'not with verify_on_open either');
is($node->safe_psql('postgres', $verify), 'f|SectionChecksumMismatch', 'but lateweave_verify does');
foreach my $setting ('', "$checked; ")
{
	my (undef, undef, $err) = $node->psql('postgres', "$setting$section");

	like($err, qr/SectionChecksumMismatch/, 'and what it found is known' . ($setting && ' with verify_on_open'));
}
flip();
is($node->safe_psql('postgres', "$checked; $section"), $found, 'the file is whole again, and verified');
flip();
is($node->safe_psql('postgres', "$checked; $section"), $found, 'once');
utime(1600000001, 1600000001, $kb);
(undef, undef, my $err) = $node->psql('postgres', "$checked; $section");
like($err, qr/SectionChecksumMismatch/, 'a file that was touched is another');
flip();
is($node->safe_psql('postgres', $section), $found, 'and all is well');

# Prewarming, and what it takes
unlink map { "$derived/$_" } $other, files('chunks');
my %bytes = map { $_ => $node->safe_psql('postgres', "SELECT lateweave_prewarm('$_')") } qw(others kb);
my $sum = -s "$derived/$other";
$sum += -s "$directory/others/segment-0.$_.npy" foreach qw(codes scales offsets);
is($bytes{others}, $sum, 'prewarming a store');
is($bytes{kb}, -s $kb, 'prewarming a section file');
ok(-e "$derived/$other" && files('chunks') == 1, 'makes what is derived');
$node->safe_psql('postgres', 'CREATE ROLE visitor LOGIN');
(undef, undef, $err) = $node->psql('postgres', "SET ROLE visitor; SELECT lateweave_prewarm('kb')");
like($err, qr/permission denied for foreign table kb/, 'needs SELECT');
is($node->safe_psql('postgres', 'SELECT lateweave_prewarm(NULL) IS NULL'), 't', 'nothing of nothing');

is($node->safe_psql('postgres', <<"EOM"), "0\nt", 'of changes that are not published either');
BEGIN;
SELECT FROM lateweave_create_store('own', encoder => 'e', encoder_revision => '1', dimension => 2);
SELECT FROM lateweave_append('own', ARRAY['a'], ARRAY['[[1,0]]'::multivector]);
SELECT lateweave_prewarm('own');
COMMIT;
SELECT lateweave_prewarm('own') > 0;
EOM

foreach my $encoding (qw(int8 float32))
{
	my $sized = LwStore->create("$directory/sized-$encoding", encoding => $encoding);
	my %before = map { $_ => 1 } files('segment');

	$sized->append(map { [ sprintf('%020d', $_), ([ 1, 2, 3, 4 ]) x (1 + $_ % 4) ] } 1 .. 2000);
	$sized->commit;
	settle(glob("$sized->{path}/*"));
	$node->safe_psql('postgres', create_source("sized_$encoding", $sized->{path}));
	my ($new) = grep { !$before{$_} } files('segment');
	my %real = map { m,segment-0\.(\w+), ? ($1 => -s $_) : () } glob("$sized->{path}/segment-0.*");

	$real{'derived file'} = -s "$derived/$new";
	is_deeply({ map { split(/\|/, $_) } split(/\n/, $node->safe_psql('postgres',
		"SELECT * FROM lateweave_estimate(2000, 2.5, 4, '$encoding') WHERE item !~ 'memory|disk'")) },
		\%real, "what a store of $encoding takes");
}

$node->stop;
done_testing();
