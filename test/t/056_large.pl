# A load of 1,000,000 documents in one transaction takes memory in proportion to their number and not to their vectors; and a
# transaction with changes cannot be prepared.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('large', 'max_prepared_transactions = 2');
my $session = LwSession->new($node);

sub memory
{
	return (slurp_file("/proc/$session->{pid}/status") =~ /^RssAnon:\s+(\d+)/m)[0] / 1024;
}

$session->query(q(SELECT lateweave_create_store('s', 'e', 'r', 8, encoding => 'float32', normalized => false)));
$session->query(q(INSERT INTO s VALUES ('before', '[[1,0,0,0,0,0,0,0]]')));
my $before = memory();
my $tokens = '[' . join(',', ('[\" . $_ % 1000 . \",1,2,3,4,5,6,7]') x 8) . ']';
my $program = qq(perl -e 'print "d\$_\\t$tokens\\n" for 1 .. 1_000_000');
$program =~ s/\\"/"/g;
$session->query('BEGIN; COPY s FROM PROGRAM ' . sql_text($program));
my $grown = memory() - $before;

# the vectors are 256 MB, the ids 64 bytes of memory each, and some 16 MB wait in memory
cmp_ok($grown, '<', 128, sprintf('loaded in %.0f MB', $grown));
is($session->query('SELECT count(*) FROM s'), 1_000_001, 'the transaction sees them');
$session->query('COMMIT');
is($node->safe_psql('postgres', "SELECT lateweave_score('s', '[[1,0,0,0,0,0,0,0]]', 'd777777'), (SELECT documents FROM lateweave_sources)"), '777|1000001', 'and then all do');

like($session->error(q(BEGIN; INSERT INTO s VALUES ('x', '[[1,0,0,0,0,0,0,0]]'); PREPARE TRANSACTION 'p')), qr/^ERROR:  0A000: /m, 'a transaction with changes cannot be prepared');
$session->query('ROLLBACK');
is($session->query(q(SELECT lateweave_score('s', '[[1,0,0,0,0,0,0,0]]', 'x') IS NULL)), 't', 'and nothing of it is left');
is($session->error(q(BEGIN; SELECT lateweave_score('s', '[[1,0,0,0,0,0,0,0]]', 'd1'); PREPARE TRANSACTION 'p')), '', 'one that only reads can be');
$session->query(q(COMMIT PREPARED 'p'));

$session->quit;
$node->stop;
done_testing();
