# A file that is cut while sessions have it mapped is an error of the statement that reads it, and no more.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use File::Copy;
use LwSession;
use LwStore;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $DOCUMENTS = 3000;    # so that each file has several pages
my $directory = PostgreSQL::Test::Utils::tempdir();
my $Q = $LwStore::QUERY;
my $node = start_node('truncate');
my $last = 'd' . ($DOCUMENTS - 1);
my $value = $DOCUMENTS - 1;
my %store;

foreach my $encoding (qw(float32 int8))
{
	$store{$encoding} = LwStore->create("$directory/$encoding", encoding => $encoding);
	$store{$encoding}->put(map { ("d$_", $_) } 0 .. $DOCUMENTS - 1);
	$store{$encoding}->commit;
	$node->safe_psql('postgres', create_source($encoding, $store{$encoding}{path}));
}
my $session = LwSession->new($node);
my $bystander = LwSession->new($node);
my $started = $session->query('SELECT pg_postmaster_start_time()');

# Statements that read the last document; each gives its score.
sub statements
{
	my ($table) = @_;

	return (
		"SELECT lateweave_score('$table', '$Q', '$last')",
		"SELECT -('$last'::text \@# maxsim_query('$table', '$Q'))",
		"SELECT score FROM lateweave_rerank('$table', '$Q', ARRAY['d1', '$last'], 1)",
		"SELECT score FROM lateweave_rerank(ARRAY['$table']::regclass[], '$Q', '{1}', ARRAY['$last'])",
		"SELECT score FROM lateweave_search('$table', '$Q', 1)",
		"SELECT maxsim(maxsim_query('$Q'), tokens) FROM lateweave_fetch('$table', ARRAY['$last'])",
		"SELECT sum(similarity) FROM lateweave_explain('$table', '$Q', '$last')",
		"SELECT maxsim(maxsim_query('$Q'), tokens) FROM $table WHERE id = '$last'",
		"SELECT max(maxsim(maxsim_query('$Q'), tokens)) FROM $table");
}

# Cuts a file in place, having left a whole copy beside.
sub cut
{
	my ($file, $size) = @_;

	copy($file, "$file.whole") or die "could not copy $file: $!";
	truncate($file, $size) or die "could not truncate $file: $!";
	return;
}

sub restore
{
	my ($file) = @_;

	rename "$file.whole", $file or die "could not rename to $file: $!";
	return;
}

sub complaint
{
	my ($error, $file, $what) = @_;

	return if $error =~ /^ERROR:  XX001: .*\Q$file\E/m;
	return "$what: " . ($error || 'no error');
}

foreach my $encoding (qw(float32 int8))
{
	foreach my $part ('offsets', $encoding eq 'int8' ? qw(codes scales) : 'vectors')
	{
		my $file = "$store{$encoding}{path}/segment-0.$part.npy";

		foreach my $size (0, 4096)
		{
			my (@complaints, @after);

			foreach my $statement (statements($encoding))
			{
				# both have the file mapped
				push @after, $statement if grep { $_->query($statement) != $value } $session, $bystander;
				cut($file, $size);
				push @complaints, complaint($session->error($statement), $file, $statement);
				push @complaints, complaint($session->error($statement), $file, "$statement, repeated");
				push @complaints, complaint($bystander->error($statement), $file, "$statement, in another session");
				restore($file);
				push @after, $statement if grep { $_->query($statement) != $value } $session, $bystander;
			}
			check("$encoding: $part cut to $size bytes", @complaints);
			check("$encoding: $part restored", @after);
		}
	}
}

# Zeros stand where the pages were: who goes on with the same view must not take them for vectors.
foreach my $part (qw(vectors offsets))
{
	my $file = "$store{float32}{path}/segment-0.$part.npy";
	my ($score) = statements('float32');
	my @complaints;

	$session->query("BEGIN ISOLATION LEVEL REPEATABLE READ; $score; SAVEPOINT x");
	cut($file, 4096);
	foreach my $statement (statements('float32'), statements('float32'))
	{
		push @complaints, complaint($session->error($statement), $file, $statement);
		$session->query('ROLLBACK TO x');
	}
	restore($file);
	push @complaints, complaint($session->error($score), $file, 'restored');
	$session->query('ROLLBACK');
	check("a transaction that keeps a view with $part cut gets an error each time", @complaints);
	is($session->query($score), $value, 'and the next one reads the restored file');

	$session->query(<<"EOM");
CREATE OR REPLACE FUNCTION try() RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE answer text := '';
BEGIN
	FOR i IN 1 .. 3 LOOP
		BEGIN
			answer := answer || ($score);
		EXCEPTION WHEN data_corrupted THEN
			answer := answer || 'damaged ';
		END;
	END LOOP;
	RETURN answer;
END \$\$;
BEGIN; DECLARE c CURSOR FOR $score FROM generate_series(1, 5); FETCH c
EOM
	cut($file, 4096);
	is($session->query('SELECT try()'), 'damaged damaged damaged ', 'so does a function that catches it');
	$session->query('SAVEPOINT x');
	@complaints = complaint($session->error('FETCH c'), $file, 'FETCH');
	$session->query('ROLLBACK TO x');
	check('and a cursor', @complaints);
	$session->query('ROLLBACK');
	restore($file);
	is($session->query($score), $value, 'all read the restored file');
}

my $manifest = "$store{float32}{path}/manifest.json";
my ($score) = statements('float32');
is($session->query($score), $value, 'before the manifest is cut');
cut($manifest, 10);
check('a manifest that is cut', complaint($session->error($score), $manifest, $score));
restore($manifest);
is($session->query($score), $value, 'and restored');

is($session->query('SELECT pg_postmaster_start_time()'), $started, 'the server has been up all the time');
ok(slurp_file($node->logfile) !~ /terminated by signal/, 'and lost no process');

# Every other SIGBUS does what it does without the extension.
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->reload;
kill 'BUS', $session->{pid};
$session->send('SELECT 1');
ok($node->poll_query_until('postgres', 'SELECT true'), 'the server restarts');
ok(slurp_file($node->logfile) =~ /\(PID $session->{pid}\) was terminated by signal 7/,
	'after a SIGBUS that has nothing to do with a map');
is($node->safe_psql('postgres', $score), $value, 'and reads the store');

$node->stop;
done_testing();
