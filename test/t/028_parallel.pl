# A search shared with parallel workers gives what one process gives, bit for bit, whatever the view holds; what
# goes wrong in a worker is the leader's error; and nothing stays behind.
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
use Time::HiRes qw(usleep time);

my $DIMENSION = 64;
my $TOKENS = 100;
my $DOCUMENTS = 400;
my $PARALLEL = 'SET max_parallel_workers_per_gather = 2';
my $SERIAL = 'SET max_parallel_workers_per_gather = 0';

my $directory = PostgreSQL::Test::Utils::tempdir();
my $node = start_node('parallel', "shared_preload_libraries = 'lateweave'", 'restart_after_crash = on', 'max_worker_processes = 12',
	'min_parallel_table_scan_size = 0', 'parallel_setup_cost = 0', 'max_parallel_workers = 4');
my $session = LwSession->new($node);

srand(7);

sub token
{
	return [ map { int(rand(255)) - 127 } 1 .. $DIMENSION ];
}

my @pool = map { token() } 1 .. 200;

sub document
{
	my ($id) = @_;

	return [ $id, map { $pool[ int rand @pool ] } 1 .. $TOKENS ];
}

sub literal
{
	return "'[" . join(',', map { '[' . join(',', @$_) . ']' } @_) . "]'";
}

my $q = literal(map { token() } 1 .. 20);

# A search as one line of text with its scores' bits.
sub search
{
	my ($source, $k, $query) = @_;

	$query //= $q;
	return "(SELECT string_agg(id || ' ' || encode(float4send(score), 'hex') || ' ' || rank, ',' ORDER BY rank)"
	  . " FROM lateweave_search('$source', $query, $k))";
}

