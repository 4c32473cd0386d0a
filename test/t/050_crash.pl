# A server that dies at any step of changing a store: nothing that committed is lost, nothing
# that did not is seen, nothing is applied twice, and no file is left over.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwStore;
use LwSynced;
use LwTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $long = $ENV{LATEWEAVE_LONG};
my $node = start_node('crash', "shared_preload_libraries = 'lateweave'", 'restart_after_crash = on', 'max_worker_processes = 0', 'max_connections = 20',
	'shared_buffers = 4MB', 'log_min_messages = warning');
my $docs = LwSynced->new($node, 'docs');
my $directory = PostgreSQL::Test::Utils::tempdir();
my (undef, undef, $detail) = $node->psql('postgres', "SET lateweave.fault = 'x:kill'");
my ($names) = $detail =~ /Points: (.*)\./ or die "no points in \"$detail\"";
my @points = split ' ', $names;
my %reached;
my $turn = 0;

# Others commit meanwhile, to the same store and to the rows of the same table.
my $others = <<'EOM';
\set id random(1, 20)
\set value random(1, 900000)
\set kind random(1, 4)
\if :kind = 1
DELETE FROM docs WHERE id = :id;
\elif :kind = 2
UPDATE docs SET value = :value, tokens = format('[[%s,0,0,0],[0,1,0,0]]', :value)::multivector WHERE id = :id;
\else
INSERT INTO docs VALUES (:id, :value, format('[[%s,0,0,0]]', :value)::multivector) ON CONFLICT (id) DO UPDATE SET value = excluded.value, tokens = excluded.tokens;
\endif
EOM

# Transactions that add, replace and delete documents of the table.
sub changes
{
	my ($rounds) = @_;

	return map {
		$turn++;
		(
			$docs->put(21, 30, "id + 100 * $turn"),
			'DELETE FROM docs WHERE id = 21',
			'BEGIN; DELETE FROM docs WHERE id = 22; SAVEPOINT one; DELETE FROM docs; ROLLBACK TO one; '
			  . $docs->put(1, 3, $turn) . '; COMMIT')
	} 1 .. $rounds;
}

# A load that goes to files before it commits, and documents beside it.
sub load
{
	$turn++;
	return 'BEGIN; ' . $docs->put(31, 31, $turn) . '; ' . $docs->put(40, 60, "id + $turn", 60_000) . '; ' .
	  'DELETE FROM docs WHERE id = 50; COMMIT; DELETE FROM docs WHERE id >= 40';
}

# Runs statements in one session, in which the server is to die at a step; whether it did.
sub dies_at
{
	my ($point, $times, @statements) = @_;
	my ($out, $err) = ('', '');
	my $status = $node->psql('postgres', join(";\n", "SET lateweave.fault = '$point:kill:$times'", @statements),
		stdout => \$out, stderr => \$err, on_error_die => 0, on_error_stop => 0);
	my $died = $status == 2 && $err =~ /server closed the connection unexpectedly/;

	diag("at $point: $err") if !$died || $err =~ /(ERROR|PANIC):/;
	$reached{$point}++ if $died;
	LwSynced::wait_for_server($node) if $died;
	return $died;
}

# What is wrong with table and store before anybody writes again, and after.
sub complaints
{
	my ($point) = @_;
	my @complaints = map { "before: $_" } $docs->differences;

	$turn++;
	$node->safe_psql('postgres', $docs->put(31, 31, $turn));
	push @complaints, map { "after: $_" } $docs->differences, $docs->file_differences;
	return map { "$point: $_" } @complaints;
}

my %statements = (
	(map { $_ => sub { load() } } qw(bulk-made segment-link segment-linked pending-sweep)),
	'compact-block' => sub { (changes(2), "SELECT lateweave_compact('docs_v')") },
	(map { $_ => sub { $turn++; "SELECT lateweave_create_store('made$turn', 'e', 'r', 4)" } } qw(store-made store-filled)),
	(map { $_ => sub { $turn++; "SELECT lateweave_snapshot('docs_v', '$directory/copy$turn')" } }
		  qw(snapshot-made snapshot-file snapshot-names-sync)));

