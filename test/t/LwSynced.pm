# A table and the store that triggers keep in step with it, on a server that is made to fail:
# what must agree afterwards, and how a server is waited for.
#
# Row `id` of the table has a `value`, and its document one or more tokens that all begin with
# the value, so that it scores the value for $LwSynced::QUERY.
package LwSynced;

use strict;
use warnings;

use LwStore;
use LwTest;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep time);

our $QUERY = '[[1,0,0,0]]';

# new(NODE, NAME): table NAME, store NAME_v.
sub new
{
	my ($class, $node, $name) = @_;
	my $self = bless { node => $node, table => $name, source => "${name}_v" }, $class;

	$node->safe_psql(
		'postgres', qq(
		SELECT lateweave_create_store('$self->{source}', 'e', 'r', 4, 'float32', normalized => false);
		CREATE TABLE $name (id int PRIMARY KEY, value int NOT NULL, tokens multivector);
		ALTER TABLE $name ALTER tokens SET STORAGE EXTERNAL;
		CREATE TRIGGER rows AFTER INSERT OR UPDATE OR DELETE ON $name
			FOR EACH ROW EXECUTE FUNCTION lateweave_sync('public.$self->{source}', 'id', 'tokens');
		CREATE TRIGGER all_rows AFTER TRUNCATE ON $name
			FOR EACH STATEMENT EXECUTE FUNCTION lateweave_sync('public.$self->{source}', 'id', 'tokens')));
	$self->{path} = $node->safe_psql('postgres',
		"SELECT path FROM lateweave_sources WHERE source = '$self->{source}'::regclass");
	return $self;
}

# A statement that gives rows `from` to `to` new values, which are expressions of id; `tokens` a document.
sub put
{
	my ($self, $from, $to, $value, $tokens) = @_;

	return "INSERT INTO $self->{table} SELECT id, value, "
	  . ($tokens ? "array_fill(value::real, ARRAY[$tokens, 4])::multivector" : "format('[[%s,0,0,0]]', value)::multivector")
	  . " FROM (SELECT id, $value AS value FROM generate_series($from, $to) id) rows"
	  . " ON CONFLICT (id) DO UPDATE SET value = excluded.value, tokens = excluded.tokens";
}

# What differs, one line each, as a statement sees table and store together; it must not fail.
sub differences_sql
{
	my ($self) = @_;

	return "SELECT concat_ws(' ', id, problem) FROM lateweave_diff('$self->{source}', '$self->{table}', 'id')"
	  . " UNION ALL SELECT format('%s scores %s, not %s', id, score, value)"
	  . " FROM (SELECT id, value::real, lateweave_score('$self->{source}', '$QUERY', id::text) AS score FROM $self->{table}) x"
	  . " WHERE score IS DISTINCT FROM value";
}

sub differences
{
	my ($self) = @_;
	my ($out, $err) = ('', '');
	my $status = $self->{node}->psql('postgres', $self->differences_sql, stdout => \$out, stderr => \$err);

	return ($status ? $err : (), split(/\n/, $out));
}

# The same by a reader of the files, and what else is wrong with them, when nobody writes.
sub file_differences
{
	my ($self) = @_;
	my $store = LwStore->load($self->{path});
	my %store = map { $_->[0] => $_->[1][0] } $store->documents;
	my %table = map { split /\|/ } split /\n/, $self->{node}->safe_psql('postgres', "SELECT id, value FROM $self->{table}");
	my $bad = $self->{node}->safe_psql('postgres', "SELECT * FROM lateweave_verify('$self->{source}') WHERE NOT ok");

	return (
		(map { "the files have " . ($store{$_} // 'no') . " $_, the table has " . ($table{$_} // 'none') }
			  grep { ($store{$_} // '') ne ($table{$_} // '') } sort keys %{ { %store, %table } }),
		(map { "$_ should not be there" } $store->strays),
		split(/\n/, $bad));
}

# Waits until the server takes connections again.
sub wait_for_server
{
	my ($node) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;

	while (time < $end)
	{
		# a psql that is refused may be gone before it is written to, which is an exception
		return if (eval { $node->psql('postgres', 'SELECT 1', stdout => \my $out, stderr => \my $err) } // 1) == 0;
		sleep 0.02;
	}
	die 'the server does not come back';
}

# Clients that go on until they are stopped or the server goes: `count` sessions, which
# run a script over and over, its statements on one line each; returns a handle.
sub start_clients
{
	my ($node, $count, $script) = @_;
	my $path = PostgreSQL::Test::Utils::tempdir() . '/clients.sql';

	unlink $path;
	append_to_file($path, $script);
	my %clients = (out => '');
	$clients{run} = IPC::Run::start(
		[ 'pgbench', '-n', '-c', $count, '-T', 3600, '-f', $path, $node->connstr('postgres') ],
		'>' => \$clients{out}, '2>' => \$clients{out});
	return \%clients;
}

sub stop_clients
{
	my ($clients) = @_;

	$clients->{run}->signal('INT');
	eval { $clients->{run}->finish };
	return $clients->{out};
}

1;
