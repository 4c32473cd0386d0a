# Which store a table is over: what happens when files vanish, break, return, or are others.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwStore;
use LwTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Test::More;

my $directory = PostgreSQL::Test::Utils::tempdir();
my $Q = $LwStore::QUERY;
my $node = start_node('identity');
my $store = LwStore->create("$directory/store");
$store->put(a => 1, b => 2);
$store->commit;
$node->safe_psql('postgres', create_source('s', $store->{path}));
my $session = LwSession->new($node);
my $score = "SELECT lateweave_score('s', '$Q', 'a')";

sub move
{
	my ($from, $to) = @_;

	rename $from, $to or die "could not rename $from to $to: $!";
	return;
}

# A new value of a, to see later which store answers.
sub set
{
	my ($in, $value) = @_;

	$in->put(a => $value);
	$in->commit;
	return;
}

subtest 'a missing file' => sub {
	my $file = "$store->{path}/segment-0.vectors.npy";

	is($session->query($score), 1, 'a session has it mapped');
	unlink "$file.away";
	move($file, "$file.away");
	is($session->query($score), 1, 'and goes on without it');
	my $fresh = LwSession->new($node);
	my $error = $fresh->error($score);
	like($error, qr/ERROR:  58P01: .*\Q$file\E/, 'a new session says what is missing');
	like($error, qr/HINT:/, 'and what to do');
	is($fresh->query("SELECT error FROM lateweave_sources WHERE source = 's'::regclass") =~ /\Q$file\E/,
		1, 'lateweave_sources says it too');
	like($fresh->error($score), qr/58P01/, 'each time');
	move("$file.away", $file);
	is($fresh->query($score), 1, 'until it is back');
	$fresh->quit;
};

subtest 'a broken manifest' => sub {
	my $path = "$store->{path}/manifest.json";

	$session->query("BEGIN ISOLATION LEVEL REPEATABLE READ; $score");
	my $other = LwSession->new($node);
	is($other->query($score), 1, 'before');
	move($path, "$path.good");
	LwStore::write_file($path, '{"format": ');
	like($other->error($score), qr/ERROR:  XX001: .*\Q$path\E/, 'an error that names it');
	is($session->query($score), 1, 'a transaction that has a view keeps it');
	like($other->error("BEGIN; $score"), qr/XX001/, 'in a transaction');
	$other->query('ROLLBACK');

	# the last view has what the repaired manifest names
	my $file = "$store->{path}/segment-0.vectors.npy";
	move($file, "$file.away");
	move("$path.good", $path);
	is($other->query($score), 1, 'the view is the last one again once the manifest is repaired');
	move("$file.away", $file);
	$session->query('COMMIT');
	is($session->query($score), 1, 'in both sessions');
	$other->quit;

	chmod 0644, $path;
	move($path, "$path.good");
	like($session->error($score), qr/ERROR:  58P01: .*\Q$path\E/, 'a missing one is missing at once');
	move("$path.good", $path);
	is($session->query($score), 1, 'and back');
};

subtest 'a missing store' => sub {
	move($store->{path}, "$directory/away");
	my $error = $session->error($score);
	like($error, qr/ERROR:  58P01: .*\Q$store->{path}\E/, 'is named');
	like($error, qr/HINT:  .*moved/, 'with a hint');
	$error = $session->error('SELECT * FROM s');
	like($error, qr/ERROR:  58P01: /, 'also by a scan');
	move("$directory/away", $store->{path});
	is($session->query($score), 1, 'works again in the same session');
};

subtest 'another store at the path' => sub {
	my $other = LwStore->create("$directory/other");
	set($other, 7);
	move($store->{path}, "$directory/away");
	move("$directory/other", $store->{path});
	foreach my $statement ($score, "SELECT * FROM lateweave_search('s', '$Q', 1)", 'SELECT * FROM s', "SELECT lateweave_as_of('s')")
	{
		my $error = $session->error($statement);

		like($error, qr/^ERROR:  55000: (?=.*store-store)(?=.*store-other)/m, "$statement names both ids");
		like($error, qr/HINT:  .*SET store_id/, 'and says how it is accepted');
	}
	$session->query("ALTER FOREIGN TABLE s OPTIONS (SET store_id 'store-other')");
	is($session->query($score), 7, 'accepted, it is the one that answers');
	is($session->query("SELECT lateweave_score('s', '$Q', 'b') IS NULL"), 't', 'and it only');
	my $fresh = LwSession->new($node);
	is($fresh->query($score), 7, 'in a new session');

	move($store->{path}, "$directory/other");
	move("$directory/away", $store->{path});
	like($_->error($score), qr/^ERROR:  55000: (?=.*store-store)(?=.*store-other)/m, 'the first one at its place is refused')
	  foreach $session, $fresh;
	$session->query("ALTER FOREIGN TABLE s OPTIONS (SET store_id 'store-store')");
	is($_->query($score), 1, 'until it is accepted') foreach $session, $fresh;
	$fresh->quit;
};

