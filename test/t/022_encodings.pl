# Ids are UTF-8 in the files; a database of another encoding converts them both ways.
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

my $directory = PostgreSQL::Test::Utils::tempdir();
my $Q = $LwStore::QUERY;
my $node = start_node('encodings');

# UTF-8, as the files have it and psql sends it
my $french = "caf\xc3\xa9";
my $russian = "\xd1\x8f\xd0\xb1\xd0\xbb\xd0\xbe\xd0\xba\xd0\xbe";
my $japanese = "\xe6\x97\xa5\xe6\x9c\xac";
my @ids = ('plain', $french, $russian, $japanese);

my $store = LwStore->create("$directory/store", corpus => $russian, encoder => $japanese, store_id => $french);
$store->put(map { $ids[$_] => $_ + 1 } 0 .. $#ids);
$store->commit;

sub escaped
{
	my ($bytes) = @_;

	return join('', map { ord($_) < 0x7f ? $_ : sprintf('\\x%02x', ord $_) } split(//, $bytes));
}

# encoding => {id => its bytes in that encoding in hexadecimal}, for those that it has
my %held = (
	LATIN1 => { plain => '706c61696e', $french => '636166e9' },
	WIN1251 => { plain => '706c61696e', $russian => 'ffe1ebeeeaee' },
	EUC_JP => { plain => '706c61696e', $russian => 'a7f1a7d2a7dda7e0a7dca7e0', $japanese => 'c6fccbdc', $french => '6361668fabb1' },
	UTF8 => { map { $_ => unpack('H*', $_) } @ids },
	SQL_ASCII => { map { $_ => unpack('H*', $_) } @ids });

foreach my $encoding (sort keys %held)
{
	my %hex = %{ $held{$encoding} };
	my @has = grep { $hex{$_} } @ids;
	my @lacks = grep { !$hex{$_} } @ids;
	my $database = lc $encoding;

	$node->safe_psql('postgres',
		"CREATE DATABASE $database TEMPLATE template0 ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C'");
	$node->safe_psql($database, 'CREATE EXTENSION lateweave');
	my $session = LwSession->new($node, dbname => $database);
	$session->query(create_source('s', $store->{path}));

	foreach my $i (0 .. $#ids)
	{
		my ($id, $hex) = ($ids[$i], $hex{ $ids[$i] });
		my $name = "$encoding: " . escaped($id);

		next unless $hex;
		my $text = "(SELECT id FROM lateweave_rerank('s', '$Q', ARRAY['$id']))";
		is($session->query("SELECT lateweave_score('s', '$Q', '$id')"), $i + 1, "$name: score");
		is($session->query("SELECT encode(convert_to($text, '$encoding'), 'hex')"), $hex, "$name: as a text")
		  if $encoding ne 'SQL_ASCII';
		is($session->query("SELECT id FROM lateweave_fetch('s', ARRAY['$id'])"), $id, "$name: fetch");
		is($session->query("SELECT octet_length(id) FROM s WHERE id = '$id'"), length($hex) / 2, "$name: scan by id");
		is($session->query("SELECT -('$id'::text \@# maxsim_query('s', '$Q'))"), $i + 1, "$name: operator");
	}
	is($session->query("SELECT string_agg(score::text, ' ') FROM lateweave_rerank('s', '$Q', ARRAY["
				. join(', ', map { "'$_'" } @has) . '])'),
		join(' ', sort { $b <=> $a } grep { $hex{ $ids[ $_ - 1 ] } } 1 .. @ids),
		"$encoding: all that the database can name");
	is($session->query("SELECT count(*), sum(maxsim(maxsim_query('$Q'), tokens)) FROM s"), '4|10',
		"$encoding: rows without their ids");

	foreach my $statement ('SELECT id FROM s', "SELECT id FROM lateweave_search('s', '$Q', 4)")
	{
		if (@lacks)
		{
			my $error = $session->error($statement);
			my ($named) = grep { index($error, '"' . escaped($_) . '"') >= 0 } @lacks;

			ok($error =~ /^ERROR:  22P05: / && defined $named, "$encoding: $statement names an id that it cannot hold")
			  or diag($error);
		}
		else
		{
			is(join(' ', sort split(/\n/, $session->query($statement))), join(' ', sort @ids), "$encoding: $statement");
		}
	}

	# names that no id depends on
	is($session->query('SELECT corpus, encoder, store_id, error IS NULL FROM lateweave_sources'),
		join('|', map { $hex{$_} ? $_ : escaped($_) } $russian, $japanese, $french) . '|t',
		"$encoding: names of the store, escaped where they cannot be held");
	my $error = $session->error("SELECT lateweave_score('s', '$Q', 'plain', representation => '{\"encoder\": \"other\"}')");
	my $encoder = $hex{$japanese} ? $japanese : escaped($japanese);
	ok($error =~ /^ERROR:  22000: / && index($error, $encoder) >= 0, "$encoding: the encoder's name in an error") or diag($error);
	$session->quit;
}

$node->stop;
done_testing();
