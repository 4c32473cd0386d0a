# Long scores can be cancelled, whichever way they take, and nobody who watches the sources waits or learns too much.
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
use Time::HiRes qw(time);

# A statement may run for $TIMEOUT ms; each of these would take far longer than $PATIENCE s.
my $TIMEOUT = 300;
my $PATIENCE = 5;
my $TOKENS = 400_000;

my $directory = PostgreSQL::Test::Utils::tempdir();
my $node = start_node('interrupts');

# One document of many equal tokens: for int8 neither screen nor bound rules any out.
foreach my $encoding ('float32', 'int8')
{
	my $store = LwStore->create("$directory/$encoding", encoding => $encoding);

	$store->append([ "d", ([ 1, 1, 1, 1 ]) x $TOKENS ]);
	$store->commit;
	$node->safe_psql('postgres', create_source("long_$encoding", "$directory/$encoding"));
}
$node->safe_psql('postgres', "CREATE TABLE many AS
	SELECT multivector_from_bytes(decode(repeat('0000803f0000803f0000803f0000803f', $TOKENS), 'hex'), 4) AS m");

my $session = LwSession->new($node);
my $pid = $session->{pid};
$session->query("SET statement_timeout = $TIMEOUT");

my %long = (
	'maxsim' => 'SELECT maxsim(maxsim_query(m), m) FROM many',
	map {
		("score, $_" => "SELECT lateweave_score('long_$_', m, 'd') FROM many",
			"explain, $_" => "SELECT count(*) FROM many, lateweave_explain('long_$_', m, 'd')")
	} 'float32', 'int8');
foreach my $name (sort keys %long)
{
	my $started = time;
	my $error = $session->error($long{$name});
	my $took = time - $started;

	like($error, qr/57014/, "$name is cancelled");
	cmp_ok($took, '<', $PATIENCE, "$name ends soon");
}
$session->query('RESET statement_timeout');
is($session->query("SELECT lateweave_score('long_int8', '[[1,1,1,1]]', 'd') = lateweave_score('long_float32', '[[1,1,1,1]]', 'd'),
		pg_backend_pid() = $pid"), 't|t', 'and the session scores on');

# A table that somebody is changing is a row with an error, at once.
my $other = LwSession->new($node);
foreach my $change ('ALTER FOREIGN TABLE long_int8 OPTIONS (ADD min_commit \'0\')', 'DROP FOREIGN TABLE long_int8')
{
	$other->query("BEGIN; $change");
	$session->query("SET statement_timeout = '5s'");
	is($session->query("SELECT error, documents FROM lateweave_sources WHERE source = 'pg_class'::regclass OR error IS NOT NULL"),
		'another session is changing the foreign table|', "$change: its row says so");
	is($session->query("SELECT documents FROM lateweave_sources WHERE error IS NULL"), '1', 'other rows are there');
	$other->query('ROLLBACK');
	is($session->query('SELECT count(*) FROM lateweave_sources WHERE error IS NULL'), '2', 'both afterwards');
}
is($session->query('SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()
		AND relation IN (\'long_int8\'::regclass, \'long_float32\'::regclass)'), '0', 'the view keeps no lock');

# Tables come and go: the view never fails.
my $failed = 0;
my $writer = LwSession->new($node);
$writer->{in} .= "DO \$\$ BEGIN FOR i IN 1..300 LOOP
	CREATE FOREIGN TABLE comes (id text) SERVER lateweave OPTIONS (store '$directory/float32');
	COMMIT; DROP FOREIGN TABLE comes; COMMIT; END LOOP; END \$\$;\nSELECT 'done';\n";
$writer->{out} = '';
my $polls = 0;
until ($writer->{out} =~ /done/ || $polls > 20_000)
{
	$writer->{run}->pump_nb;
	$failed++ if $session->error('SELECT count(*) FROM lateweave_sources') ne '';
	$polls++;
}
is($failed, 0, 'the view never fails while tables come and go');
like($writer->{out}, qr/done/, "they did, during $polls looks");

# A plan tells nothing of a source to whom may not read it.
$node->safe_psql('postgres', 'CREATE ROLE stranger LOGIN');
my $stranger = LwSession->new($node, user => 'stranger');
my $explain = "EXPLAIN SELECT * FROM lateweave_search('long_float32', '[[1,1,1,1]]', 1000000)";
like($session->query($explain), qr/rows=1 /, 'the owner sees an estimate from the manifest');
like($stranger->query($explain), qr/rows=1000 /, 'a stranger sees the default');

done_testing();
