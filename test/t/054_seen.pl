# What had committed before a statement began is in what it sees of a store, whoever has published
# it or not yet, while others commit and publish, and some publishes fail.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwSynced;
use LwTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{LATEWEAVE_LONG} ? 60 : 5;
my $directory = PostgreSQL::Test::Utils::tempdir();

# Values only grow, so a document never scores less than the row that the same statement sees.
append_to_file("$directory/read.sql", <<"EOM");
SELECT 1 / (count(*) = 0)::int FROM docs WHERE coalesce(lateweave_score('docs_v', '$LwSynced::QUERY', id::text), -1) < value;
EOM
append_to_file("$directory/join.sql", <<"EOM");
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1 / (count(*) = 0)::int FROM docs LEFT JOIN docs_v v ON v.id = docs.id::text WHERE coalesce(maxsim(maxsim_query('$LwSynced::QUERY'), v.tokens), -1) < value;
COMMIT;
EOM
append_to_file("$directory/write.sql", <<'EOM');
\set id random(1, 10)
UPDATE docs SET value = value + 1, tokens = format('[[%s,0,0,0]]', value + 1)::multivector WHERE id = :id;
EOM

# Some of whose commits stay pending for a moment, or for long. A session's first change, which sees to what a crash
# may have left, would be an error.
my @points = qw(segment-created names-sync manifest-create manifest-rename round-durable intent-drop intents-dropped);
foreach my $point (@points)
{
	append_to_file("$directory/$point.sql", <<"EOM");
SET client_min_messages = error;
UPDATE docs SET value = value + 1, tokens = format('[[%s,0,0,0]]', value + 1)::multivector WHERE id = 4;
SET lateweave.fault = '$point:eio';
UPDATE docs SET value = value + 1, tokens = format('[[%s,0,0,0]]', value + 1)::multivector WHERE id = 5;
SET lateweave.fault = '$point:sleep';
UPDATE docs SET value = value + 1, tokens = format('[[%s,0,0,0]]', value + 1)::multivector WHERE id = 6;
SET lateweave.fault = '';
EOM
}

foreach my $preload (1, 0)
{
	my $node = start_node("seen$preload", $preload ? "shared_preload_libraries = 'lateweave'" : ());
	my $docs = LwSynced->new($node, 'docs');
	my $with = $preload ? 'with preload' : 'without preload';

	$node->safe_psql('postgres', $docs->put(1, 10, 0));
	foreach my $faults (0, 1)
	{
		my ($out, $err) = ('', '');
		IPC::Run::run(
			[
				'pgbench', '-n', '-c', 6, '-j', 2, '-T', $seconds,
				(map { ('-f', "$directory/$_") } 'write.sql@60', 'read.sql@60', 'join.sql@20', $faults ? map { "$_.sql\@1" } @points : ()),
				$node->connstr('postgres') ],
			'>' => \$out, '2>' => \$err);
		my ($transactions) = $out =~ /number of transactions actually processed: (\d+)/;
		unlike($err, qr/abort|ERROR|PANIC/, "every statement sees what had committed, $with" . ($faults ? ', while publishes fail' : ''));
		cmp_ok($transactions, '>', 50, "transactions were made, $with");
		check("table and store agree, $with", $docs->differences);
	}
	$node->safe_psql('postgres', "SELECT lateweave_commit('docs_v')");
	check("and files, $with", $docs->differences, $docs->file_differences);
	$node->stop;
}
done_testing();
