# Sessions that rank while another process commits, compacts and removes files: every answer is
# that of exactly one commit, and of no older one than the answer before.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwReaders;
use LwStore;
use LwTest;
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(usleep);

my $COMMITS = 300;
my $node = start_node('concurrency');

foreach my $encoding (qw(float32 int8))
{
	my ($store, $answers) = new_store($node, "single_$encoding", encoding => $encoding);
	my @scripts = map {
		my $first = $_;
		script("${encoding}_$first",
			join('', map { statement("single_$encoding", $kinds[ ($first + $_) % @kinds ]) . ";\n" } 1 .. 200))
	} 0 .. 3;
	my $readers = start_readers($node, "single_$encoding", @scripts);

	while ($store->{commit} < $COMMITS)
	{
		change($store, $answers);
		usleep(5_000 * rand);
	}
	my ($errors, @lines) = stop_readers($readers);
	my %seen = (answers => 0);
	is($errors, '', "$encoding: no error while $COMMITS commits were made");
	check("$encoding: each answer is that of one commit, in order", map { complaints($answers, $_, \%seen) } @lines);
	cmp_ok(scalar keys %{ $seen{commits} }, '>', 20, "$encoding: many commits were seen");
	note("$seen{answers} answers of " . keys(%{ $seen{commits} }) . ' commits');
}

# A transaction in REPEATABLE READ gives one commit's answers.
my ($store, $answers) = new_store($node, 'repeated');
my @scripts = map {
	script("repeated_$_",
		join('', map {
			"BEGIN ISOLATION LEVEL REPEATABLE READ;\n" . join('', map { statement('repeated', $_) . ";\n" } @kinds)
			  . "COMMIT;\n" } 1 .. 50))
} 0 .. 1;
my $readers = start_readers($node, 'repeated', @scripts);
while ($store->{commit} < $COMMITS)
{
	change($store, $answers);
	usleep(5_000 * rand);
}
my ($errors, @lines) = stop_readers($readers);
my %seen = (answers => 0);
my @complaints;
is($errors, '', 'REPEATABLE READ: no error');
foreach my $reader (@lines)
{
	push @complaints, complaints($answers, $reader, \%seen);
	my @answers = grep { $_ ne 'session ends' } @$reader;
	while (my @transaction = splice(@answers, 0, scalar @kinds))
	{
		push @complaints, "in one transaction: @transaction" if grep { $_ ne $transaction[0] } @transaction;
	}
}
check('REPEATABLE READ: a transaction sees one commit', @complaints);
cmp_ok(scalar keys %{ $seen{commits} }, '>', 20, 'REPEATABLE READ: many commits were seen');

# Files that vanish while they are opened are looked for in the manifest that replaced the one that named them.
($store, $answers) = new_store($node, 'vanishing');
$readers = start_readers($node, 'vanishing', map { script("vanishing_$_", (statement('vanishing', 'rerank') . ";\n") x 200) } 0 .. 2);
foreach (1 .. 150)
{
	$store->renew($_) foreach @ids, @ids;
	foreach my $kind (0, 1)
	{
		$store->compact if $kind;
		$answers->{ $LwStore::BASE + $store->{commit} + 1 } = expected($store);
		$store->commit;
		$store->reclaim;
	}
}
($errors, @lines) = stop_readers($readers);
is($errors, '', 'no error while 20 segments come and go');
check('and answers of one commit each', map { complaints($answers, $_, \%seen) } @lines);

($store, $answers) = new_store($node, 'fresh');

# Freshness: what was committed before a statement was sent is in its answer.
my $late = 0;
foreach (1 .. 50)
{
	change($store, $answers);
	my $answer = $node->safe_psql('postgres', statement('fresh', 'rerank'));
	$late++ if $answer !~ /^@{[ $LwStore::BASE + $store->{commit} ]}\|\Q$answers->{ $LwStore::BASE + $store->{commit} }\E$/;
}
is($late, 0, 'a new session sees the current commit');

$node->stop;
done_testing();
