# What all sessions of a server know together of the stores is never wrong, whether there is room for it or
# not, whoever writes the stores and whichever session is killed; and nothing of it is left behind.
# LATEWEAVE_LONG=1 has the parts that repeat something do so more often, and waits for idle entries.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Find;
use File::Path qw(remove_tree);
use LwReaders;
use LwSession;
use LwStore;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

my $LONG = $ENV{LATEWEAVE_LONG};
my $SETTLED = 50_000;    # microseconds, after which a manifest is not read again
my @segments_before = shared_segments();
my $node = start_node('shared', "shared_preload_libraries = 'lateweave'", 'restart_after_crash = on');

# Names of the shared memory that PostgreSQL's servers have as files.
sub shared_segments
{
	return sort map { s,.*/,,r } glob('/dev/shm/PostgreSQL.*');
}

# Restarts the server with other settings.
sub restart_with
{
	$node->append_conf('postgresql.conf', join("\n", '', @_));
	$node->restart;
	return;
}

# Asks in a session; returns by what it knew the store's new manifest ('' when nothing was new), its commit, and the answer.
sub ask_in
{
	my ($session, $table, $kind) = @_;
	my ($out, $err) = $session->send('SET client_min_messages = debug2;' . statement($table, $kind // 'rerank'));
	my ($how, $commit) = $err =~ /DEBUG: .*\b(manifest|shared view) of ".*": commit (\d+)/;

	diag($err) if $err =~ /ERROR|FATAL/;
	return ($how // '', $commit // '', $out);
}

# The same in a session of its own.
sub ask
{
	my ($table, %options) = @_;
	my $session = LwSession->new($node, %options);
	my @found = ask_in($session, $table);

	$session->quit;
	return @found;
}

# What a store answers now, as psql prints it.
sub current
{
	my ($store) = @_;

	return $LwStore::BASE + $store->{commit} . '|' . expected($store);
}

# That asking in a new session knows the manifest by `how`, and answers right.
sub asks
{
	my ($how, $store, $table, $name, %options) = @_;

	is_deeply([ ask($table, %options) ], [ $how, $store->{commit}, current($store) ], $name);
	return;
}

# 1. Two sessions and an external writer.
my ($store, $answers) = new_store($node, 'plain');
change($store, $answers);
usleep($SETTLED);
asks('manifest', $store, 'plain', 'the first session reads the manifest');
asks('shared view', $store, 'plain', 'the second takes it from the shared view');

my @sessions = map { LwSession->new($node) } 0 .. 3;
my (@found, @complaints);
ask_in($_, 'plain') foreach @sessions;
foreach my $round (1 .. 20)
{
	change($store, $answers);
	usleep($SETTLED) if $round % 2;
	foreach my $session (@sessions)
	{
		my ($how, $commit, $answer) = ask_in($session, 'plain', $kinds[ $round % @kinds ]);

		push @found, $how if $round % 2;
		$commit == $store->{commit} && $answer eq current($store)
		  or push @complaints, "round $round: $how, commit $commit: $answer";
	}
}
check('a commit of another process is seen by the next statement of every session', @complaints);
is_deeply(\@found, [ ('manifest', ('shared view') x 3) x 10 ], 'and its manifest is parsed once');
$_->quit foreach @sessions;

# Commits of this server need not be read by anybody, however young they are.
my $writer = LwSession->new($node);
@sessions = map { LwSession->new($node) } 0 .. 1;
$writer->query("SELECT lateweave_create_store('own', 'e', 'r', 2, normalized => false); INSERT INTO own VALUES ('d0', '[[1,0]]')");
my $count = 'SET client_min_messages = debug2; SELECT count(*) FROM own';
$_->send($count) foreach @sessions;
@found = @complaints = ();
foreach my $round (1 .. 11)
{
	$writer->query($round == 11 ? "SELECT FROM lateweave_compact('own')" : "INSERT INTO own VALUES ('d$round', '[[1,0]]')");
	usleep($SETTLED) if $round % 2;
	foreach my $session (@sessions)
	{
		my ($out, $err) = $session->send($count);

		push @found, $err =~ /DEBUG: .*\b(manifest|shared view) of ".*": commit/;
		push @complaints, "round $round: $out" if $out ne ($round < 11 ? $round + 1 : 11);
	}
}
check('a commit of this server is seen by the next statement of every session', @complaints);
is_deeply(\@found, [ ('shared view') x 22 ], 'and its manifest is parsed by none');
$_->quit foreach @sessions, $writer;

# 2. Another database.
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION lateweave; ' . create_source('elsewhere', $store->{path}));
usleep($SETTLED);
ask('plain');
asks('shared view', $store, 'elsewhere', 'a table of another database shares its store', dbname => 'other');

my $notes = "SELECT array_remove(notes, 'compaction recommended') FROM lateweave_sources WHERE source = 'plain'::regclass";
is($node->safe_psql('postgres', $notes) =~ s/unprotected//r, '{}', 'no note about the shared view');

# 3. Room for one store, and three in turn.
restart_with('lateweave.max_sources = 1');
my %stores = (plain => [ $store, $answers ]);
$stores{$_} = [ new_store($node, $_) ] foreach qw(second third);
usleep($SETTLED);
asks('manifest', $store, 'plain', 'one entry: made');
asks('shared view', $store, 'plain', 'one entry: used');
asks('manifest', $stores{second}[0], 'second', 'one entry: another store takes it');
asks('shared view', $stores{second}[0], 'second', 'one entry: and has it');
asks('manifest', $store, 'plain', 'one entry: it was given up');
asks('shared view', $store, 'plain', 'one entry: and is taken again');

@complaints = ();
@sessions = map { LwSession->new($node) } 0 .. 2;
foreach my $round (1 .. $LONG ? 300 : 25)
{
	my $table = (sort keys %stores)[ $round % 3 ];
	my ($changed, $its) = @{ $stores{$table} };

	change($changed, $its) if $round % 4 == 0;
	foreach my $session (@sessions)
	{
		my (undef, undef, $answer) = ask_in($session, $table, $kinds[ $round % @kinds ]);

		push @complaints, "$table, round $round: $answer" if $answer ne current($changed);
	}
}
check('one entry for three stores: all sessions answer right', @complaints);
$_->quit foreach @sessions;

# 4. Manifests of all sizes in little room, and one that is too large.
my $growing = LwStore->create($node->basedir . '/growing');
@found = ();
$node->safe_psql('postgres', create_source('growing', $growing->{path}));
foreach my $i (0 .. 25)
{
	# each of another class of sizes, until they are counted in pages
	$growing->{encoder} = 'e' x (100 * 1.2**$i);
	$growing->round(@ids[ 0, 1 ]);
	usleep($SETTLED);
	ask('growing');
	my ($how, $commit, $answer) = ask('growing');
	push @found, "size $i: $how, $answer" if $how ne 'shared view' || $answer ne current($growing);
}
check('a manifest that grows finds room again and again', @found);

sub with_corpus
{
	my ($name, $size) = @_;
	my ($new) = new_store($node, $name, corpus => 'c' x $size);

	return $new;
}
my $large = with_corpus('large', 4_000_000);
usleep($SETTLED);
ask('second');
asks('manifest', $large, 'large', 'a manifest that is too large is parsed');
asks('manifest', $large, 'large', 'by each session');
asks('shared view', $stores{second}[0], 'second', 'and nobody goes for it');

restart_with('lateweave.max_sources = 3');
my @halves = map { with_corpus("half_$_", 700_000) } 0, 1;
usleep($SETTLED);
ask('half_0');
asks('manifest', $halves[1], 'half_1', 'a manifest that finds no room is parsed');
asks('manifest', $halves[1], 'half_1', 'as long as there is none');
asks('shared view', $halves[0], 'half_0', 'who was there first stays');
if ($LONG)
{
	sleep 61;
	ask('half_1') foreach 1, 2;
	asks('shared view', $halves[1], 'half_1', 'but not when it was idle');
	asks('manifest', $halves[0], 'half_0', 'then it goes');
}

# 5. Sources that come and go.
restart_with('lateweave.max_sources = 16');
my $session = LwSession->new($node);
my %held;
@complaints = ();
foreach my $i (1 .. $LONG ? 500 : 60)
{
	my $passing = LwStore->create($node->basedir . '/passing');

	$passing->round(@ids[ 0 .. $i % 10 ]);
	$session->query(create_source('passing', $passing->{path}));
	usleep($SETTLED) if $i % 5 == 0;
	my (undef, undef, $answer) = ask_in($session, 'passing');
	push @complaints, "store $i: $answer" if $answer ne current($passing);
	(undef, undef, $answer) = ask('passing') if $i % 5 == 0;
	push @complaints, "store $i in a new session: $answer" if $answer ne current($passing);
	$session->query('DROP FOREIGN TABLE passing');
	remove_tree($passing->{path});
	next if $i % 20;
	my @files = map { readlink($_) // () } glob("/proc/$session->{pid}/fd/*");
	my ($private) = slurp_file("/proc/$session->{pid}/smaps_rollup") =~ /^Private_Dirty: +(\d+) kB/m;
	$held{$i} = [ scalar @files, scalar(() = slurp_file("/proc/$session->{pid}/maps") =~ m{/passing/}g), $private ];
}
check('stores that come and go, at one path: all answers are right', @complaints);
my ($early, $late) = @held{ (sort { $a <=> $b } keys %held)[ 0, -1 ] };
is($late->[0], $early->[0], 'a session holds no more files than before');
is($late->[1], $early->[1], 'and maps no more');
cmp_ok($late->[2], '<', $early->[2] + 512, 'and has not grown by 512 kB');
$session->quit;
usleep($SETTLED);
ask('plain');
asks('shared view', $store, 'plain', 'and there is room for others');

# 6. Sessions are killed while 16 of them ask and an external process commits.

# Names of all that lies in the data directory but what the server itself makes as it goes.
sub files_of_server
{
	my @names;

	find({ no_chdir => 1, wanted => sub { push @names, $File::Find::name } }, $node->data_dir);
	return sort grep { !m{^(?:base/\d|base/pgsql_tmp$|global/pg_internal.init$|pg_wal/|pg_xact/|pg_subtrans/|pg_multixact/|pg_stat/|pg_logical/|lateweave/|backup)} }
	  map { substr($_, 1 + length $node->data_dir) } grep { $_ ne $node->data_dir } @names;
}

# Process ids of the sessions of our server.
sub backends
{
	my $server = $node->{_pid};

	return grep {
		my $status = eval { read_bytes("/proc/$_/stat") } // '';
		my $title = eval { read_bytes("/proc/$_/cmdline") } // '';
		$status =~ /\) \S $server / && $title =~ /\[local\]/
	} map { m,(\d+)$, } glob('/proc/[0-9]*');
}

# How often the server has restarted itself.
sub restarts
{
	return scalar(() = slurp_file($node->logfile) =~ /all server processes terminated; reinitializing/g);
}

# What psql says when the server goes down under it, and comes back.
my $crash = qr{
	^(?:psql.*)?\bWARNING:\ \ terminating\ connection\ because\ of\ crash\ of\ another\ server\ process\n
	| ^DETAIL:\ \ The\ postmaster\ has\ commanded\ this\ server\ process.*\n
	| ^HINT:\ \ In\ a\ moment\ you\ should\ be\ able\ to\ reconnect.*\n
	| ^psql.*(?:server\ closed\ the\ connection\ unexpectedly|could\ not\ (?:receive|send)\ data\ .*)\n
	| ^\t(?:This\ probably\ means\ the\ server|before\ or\ while\ processing).*\n
	| ^psql.*(?:connection\ to\ server\ was\ lost|no\ connection\ to\ the\ server)\n
	| ^psql:\ error:\ connection\ to\ server\ .*\ the\ database\ system\ is\ (?:in\ recovery\ mode|starting\ up|not\ yet\ accepting\ connections|shutting\ down)\n
	| ^DETAIL:\ \ (?:Consistent\ recovery\ state\ has\ not\ been\ yet\ reached|Recovery\ snapshot\ is\ not\ yet\ ready).*\n
	| ^psql\ ended\ with\ 512\n}mx;

restart_with('lateweave.max_sources = 2');
my @files_before = files_of_server();
my ($kills, $commits) = $LONG ? (100, 500) : (4, 100);
my @names = qw(killed_0 killed_1 killed_2);
my %killed = map { $_ => [ new_store($node, $_) ] } @names;
my %readers;
foreach my $i (0 .. 15)
{
	my $name = $names[ $i % 3 ];

	push @{ $readers{$name} }, script("killed_$i", join('', map { statement($name, $kinds[ ($i + $_) % @kinds ]) . ";\n" } 1 .. 50));
}
$readers{$_} = start_readers($node, $_, @{ $readers{$_} }) foreach @names;

my $made = 0;
my $shots = 0;
my $next_shot = time + 1;
my $patience = time + 30 * $kills;
# a session that ends by itself at that moment does not restart the server
while ($made < $commits || (restarts() < $kills && time < $patience))
{
	change(@{ $killed{ $names[ rand @names ] } }) if $made++ < $commits || rand() < 0.1;
	usleep(rand 20_000);
	next if time < $next_shot;
	my @pids = backends();
	next if @pids < 8;
	$shots++;
	kill 'KILL', $pids[ rand @pids ];
	$next_shot = time + 0.2 + rand;
}

my %seen = (answers => 0);
my $errors = '';
@complaints = ();
foreach my $name (@names)
{
	my ($said, @lines) = stop_readers($readers{$name});

	$errors .= $said =~ s/$crash//gr;
	push @complaints, map { complaints($killed{$name}[1], $_, \%seen) } @lines;
}
is($errors, '', "no error while $shots sessions were killed, but that the server restarted");
check('every answer is that of one commit, of none older than the one before', @complaints);
cmp_ok($seen{answers}, '>', 100, "$seen{answers} answers of " . keys(%{ $seen{commits} }) . ' commits');
cmp_ok(restarts(), '>=', $kills / 2, 'the server did restart itself');

usleep($SETTLED);
ask('killed_0');
asks('shared view', $killed{killed_0}[0], 'killed_0', 'after that there is a shared view again');
my $after = start_readers($node, 'after', map { script("after_$_", (statement('killed_1', $kinds[$_]) . ";\n") x 50) } 0 .. 3);
foreach (1 .. 50)
{
	change(@{ $killed{killed_1} });
	usleep(rand 10_000);
}
my ($said, @lines) = stop_readers($after);
is($said, '', 'and no error any more');
check('and only right answers', map { complaints($killed{killed_1}[1], $_, \%seen) } @lines);

# 7. Without preload nothing else changes.
restart_with("shared_preload_libraries = ''");
usleep($SETTLED);
my @twice = map { [ ask('plain') ] } 0, 1;
is_deeply([ map { $_->[2] } @twice ], [ (current($store)) x 2 ], 'the same answers without preload');
my $named = $node->safe_psql('postgres', 'SHOW server_version_num') >= 170000;
is($twice[1][0], $named ? 'shared view' : 'manifest', 'by the shared view where a segment can be had by name');
is($node->safe_psql('postgres', $notes) =~ s/unprotected,?//r, $named ? '{}' : '{"no shared view"}', 'or with a note that there is none');
if ($named)
{
	my $old = LwSession->new($node);
	ask_in($old, 'plain');
	$node->append_conf('postgresql.conf', 'lateweave.max_sources = 7');
	$node->reload;
	$node->poll_query_until('postgres', q(SELECT current_setting('lateweave.max_sources') = '7'));
	asks('manifest', $store, 'plain', 'a session with another size has a shared view of its own');
	asks('shared view', $store, 'plain', 'with all that have this size');
	change($store, $answers);
	is((ask_in($old, 'plain'))[2], current($store), 'and one with the size before goes on');
	$old->quit;
}

$node->stop;
my %before = map { $_ => 1 } @files_before;
check('nothing is left in the data directory', grep { !$before{$_} } files_of_server());

# Other servers' segments are mapped by somebody, or go within the second.
%before = map { $_ => 1 } @segments_before;
my %left = map { $_ => 1 } grep { !$before{$_} } shared_segments();
foreach (1 .. 50)
{
	last if !%left;
	my $mapped = join('', map { eval { read_bytes($_) } // '' } glob('/proc/[0-9]*/maps'));
	my %now = map { $_ => 1 } shared_segments();
	delete $left{$_} foreach grep { !$now{$_} || $mapped =~ /\Q$_\E/ } keys %left;
	usleep(100_000) if %left;
}
check('nothing is left of shared memory', sort keys %left);

done_testing();