subtest 'another store in the same directory' => sub {
	foreach my $corpus ('views', 'another corpus')
	{
		my $path = "$directory/" . ($corpus =~ s/ /-/r);
		my $first = LwStore->create($path, store_id => 'first');
		set($first, 3);
		$node->safe_psql('postgres', create_source('inside', $path));
		is($session->query($score =~ s/'s'/'inside'/r), 3, 'the first store');
		$session->query(create_source('awaiting', $path, "store_id 'second'"));
		my $other = LwSession->new($node);
		is($other->query($score =~ s/'s'/'inside'/r), 3, 'in another session');
		$session->query("BEGIN ISOLATION LEVEL REPEATABLE READ;" . ($score =~ s/'s'/'inside'/r));

		unlink glob("$path/*");
		my $second = LwStore->create("$path-2", store_id => 'second', corpus => $corpus);
		set($second, 4);
		move($_, $path . substr($_, length "$path-2")) foreach glob("$path-2/*");
		is($session->query($score =~ s/'s'/'inside'/r), 3, 'a transaction keeps its view');
		is($session->query($score =~ s/'s'/'awaiting'/r), 4, 'a table of the second store does not share it')
		  if $corpus eq 'views';
		like($other->error($score =~ s/'s'/'inside'/r), qr/55000/, 'the other session refuses the second store');
		$session->query("ALTER FOREIGN TABLE inside OPTIONS (SET store_id 'second')");
		is($session->query($score =~ s/'s'/'inside'/r), 4, 'until it accepts the second store itself');
		$session->query('ROLLBACK');
		like($session->error($score =~ s/'s'/'inside'/r), qr/55000/, 'the second store is refused');
		$session->query("ALTER FOREIGN TABLE inside OPTIONS (SET store_id 'second')");
		is($_->query($score =~ s/'s'/'inside'/r), 4, 'until it is accepted') foreach $session, $other;
		$session->query('DROP FOREIGN TABLE inside, awaiting');
		$other->quit;
	}
};

subtest 'an older copy of the store' => sub {
	PostgreSQL::Test::RecursiveCopy::copypath($store->{path}, "$directory/older");
	set($store, 5);
	is($session->query($score), 5, 'the newer commit');
	my $commit = $store->{commit};
	$session->query("ALTER FOREIGN TABLE s OPTIONS (ADD min_commit '$commit')");
	is($session->query($score), 5, 'is not older than min_commit');

	move($store->{path}, "$directory/newer");
	move("$directory/older", $store->{path});
	my $error = $session->error($score);
	like($error, qr/^ERROR:  55000: (?=.*\b$commit\b)(?=.*\b@{[$commit - 1]}\b)/m, 'the older one is refused');
	like($error, qr/HINT:  .*min_commit/, 'with a hint');
	$session->query("ALTER FOREIGN TABLE s OPTIONS (SET min_commit '@{[$commit - 1]}')");
	is($session->query($score), 1, 'unless min_commit says otherwise');
	$session->query("ALTER FOREIGN TABLE s OPTIONS (SET min_commit '$commit')");
	like($session->error($score), qr/55000/, 'refused again');
	move($store->{path}, "$directory/older");
	move("$directory/newer", $store->{path});
	is($session->query($score), 5, 'the newer one is back');
	$session->query('ALTER FOREIGN TABLE s OPTIONS (DROP min_commit)');
};

subtest 'a table that is altered' => sub {
	my %values = (one => 10, two => 20, three => 30, four => 40);
	my %path;
	foreach my $name (keys %values)
	{
		my $other = LwStore->create("$directory/altered-$name");
		set($other, $values{$name});
		$path{$name} = $other->{path};
	}
	my $alter = sub { return "ALTER FOREIGN TABLE altered OPTIONS (SET store '$path{$_[0]}', SET store_id 'store-altered-$_[0]')" };
	my $altered = $score =~ s/'s'/'altered'/r;

	$session->query(create_source('altered', $path{one}));
	is($session->query($altered), 10, 'first store');
	$session->query($alter->('two'));
	is($session->query($altered), 20, 'another store');
	$session->query('DROP FOREIGN TABLE altered; ' . create_source('altered', $path{three}));
	is($session->query($altered), 30, 'dropped and created');

	# a store that is forgotten while its table is dropped, but comes back
	$session->query('BEGIN; DROP FOREIGN TABLE altered; ' . create_source('other', $path{four}));
	is($session->query($score =~ s/'s'/'other'/r), 40, 'another table in a transaction that drops it');
	$session->query('ROLLBACK');
	is($session->query($altered), 30, 'the drop was rolled back');

	foreach my $level ('READ COMMITTED', 'REPEATABLE READ')
	{
		$session->query("BEGIN ISOLATION LEVEL $level");
		is($session->query($altered), 30, "$level: before");
		$session->query($alter->('one'));
		is($session->query($altered), 10, "$level: altered in the transaction");
		$session->query($alter->('two'));
		is($session->query($altered), 20, "$level: altered again");
		$session->query('ROLLBACK');
		is($session->query($altered), 30, "$level: rolled back");
	}

	# nothing to do with the table, but all definitions are read again
	$session->query("BEGIN ISOLATION LEVEL REPEATABLE READ; $altered");
	move($path{three}, "$directory/away");
	$session->query(create_source('other', $path{two}) . '; DROP FOREIGN TABLE other');
	is($session->query($altered), 30, 'a transaction keeps its view whatever happens to other tables');
	$session->query('COMMIT');
	move("$directory/away", $path{three});

	# many stores, so that those which no table names any more are forgotten in between
	$session->query("CREATE FUNCTION alter_and_score() RETURNS text LANGUAGE plpgsql AS \$\$\nDECLARE answer text := '';\nBEGIN\n"
		  . join('', map { $alter->($_) . ";\n answer := answer || ' ' || ($altered);\n" } qw(one two three one two))
		  . "RETURN answer;\nEND \$\$");
	is($session->query('SELECT alter_and_score()'), ' 10 20 30 10 20', 'altered within a function');
	is($session->query($altered), 20, 'and after it');
};

$session->quit;
$node->stop;
done_testing();
