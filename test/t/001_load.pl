# The extension loads with and without shared_preload_libraries, and the server stays up.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

sub check_loaded
{
	my ($node, $how) = @_;

	my $active = $node->safe_psql('postgres',
		'SELECT count(*) FROM lateweave_kernels() WHERE available AND active');
	is($active, '1', "one kernel is active $how");

	my $scalar = $node->safe_psql('postgres',
		"SELECT available FROM lateweave_kernels() WHERE kernel = 'scalar'");
	is($scalar, 't', "the scalar kernel is there $how");
}

my $node = PostgreSQL::Test::Cluster->new('load');
$node->init;
$node->start;

$node->safe_psql('postgres', 'CREATE EXTENSION lateweave');
check_loaded($node, 'without preload');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'lateweave'");
$node->restart;
check_loaded($node, 'with preload');

$node->safe_psql('postgres', 'DROP EXTENSION lateweave');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_proc WHERE proname ~ '^lateweave'"),
	'0', 'dropping the extension leaves nothing');

unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal/, 'no crash in the log');
$node->stop;

done_testing();