# Those that are passed only when something has gone wrong before; see below.
my %after_trouble = map { $_ => 1 } qw(intent-mark round-undo);
my @complaints;

foreach my $point (grep { !$after_trouble{$_} } @points)
{
	foreach my $times (1 .. ($long ? 3 : 1))
	{
		my $clients = LwSynced::start_clients($node, 3, $others);

		# when another session publishes what this one has committed, it comes by the next time
		push @complaints, "$point: not reached" if !dies_at($point, $times, 'SELECT pg_sleep(0.1)', map { ($statements{$point} || sub { changes(1) })->() } 1 .. 20);
		LwSynced::stop_clients($clients);
		push @complaints, complaints($point);
	}
}
check('table and store agree after a death at each step', @complaints);

# The same while the changes that a first death left are published by another session, which dies too.
@complaints = ();
foreach my $point (grep { $long || /^(segment-written|names-sync|manifest-(rename|renamed)|round-(written|durable|undo|drop)|intent-drop|intents-dropped)$/ }
	grep { /^(segment-(begin|created|written|synced)|tombstones|names|manifest|round|intent-drop|intents-dropped)/ } @points)
{
	my $before = $point eq 'round-undo' ? 'manifest-rename' : 'commit-done';

	push @complaints, "$point: not there in time" if !dies_at($before, 1, changes(20));
	push @complaints, "$point: not reached in recovery" if !dies_at($point, 1, changes(1));
	push @complaints, complaints("$point in recovery");
}
check('and after another in recovery', @complaints);

# A publish that fails after COMMIT marks the changes: here since no file can be made in the store.
@complaints = ();
chmod 0500, $docs->{path};
push @complaints, 'not reached' if !dies_at('intent-mark', 1, changes(1));
chmod 0700, $docs->{path};
check('and after one in the mark of what could not be published', @complaints, complaints('intent-mark'));

# A load in a store that takes nothing: its files stay beside until they are published.
chmod 0500, $docs->{path};
my (undef, undef, $warning) = $node->psql('postgres', load());
like($warning, qr/WARNING:  the transaction has committed, but/, 'a load that could not be published is no error');
check('and seen', $docs->differences);
chmod 0700, $docs->{path};
$node->stop('immediate');
$node->start;
check('and not lost', complaints('load'));

# A deletion that was published by who died is not done to a document of that id that another process appends.
$node->safe_psql('postgres', $docs->put(70, 71, 'id'));
foreach my $point (qw(manifest-renamed manifest-durable intent-drop intents-dropped))
{
	my $store;

	ok(dies_at($point, 1, 'DELETE FROM docs WHERE id = 70'), "a deletion dies at $point");
	$store = LwStore->load($docs->{path});
	$store->put(70 => 7);
	$store->commit;
	is($node->safe_psql('postgres', "SELECT lateweave_score('docs_v', '$LwSynced::QUERY', '70'), count(*) FROM docs WHERE id = 70"),
		'7|0', 'the document that came later is there');
	$node->safe_psql('postgres', "ALTER TABLE docs DISABLE TRIGGER rows; INSERT INTO docs VALUES (70, 7, '[[7,0,0,0]]'); ALTER TABLE docs ENABLE TRIGGER rows");
	check('and stays', complaints($point));
}

# The whole server at once, at any moment.
@complaints = ();
foreach my $i (1 .. ($long ? 30 : 3))
{
	my $clients = LwSynced::start_clients($node, 6, $others);

	$node->safe_psql('postgres', "SELECT pg_sleep(0.1 + random() / 5)");
	$node->stop('immediate');
	LwSynced::stop_clients($clients);
	$node->start;
	push @complaints, complaints("stop $i");
}
check('and after the whole server was killed', @complaints);

is(join(' ', grep { !$reached{$_} } @points), '', 'every step was reached');
unlike(slurp_file($node->logfile), qr/PANIC:|was terminated by signal (?!9)/, 'no other crash in the log');
$node->stop;
done_testing();
