# What the TAP tests share: the golden stores, their SQL, and float32 as bits.
package LwTest;

use strict;
use warnings;

use Cwd qw(abs_path);
use Exporter 'import';
use FindBin;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw($golden read_bytes read_json start_node
  create_source sql_text sql_array sql_id sql_ids sql_query
  $id_hex rows_of_ids
  read_query float_of_bits round_to_float order_of_bits check
  within_bound calls_of);

# The golden stores; an absolute path, which the server can open.
our $golden = abs_path(($ENV{LATEWEAVE_GOLDEN} || "$FindBin::RealBin/../golden") . '/stores');

# psql's bytes are UTF-8 whatever the environment says.
$ENV{PGCLIENTENCODING} = 'UTF8';

sub read_bytes
{
	my ($path) = @_;

	open(my $file, '<:raw', $path) or die "could not open \"$path\": $!";
	local $/ = undef;
	my $bytes = <$file>;
	close($file);
	return $bytes;
}

# Integers up to 2^64-1 stay what they are: JSON::PP keeps long ones as strings.
sub read_json
{
	my ($path) = @_;

	return JSON::PP->new->utf8->decode(read_bytes($path));
}

# A server with the extension; settings are lines of its postgresql.conf. The worker leaves the stores alone unless they say otherwise.
sub start_node
{
	my ($name, @settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', join("\n", 'fsync = off', 'lateweave.heartbeat = 0',
			'lateweave.compact_segments = 1000000', 'lateweave.compact_deleted_fraction = 1', @settings));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION lateweave');
	return $node;
}

sub sql_text
{
	my ($text) = @_;

	$text =~ s/'/''/g;
	return "'$text'";
}

# An id as an expression that has nothing to escape.
sub sql_id
{
	my ($id) = @_;
	my $bytes = $id;

	utf8::encode($bytes);
	return "convert_from('\\x" . unpack('H*', $bytes) . "', 'UTF8')";
}

sub sql_array
{
	my ($type, @elements) = @_;

	return 'ARRAY[' . join(',', @elements) . "]::${type}[]";
}

sub sql_ids
{
	return sql_array('text', map { sql_id($_) } @_);
}

# The expression for the output of an id, and the id out of it; psql drops U+10FFFF, and splits lines.
our $id_hex = q(encode(convert_to(id, 'UTF8'), 'hex'));

sub id_of_hex
{
	my ($hex) = @_;
	my $id = pack('H*', $hex);

	utf8::decode($id) or die "\"$hex\" is no UTF-8";
	return $id;
}

# The rows of a statement whose first column is $id_hex.
sub rows_of_ids
{
	my ($script, $key) = @_;

	return map { [ id_of_hex(shift(@$_)), @$_ ] } $script->fields($key);
}

sub create_source
{
	my ($table, $store, @options) = @_;

	return "CREATE FOREIGN TABLE $table (id text NOT NULL, tokens multivector) SERVER lateweave OPTIONS ("
	  . join(', ', 'store ' . sql_text($store), @options) . ')';
}

# A query file, version 1 of the .npy format: its rows, a list of numbers each, and its bytes.
sub read_query
{
	my ($path) = @_;
	my $bytes = read_bytes($path);
	my $header = substr($bytes, 10, unpack('v', substr($bytes, 8, 2)));
	my ($tokens, $dimension) = $header =~ /'descr': '<f4'.*\((\d+), (\d+)\)/
	  or die "\"$path\" is no query";
	my $data = substr($bytes, 10 + length($header));
	my @values = unpack('f<*', $data);

	die "\"$path\" has another size" unless @values == $tokens * $dimension;
	return {
		dimension => $dimension,
		bytes => $data,
		rows => [ map { [ splice(@values, 0, $dimension) ] } 1 .. $tokens ]
	};
}

sub sql_query
{
	my ($query) = @_;

	return "multivector_from_bytes('\\x" . unpack('H*', $query->{bytes}) . "', $query->{dimension})";
}

# float32 values travel as the eight hex digits of their bits.
sub float_of_bits
{
	my ($bits) = @_;

	return unpack('f>', pack('H8', $bits));
}

# The nearest float32; of a sum of two float32 it is their float32 sum.
sub round_to_float
{
	my ($value) = @_;

	return unpack('f', pack('f', $value));
}

# A number that is larger the larger the float is, +0 above -0.
sub order_of_bits
{
	my ($bits) = @_;
	my $number = hex($bits);

	return $number & 0x80000000 ? 0xffffffff - $number : $number + 0x80000000;
}

# Whether a score is what it has to be; `exact` ones have the reference's bits, a bound of inf says nothing.
sub within_bound
{
	my ($bits, $wanted, $float64, $bound, $exact) = @_;

	return $bits eq $wanted if $exact;
	return 1 if $bound eq 'inf';

	# written so that NaN is not within
	return abs(float_of_bits($bits) - $float64) <= $bound;
}

# One test out of many comparisons: passes when none of them left a complaint.
sub check
{
	my ($name, @complaints) = @_;
	my $good = ok(@complaints == 0, $name);

	diag(join("\n", @complaints > 5 ? (@complaints[ 0 .. 4 ], '...') : @complaints)) unless $good;
	return $good;
}

# The system calls of a kind that a statement makes in a session, by strace; undef where that does not attach.
sub calls_of
{
	my ($session, $kind, $sql) = @_;
	my $trace = PostgreSQL::Test::Utils::tempdir() . '/trace';
	my $tracer = IPC::Run::start(
		[ 'strace', '-q', '-e', "trace=%file,$kind", '-o', $trace, '-p', $session->{pid} ], '>' => \my $out, '2>' => \my $err);
	my $begun = 0;

	# attached when it shows a call that is made on purpose
	foreach (1 .. 100)
	{
		$session->query("SELECT pg_stat_file('PG_VERSION')");
		last if $begun = -s $trace && read_bytes($trace) =~ /PG_VERSION/;
		last if !$tracer->pumpable;
		usleep(50_000);
	}
	if ($begun)
	{
		$session->query("SELECT pg_stat_file('postgresql.conf'); $sql; SELECT pg_stat_file('postgresql.conf')");
		kill 'INT', $tracer->{KIDS}[0]{PID};
	}
	eval { $tracer->finish };
	return undef if !$begun;
	my (undef, $calls) = split(/^.*postgresql\.conf.*\n/m, read_bytes($trace));
	return $calls;
}

1;
