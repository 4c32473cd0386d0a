# The index on a standby, after crashes, and when its pages are damaged.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use IPC::Run;
use LwSession;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $directory = PostgreSQL::Test::Utils::tempdir();

my $primary = PostgreSQL::Test::Cluster->new('primary');
# without checksums of pages, which 18 has unless told otherwise: damage is for the index to notice
$primary->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C', $primary->pg_version >= 18 ? '--no-data-checksums' : () ]);
# every page is compared as it is replayed with the primary's own
$primary->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nwal_keep_size = 2GB\nwal_consistency_checking = 'generic'\nrestart_after_crash = on");
$primary->start;
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

# Documents d1 to d400, rows of them and of ids that are none.
$primary->safe_psql('postgres', <<'EOM');
CREATE EXTENSION lateweave;
SELECT lateweave_create_store('docs', 'e', 'r', 2, 'float32', normalized => false, path => 'docs');
SELECT lateweave_append('docs', array_agg('d' || i), array_agg(format('[[%s,%s]]', i % 97, i)::multivector)) FROM generate_series(1, 400) i;
CREATE TABLE rows (key serial, id text);
CREATE INDEX rows_id ON rows USING lateweave (id) WITH (source = docs);
EOM

# The standby has a copy of the store's files, for it is given only the log.
my $source = $primary->data_dir . '/lateweave/docs';
my $copy = $standby->data_dir . '/lateweave';

sub copy_store
{
	system_or_bail('rm', '-rf', $copy);
	mkdir $copy or die "could not make $copy: $!";
	system_or_bail('cp', '-r', $source, $copy);
}

my $order = "ORDER BY id @# maxsim_query('docs', '[[100,1]]')";