# What a statement gives with these settings, how many documents workers scored ('' when there were none), and how many were scored.
sub ask
{
	my ($settings, $sql, $in) = @_;
	my ($out, $err) = ($in // $session)->send("$settings; SET client_min_messages = debug1; $sql; RESET client_min_messages");
	my ($by_workers) = $err =~ /DEBUG: .* (\d+) documents scored by parallel workers, of which [1-9]/;
	my ($all) = $err =~ /DEBUG: .* (\d+) documents scored in/;

	diag($err) if $err =~ /ERROR|FATAL/;
	return ($out, $by_workers // '', $all // '');
}

# That a search is the same with workers, which score `by_workers` documents (undef: any) when the leader only waits.
sub compare
{
	my ($name, $sql, $by_workers) = @_;
	my ($serial, $none, $all) = ask($SERIAL, "SELECT $sql");
	my ($shared, undef, $both) = ask($PARALLEL, "SELECT $sql");
	my ($waited, $theirs) = ask("$PARALLEL; SET parallel_leader_participation = off", "SELECT $sql");

	$session->query('RESET parallel_leader_participation');
	return check(
		$name,
		$none ne '' ? 'workers without being allowed' : (),
		$serial eq '' ? 'nothing was found' : (),
		$shared ne $serial ? "leader and workers: $shared\nserial: $serial" : (),
		$waited ne $serial ? "workers: $waited\nserial: $serial" : (),
		$both ne $all ? "$both documents were scored, not $all" : (),
		defined $by_workers && $theirs ne $by_workers ? "workers scored '$theirs' documents" : ());
}

# The processes that scan for others.
sub workers
{
	return $node->safe_psql('postgres', "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'parallel worker'");
}

sub wait_until
{
	my ($what) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;

	while (time < $end)
	{
		my $found = $what->();

		return $found if $found;
		usleep(10_000);
	}
	return '';
}

# Parts of shared memory that a session has mapped, '' where that cannot be seen.
sub mapped
{
	my ($in) = @_;

	open(my $maps, '<', "/proc/$in->{pid}/maps") or return '';
	my $parts = grep { m,/PostgreSQL\.\d, } <$maps>;
	close $maps;
	return $parts;
}

subtest 'stores' => sub {
	my @documents = map { document("d$_") } 1 .. $DOCUMENTS;

	# equal ones, so that there are ties at every rank
	foreach my $i (0 .. 29)
	{
		my (undef, @tokens) = @{ $documents[ 10 * $i ] };

		push @documents, [ "e$i", @tokens ], [ "c$i", @tokens ];
	}
	foreach my $encoding ('float32', 'int8')
	{
		my $path = "$directory/$encoding";
		my $store = LwStore->create($path, encoding => $encoding, dimension => $DIMENSION);
		my $present;

		$store->append(@documents[ 0 .. 199 ]);
		$store->commit;
		$session->query(create_source($encoding, $path));
		compare("$encoding: one segment", search($encoding, 10), 200);

		# more segments, one of them tiny, rows deleted and replaced
		$store->append(@documents[ 200 .. 399 ]);
		$store->append($documents[400]);
		$store->append(@documents[ 401 .. $#documents ], document('d3'), document('d200'));
		$store->remove('d7', 'd150', 'e3', map { "d$_" } 60 .. 130);
		$store->commit;
		$present = @{ [ $store->documents ] };
		compare("$encoding: best $_ of $present", search($encoding, $_), $present) foreach 1, 2, 10, 64, $present - 1, $present, 10_000;
		$store->remove(map { $_->[0] } $store->documents);
		$store->append(document('only'));
		$store->commit;
		compare("$encoding: one document left", search($encoding, 10), 1);
	}
};

# Equal documents beyond those that a worker keeps: the leader takes over.
subtest 'many equal documents' => sub {
	my $store = LwStore->create("$directory/equal");

	$store->put(map { ("e$_" => $_ <= 4 ? 9 - $_ % 3 : 7) } 1 .. 20_000);
	$store->commit;
	$session->query(create_source('equal', "$directory/equal"));
	foreach my $k (1, 5, 6000)
	{
		my $sql = search('equal', $k, "'$LwStore::QUERY'");

		compare("best $k", $sql);
	}
	my (undef, $theirs) = ask($PARALLEL, 'SELECT ' . search('equal', 5, "'$LwStore::QUERY'"));
	cmp_ok($theirs, '>', 4000, 'workers did some');
	is((ask("$PARALLEL; SET work_mem = '64kB'", 'SELECT ' . search('equal', 6000, "'$LwStore::QUERY'")))[1],
		'', 'none for more than work_mem holds');
	$session->query('RESET work_mem');
};

my $many = LwStore->create("$directory/many", dimension => $DIMENSION);
$many->append(map { document("m$_") } 1 .. $DOCUMENTS);
$many->commit;
$session->query(create_source('many', "$directory/many"));
my ($wanted) = ask($SERIAL, 'SELECT ' . search('many', 20));

subtest 'when there are workers' => sub {
	my $sql = 'SELECT ' . search('many', 20);
	my $bytes = $DOCUMENTS * $TOKENS * $DIMENSION * 4;

	foreach my $case (
		[ 'max_parallel_workers = 0', 0 ],
		[ 'max_parallel_workers_per_gather = 0', 0 ],
		[ 'min_parallel_table_scan_size = ' . int($bytes / 8192 + 2), 0 ],
		[ 'min_parallel_table_scan_size = ' . int($bytes / 8192 - 1), 1 ],
		[ 'parallel_setup_cost = 1000', 0 ],
		[ 'parallel_setup_cost = 80', 1 ])
	{
		my ($setting, $workers) = @$case;
		my ($name) = $setting =~ /^(\w+)/;
		my ($out, $theirs) = ask("$PARALLEL; SET parallel_leader_participation = off; SET $setting", $sql);

		is($theirs, $workers ? $DOCUMENTS : '', "$setting: " . ($workers ? 'workers' : 'none'));
		is($out, $wanted, 'the answer');
		$session->query("RESET $name; RESET parallel_leader_participation");
	}

	# within a plan that has workers of its own
	$session->query("$PARALLEL; CREATE TABLE wide AS SELECT i AS n FROM generate_series(1, 20000) i; ANALYZE wide; SET parallel_tuple_cost = 0");
	like($session->query("EXPLAIN SELECT count(*) FROM wide WHERE (SELECT count(*) FROM lateweave_search('many', $q, 20)) = 20"),
		qr/Gather/, 'a plan with a Gather');
	my ($out, $theirs) = ask($PARALLEL, "SELECT count(*) FROM wide WHERE (SELECT count(*) FROM lateweave_search('many', $q, 20)) = 20");
	is("$out $theirs", '20000 ', 'has none inside');
	$session->query('RESET parallel_tuple_cost; DROP TABLE wide');

	# an error that is caught leaves parallel mode
	$session->query("CREATE FUNCTION caught() RETURNS text LANGUAGE plpgsql AS \$\$
		DECLARE r text;
		BEGIN
			BEGIN
				SELECT " . search('many', 20) . " INTO r;
				CREATE TABLE made (t text);
				PERFORM 1 / 0;
			EXCEPTION WHEN division_by_zero THEN
				CREATE TABLE made (t text);
			END;
			RETURN r;
		END \$\$");
	is((ask($PARALLEL, 'SELECT caught()'))[0], $wanted, 'in a subtransaction');

	my $before = $session->query("SELECT scores, documents, tokens, bytes_read FROM lateweave_stat WHERE source = 'many'::regclass");
	ask($PARALLEL, $sql);
	my $after = $session->query("SELECT scores, documents, tokens, bytes_read FROM lateweave_stat WHERE source = 'many'::regclass");
	my @before = split(/\|/, $before);
	my @after = split(/\|/, $after);
	is(join(' ', map { $after[$_] - $before[$_] } 0 .. 3), "1 $DOCUMENTS " . $DOCUMENTS * $TOKENS . " $bytes", 'statistics count what workers did');
};

# Serial and parallel within one statement, so under one snapshot.
$session->query("CREATE FUNCTION shared(text, multivector, int) RETURNS text STABLE LANGUAGE plpgsql SET max_parallel_workers_per_gather = 2 AS \$\$ BEGIN RETURN "
	  . search('SOURCE', '$3', '$2') =~ s/'SOURCE'/\$1::regclass/r
	  . "; END \$\$");
$session->query("CREATE FUNCTION serial(text, multivector, int) RETURNS text STABLE LANGUAGE plpgsql SET max_parallel_workers_per_gather = 0 AS \$\$ BEGIN RETURN "
	  . search('SOURCE', '$3', '$2') =~ s/'SOURCE'/\$1::regclass/r
	  . "; END \$\$");
my $same = "SELECT shared('w', $q, 30) = serial('w', $q, 30), serial('w', $q, 30)";
my $rows = "SELECT 'ID' || i, ARRAY(SELECT ARRAY(SELECT (random() * 9 - 4)::int::real FROM generate_series(1, $DIMENSION + 0 * j + 0 * i))"
  . " FROM generate_series(1, 5) j)::real[] FROM generate_series(1, COUNT) i";

sub rows
{
	my ($id, $count) = @_;

	return $rows =~ s/ID/$id/r =~ s/COUNT/$count/r;
}

subtest 'changes' => sub {
	$session->query("SELECT setseed(0.3); SELECT lateweave_create_store('w', 'none', '1', $DIMENSION, encoding => 'int8', normalized => false)");
	$session->query('INSERT INTO w ' . rows('a', 2000));

	# one's own, not committed; of the store's files the workers score all that is not hidden
	$session->query('BEGIN; INSERT INTO w ' . rows('b', 50));
	$session->query("DELETE FROM w WHERE id LIKE 'a1%'; UPDATE w SET tokens = (SELECT tokens FROM w WHERE id = 'a2') WHERE id IN ('a3', 'b5')");
	my $left = $session->query('SELECT count(*) FROM w');
	compare('own changes', search('w', 40), $session->query("SELECT count(*) FROM w WHERE id LIKE 'a%' AND id <> 'a3'"));
	compare('own changes, all', search('w', 5000));
	is((ask($PARALLEL, 'SELECT count(*) FROM lateweave_search(\'w\', ' . $q . ', 5000)'))[0], $left, 'all are there');
	# what is too much for memory lies in files already, but not where others look
	$session->query("SAVEPOINT s; INSERT INTO w SELECT 'c' || i, array_fill((i % 5)::real, ARRAY[10000, $DIMENSION]) FROM generate_series(1, 30) i");
	compare('a load of one\'s own', search('w', 40), $session->query("SELECT count(*) FROM w WHERE id LIKE 'a%' AND id <> 'a3'"));
	$session->query('ROLLBACK TO s');
	compare('after a rollback', search('w', 5000));
	$session->query('ROLLBACK');
	compare('after all', search('w', 40), 2000);

	# somebody else's, committed and not published
	$session->query(q(SET lateweave.fault = 'round-written:enospc'; INSERT INTO w ) . rows('p', 20));
	$session->query("DELETE FROM w WHERE id = 'a20'; SET lateweave.fault = ''");
	like((ask($PARALLEL, 'SELECT ' . search('w', 5000)))[0], qr/\bp20 /, 'changes that are pending');
	compare('pending changes', search('w', 40));
	$session->query(q(SELECT lateweave_commit('w')));
	compare('published', search('w', 40), 2019);

	# a cursor keeps its view
	$session->query("$PARALLEL; BEGIN; DECLARE c CURSOR FOR SELECT id || rank FROM lateweave_search('w', $q, 6)");
	my $first = $session->query('FETCH 3 FROM c');
	my $other = LwSession->new($node);
	$other->query("DELETE FROM w WHERE id LIKE 'p%'");
	my $all = join("\n", $first, $session->query('FETCH ALL FROM c; COMMIT'));
	is(() = $all =~ /\n/g, 5, 'a cursor gives its six');
	compare('afterwards', search('w', 40));

	# with somebody who commits all the time
	$other->{in} .= "SELECT 'begun'; DO \$\$ BEGIN FOR n IN 1..400 LOOP INSERT INTO w " . rows("x' || n || 'y", 3)
	  . "; COMMIT; DELETE FROM w WHERE id = 'x' || n || 'y2' OR id = 'a' || 3 * n; COMMIT; END LOOP; END \$\$;\nSELECT 'done';\n";
	$other->{out} = '';
	my ($asked, $differ, %answers) = (0, 0);
	until ($other->{out} =~ /done/ || $asked > 5000)
	{
		my ($equal, $answer) = split(/\|/, $session->query($same), 2);

		$other->{run}->pump_nb;
		$differ++ if $equal ne 't';
		$answers{$answer} = 1;
		$asked++;
	}
	unlike($other->{err}, qr/ERROR/, 'a writer commits');
	is($differ, 0, "$asked statements of one view each");
	cmp_ok(keys %answers, '>', 1, 'and of several views');
	$other->quit;

	# REPEATABLE READ, and another commit meanwhile
	$session->query("BEGIN ISOLATION LEVEL REPEATABLE READ; $PARALLEL; $same");
	my $before = $session->query('SELECT ' . search('w', 40));
	$node->safe_psql('postgres', "DELETE FROM w WHERE id LIKE 'a4%'");
	is($session->query('SELECT ' . search('w', 40)), $before, 'REPEATABLE READ');
	$session->query('COMMIT');
};

subtest 'files that went' => sub {
	my $codes = "$directory/many/segment-0.vectors.npy";
	my $sql = 'SELECT ' . search('many', 20);
	my $waits = "$PARALLEL; SET parallel_leader_participation = off";

	# the leader has it mapped
	rename $codes, "$codes.away" or die "could not rename: $!";
	is(join(' ', ask($waits, $sql)), "$wanted  $DOCUMENTS", 'moved away');
	my $other = LwStore::read_file("$codes.away");
	substr($other, -1_000_000) = "\0" x 1_000_000;
	LwStore::write_file($codes, $other);
	is(join(' ', ask($waits, $sql)), "$wanted  $DOCUMENTS", 'another file in its place');
	unlink $codes;
	rename "$codes.away", $codes or die "could not rename: $!";
	is(join(' ', ask($waits, $sql)), "$wanted $DOCUMENTS $DOCUMENTS", 'back again');
	$session->query('RESET parallel_leader_participation');
};

# The same error by whomever it is found: documents number 333 and 77 are bad.
subtest 'damage' => sub {
	my $mapped = mapped($session);

	foreach my $encoding ('float32', 'int8')
	{
		my $path = "$directory/bad_$encoding";
		my $store = LwStore->create($path, encoding => $encoding, dimension => $DIMENSION);
		my $name = $encoding eq 'int8' ? 'scales' : 'vectors';
		my $size = $encoding eq 'int8' ? 4 : 4 * $DIMENSION;
		my $file = "$path/segment-0.$name.npy";
		my $bytes;

		$store->append(map { document("b$_") } 0 .. $DOCUMENTS - 1);
		$store->commit;
		$bytes = LwStore::read_file($file);
		substr($bytes, 10 + unpack('v', substr($bytes, 8, 2)) + $_ * $TOKENS * $size, 4) = pack('f<', 'nan') foreach 333, 77;
		unlink $file or die "could not remove: $!";
		LwStore::write_file($file, $bytes);
		$session->query(create_source("bad_$encoding", $path));
		foreach my $settings ($SERIAL, $PARALLEL, "$PARALLEL; SET parallel_leader_participation = off")
		{
			like($session->error("$settings; SELECT " . search("bad_$encoding", 5)),
				$encoding eq 'int8' ? qr/XX001: .*\bthe scale of token 1 of document "b77"/ : qr/22023: score of document "b77"/,
				"$encoding: $settings");
		}
		$session->query('RESET parallel_leader_participation');
	}
	is(workers(), '', 'no worker is left');
	is(mapped($session), $mapped, 'nor shared memory');

	# cut under the map
	my $cut = "$directory/many/segment-0.vectors.npy";
	truncate($cut, (-s $cut) / 2) or die "could not cut: $!";
	my $reader = LwSession->new($node);
	foreach my $settings ("$PARALLEL; SET parallel_leader_participation = off", $PARALLEL, $SERIAL)
	{
		like($session->error("$settings; SELECT " . search('many', 5)), qr/XX001: .*segment-0\.vectors\.npy/, "cut: $settings");
	}
	$session->query('RESET parallel_leader_participation');
	like($reader->error("$PARALLEL; SELECT " . search('many', 5)), qr/XX001: .*segment-0\.vectors\.npy/, 'cut, in a new session');
	is($session->query('SELECT 1'), '1', 'the session goes on');
	$reader->quit;
};

# Documents of so many equal tokens that each takes seconds, and neither screen nor bound helps.
subtest 'interruptions' => sub {
	my $store = LwStore->create("$directory/long", encoding => 'int8');
	my @tokens = ([ 1, 1, 1, 1 ]) x 200_000;
	my $slow = "SELECT count(*) FROM lateweave_search('long', (SELECT m FROM slow), 1)";
	my ($pids, $started, $error);

	$store->append(map { [ "l$_", @tokens ] } 1 .. 4);
	$store->commit;
	$session->query(create_source('long', "$directory/long"));
	$session->query("$PARALLEL; CREATE TABLE slow AS
		SELECT multivector_from_bytes(decode(repeat('0000803f0000803f0000803f0000803f', 100000), 'hex'), 4) AS m");
	foreach my $leader ('on', 'off')
	{
		my $reader = LwSession->new($node);
		my $mapped;

		ask($PARALLEL, 'SELECT ' . search('w', 40), $reader);
		$mapped = mapped($reader);
		$started = time;
		like($reader->error("SET parallel_leader_participation = $leader; SET statement_timeout = 500; $slow"), qr/57014/, "cancelled, leader $leader");
		cmp_ok(time - $started, '<', 10, 'soon');
		is(workers(), '', 'no worker is left');
		is(mapped($reader), $mapped, 'nor shared memory');
		is((ask("RESET statement_timeout; RESET parallel_leader_participation; $PARALLEL", 'SELECT ' . search('w', 40), $reader))[0],
			(ask($SERIAL, 'SELECT ' . search('w', 40)))[0], 'the session searches on');
		$reader->quit;
	}

	foreach my $signal ('TERM', 'session', 'KILL')
	{
		my $reader = LwSession->new($node);

		$reader->{in} .= "$PARALLEL; $slow;\n";
		$reader->{run}->pump_nb;
		$pids = wait_until(sub { $reader->{run}->pump_nb; workers() });
		isnt($pids, '', 'workers are at work');
		if ($signal eq 'session')
		{
			$node->safe_psql('postgres', "SELECT pg_terminate_backend($reader->{pid})");
		}
		else
		{
			kill $signal, (split ' ', $pids)[0];
		}
		if ($signal eq 'TERM')
		{
			(undef, $error) = $reader->send('SELECT 1');
			like($error, qr/57P01/, 'a worker was ended: an error');
			is($reader->query('SELECT 1'), '1', 'of the statement only');
			$reader->quit;
		}
		else
		{
			eval { $reader->{run}->finish };
			wait_until(sub { $node->psql('postgres', 'SELECT 1') == 0 && workers() eq '' });
		}
		is(workers(), '', "$signal: no worker is left");
	}
	my $new = LwSession->new($node);
	my ($shared) = ask($PARALLEL, 'SELECT ' . search('w', 40), $new);
	is($shared, (ask($SERIAL, 'SELECT ' . search('w', 40), $new))[0], 'after the server restarted');
	$new->quit;
};

eval { $session->{run}->finish };
$node->stop;
done_testing();