# What a server says in the order of the index, as one line a row; equal distances in the order of keys.
sub ranking
{
	my ($node, $settings) = @_;

	return $node->safe_psql('postgres', "$settings;
		SELECT string_agg(key || ' ' || coalesce(id, '-'), ',' ORDER BY distance, key), array_agg(distance) FROM
		(SELECT key, id, id @# maxsim_query('docs', '[[100,1]]') AS distance FROM rows $order) s");
}

my $index_only = 'SET enable_seqscan = off; SET enable_sort = off';
my $sort_only = 'SET enable_indexscan = off';

sub same_order
{
	my ($name, @nodes) = @_;
	my $wanted = ranking($primary, $sort_only);

	foreach my $node (@nodes)
	{
		like($node->safe_psql('postgres', "$index_only; EXPLAIN SELECT key FROM rows $order"), qr/Index Scan/, "$name: by the index");
		is(ranking($node, $index_only), $wanted, "$name: " . $node->name);
	}
	return;
}

sub both
{
	my ($name) = @_;

	$primary->wait_for_catchup($standby);
	copy_store();
	same_order($name, $primary, $standby);
	return;
}

$primary->safe_psql('postgres', "INSERT INTO rows (id) SELECT 'd' || i FROM generate_series(1, 3000) i;
	INSERT INTO rows (id) SELECT NULL FROM generate_series(1, 30); INSERT INTO rows (id) SELECT repeat('long ', 150) || i FROM generate_series(1, 30) i");
both('inserts');
$primary->safe_psql('postgres', 'DELETE FROM rows WHERE key % 2 = 0; VACUUM rows');
both('half of the rows deleted');
$primary->safe_psql('postgres', "DELETE FROM rows WHERE id NOT IN ('d1', 'd3'); VACUUM rows; INSERT INTO rows (id) SELECT 'd' || i FROM generate_series(100, 3500) i");
both('pages used again');
$primary->safe_psql('postgres', 'REINDEX INDEX rows_id');
both('built');
$primary->safe_psql('postgres', 'CREATE UNLOGGED TABLE unlogged AS SELECT * FROM rows; CREATE INDEX unlogged_id ON unlogged USING lateweave (id)');

# A walk over the index that is under way while the standby replays splits and the reuse of pages.
my $reader = LwSession->new($standby);
$reader->query("BEGIN ISOLATION LEVEL REPEATABLE READ; $index_only; DECLARE all_rows CURSOR FOR SELECT key FROM rows $order");
my $before = $primary->safe_psql('postgres', 'SELECT count(*) FROM rows');
my $seen = () = $reader->query('FETCH 1000 FROM all_rows') =~ /\d+/g;
$primary->safe_psql('postgres', "INSERT INTO rows (id) SELECT 'f' || i FROM generate_series(1, 5000) i");
$primary->wait_for_catchup($standby);
$seen += () = $reader->query('FETCH ALL FROM all_rows') =~ /\d+/g;
is($seen, $before, 'each row once while pages split');
$reader->query('COMMIT');
both('splits');

# Killed while rows come in, and while an index is made: the server at once, or the process that is at it by SIGKILL, after
# which the server starts over.
sub kill_during
{
	my ($sql, $how, $name) = @_;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start([ 'psql', '-XAtq', '-d', $primary->connstr('postgres'), '-c', $sql ], '>' => \$out, '2>' => \$err);
	my $at_it = "FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%kill_me%' AND pid <> pg_backend_pid()";

	$primary->poll_query_until('postgres', "SELECT count(*) > 0 $at_it") or die 'the statement did not begin';
	usleep(400_000);
	if ($how eq 'process')
	{
		my $pid = $primary->safe_psql('postgres', "SELECT pid $at_it");

		is(kill('KILL', $pid), 1, "$name: killed");
		$primary->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid") or die 'the server did not start over';
	}
	else
	{
		$primary->stop('immediate');
	}
	eval { $run->finish };
	$primary->start if $how eq 'server';
	isnt($err, '', "$name: the statement had not ended");
	same_order($name, $primary);
	return;
}

foreach my $round ('server', 'process')
{
	kill_during("INSERT INTO rows (id) SELECT 'kill_me ' || i FROM generate_series(1, 1000000) i", $round, "crash during inserts, $round");
	$primary->safe_psql('postgres', "VACUUM rows; INSERT INTO rows (id) SELECT 'g' || i FROM generate_series(1, 1000) i");
	same_order("rows after it, $round", $primary);
}
is($primary->safe_psql('postgres', "$index_only; SELECT count(*) FROM (SELECT id FROM unlogged $order) s"), 0, 'an unlogged index is empty after a crash');
$primary->safe_psql('postgres', "INSERT INTO unlogged SELECT * FROM rows LIMIT 500");
is($primary->safe_psql('postgres', "$index_only; SELECT count(*) FROM (SELECT id FROM unlogged $order) s"), 500, 'and takes rows');
$primary->safe_psql('postgres', "CREATE TABLE large AS SELECT 'l' || i AS id FROM generate_series(1, 2000000) i");
foreach my $how ('server', 'process')
{
	kill_during('CREATE INDEX kill_me ON large USING lateweave (id)', $how, "crash during a build, $how");
	is($primary->safe_psql('postgres', "SELECT to_regclass('kill_me') IS NULL"), 't', 'which is not there');
}
$primary->safe_psql('postgres', 'DROP TABLE large');
both('what was replayed');

# Many writers at once, one of them VACUUM.
my @writers = map {
	my $number = $_;
	my ($out, $err) = ('', '');
	IPC::Run::start([ 'psql', '-XAtq', '-d', $primary->connstr('postgres'), '-c', join(' ', map {
		"INSERT INTO rows (id) SELECT 'w$number $_ ' || i FROM generate_series(1, 300) i; DELETE FROM rows WHERE id LIKE 'w$number " . ($_ - 2) . " %';" } 1 .. 12) ],
		'>' => \$out, '2>' => \$err)
} 1 .. 4;
foreach (1 .. 8)
{
	$primary->safe_psql('postgres', 'VACUUM rows');
	my $twice = $primary->safe_psql('postgres', "$index_only; SELECT count(*) - count(DISTINCT key) FROM (SELECT key FROM rows $order) s");
	is($twice, 0, 'no row twice while rows come and go');
}
ok(eval { $_->finish }, 'a writer ended well') foreach @writers;
both('writers and VACUUM');
$primary->safe_psql('postgres', "CREATE INDEX CONCURRENTLY again ON rows USING lateweave (id); DROP INDEX rows_id; ALTER INDEX again RENAME TO rows_id");
both('built while in use');
$standby->promote;
$standby->safe_psql('postgres', "INSERT INTO rows (id) VALUES ('d7')");
is($standby->safe_psql('postgres', "$index_only; SELECT count(*) FROM (SELECT id FROM rows $order) s"),
	$primary->safe_psql('postgres', 'SELECT count(*) + 1 FROM rows'), 'promoted');

# Damage of every part of a page, of a root and of leaves: answers are right or an ERROR, never a crash, and REINDEX
# mends it. Each in a table of its own, so that one start of the server serves all.
my @damages = (
	[ 0, "\0" x 8192 ],          # a page of zeros
	[ 24, "\xff" x 40 ],         # line pointers
	[ 24, "\0" x 40 ],
	[ 4096, "\xa5" x 4000 ],     # items
	[ 8144, "\xff" x 16 ],       # bounds: low
	[ 8144, "\0" x 48 ],         # the whole special space
	[ 8160, "\0" x 16 ],         # bounds: high
	[ 8176, pack('V', 0) ],      # right
	[ 8176, pack('V', 1) ],
	[ 8176, pack('V', 0x7fffffff) ],
	[ 8180, pack('v', 1) ],      # level
	[ 8180, pack('v', 64) ],
	[ 8182, pack('v', 1) ],      # free
	[ 8184, pack('V', 1) ]);     # magic and version
my @damaged = map { my $block = $_; map { [ $block, @$_ ] } @damages } 0, 1, 4;
my $last = @damaged - 1;
$primary->safe_psql('postgres', <<EOM);
DO \$\$ BEGIN
	FOR i IN 0 .. $last LOOP
		EXECUTE format('CREATE TABLE damaged%s (key serial, id text); CREATE INDEX damaged%1\$s_id ON damaged%1\$s USING lateweave (id);
			INSERT INTO damaged%1\$s (id) SELECT ''d'' || i FROM generate_series(1, 1000) i; DELETE FROM damaged%1\$s WHERE key = 7', i);
	END LOOP;
END \$\$;
CHECKPOINT;
EOM
my @files = split(/\n/, $primary->safe_psql('postgres', "SELECT pg_relation_filepath('damaged' || i || '_id') FROM generate_series(0, $last) i"));
$primary->stop;
foreach my $i (0 .. $last)
{
	my ($block, $offset, $bytes) = @{ $damaged[$i] };

	open(my $out, '+<:raw', $primary->data_dir . "/$files[$i]") or die "could not open $files[$i]: $!";
	seek($out, $block * 8192 + $offset, 0);
	print $out $bytes;
	close $out or die "could not write $files[$i]: $!";
}
$primary->start;
my %codes;
my @complaints;
foreach my $i (0 .. $last)
{
	my $what = "block $damaged[$i][0], byte $damaged[$i][1]";
	my $ranking = "SELECT string_agg(key::text, ',' ORDER BY distance, key) FROM
		(SELECT key, id @# maxsim_query('docs', '[[100,1]]') AS distance FROM damaged$i $order) s";
	my $wanted = $primary->safe_psql('postgres', "$sort_only; $ranking");

	foreach my $sql ("$index_only; $ranking", "INSERT INTO damaged$i (id) SELECT 'x' || i FROM generate_series(1, 1000) i", "VACUUM damaged$i")
	{
		my ($code, $out, $err) = $primary->psql('postgres', "\\set VERBOSITY verbose\n$sql", timeout => 60);
		my ($state) = $err =~ /ERROR:  (\w{5}):/;

		push @complaints, "$what: $err" if $code != 0 && !defined $state;
		push @complaints, "$what: $err" if defined $state && $state !~ /^XX00[12]$/;
		push @complaints, "$what: no hint in $err" if defined $state && $state eq 'XX002' && $err !~ /REINDEX/;
		push @complaints, "$what: a wrong answer" if $sql =~ /ranking|string_agg/ && !defined $state && $out ne $wanted;
		$codes{$state // 'none'}++;
	}
	$primary->safe_psql('postgres', "REINDEX INDEX damaged${i}_id");
	push @complaints, "$what: REINDEX does not mend it"
	  if $primary->safe_psql('postgres', "$index_only; $ranking") ne $primary->safe_psql('postgres', "$sort_only; $ranking");
}
check('damaged pages are errors', @complaints);
cmp_ok($codes{XX002} // 0, '>', @damaged, 'most damage is noticed (' . join(', ', map { "$_: $codes{$_}" } sort keys %codes) . ')');

done_testing();
