# Sessions that ask a store over and over while it changes, and what their answers must be: each that of
# exactly one commit, and none of an older commit than the answer before.
package LwReaders;

use strict;
use warnings;

use Exporter 'import';
use LwStore;
use LwTest;
use POSIX ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

our @EXPORT = qw(@ids @kinds new_store change expected statement script
  start_readers stop_readers complaints);

my $Q = $LwStore::QUERY;

our @ids = map { "d$_" } 0 .. 9;

# One answer is a row: commit time, then id=score for each document that is present.
my %answer_of = (
	rerank => "(SELECT string_agg(id || '=' || score, ' ' ORDER BY id) FROM lateweave_rerank('TABLE', '$Q', ARRAY["
	  . join(', ', map { "'$_'" } @ids) . ']))',
	search => "(SELECT string_agg(id || '=' || score, ' ' ORDER BY id) FROM lateweave_search('TABLE', '$Q', 100))",
	score => "(SELECT string_agg(id || '=' || score, ' ' ORDER BY id) FROM (SELECT id, lateweave_score('TABLE', '$Q', id) AS score"
	  . " FROM unnest(ARRAY[" . join(', ', map { "'$_'" } @ids) . ']) AS id) x WHERE score IS NOT NULL)',
	scan => "(SELECT string_agg(id || '=' || maxsim(maxsim_query('$Q'), tokens), ' ' ORDER BY id) FROM TABLE)");

# The ways to ask.
our @kinds = sort keys %answer_of;

my $directory;

# Where all files of the test are; known only from when the test runs.
sub directory
{
	$directory //= PostgreSQL::Test::Utils::tempdir();
	return $directory;
}

# The statement that asks a table in one of these ways.
sub statement
{
	my ($table, $kind) = @_;
	my $sql = "SELECT extract(epoch FROM lateweave_as_of('TABLE'))::bigint, $answer_of{$kind}";

	return $sql =~ s/TABLE/$table/gr;
}

# What the store's current documents answer.
sub expected
{
	my ($store) = @_;
	my %scores = $store->scores;

	return join(' ', map { "$_=$scores{$_}" } sort keys %scores);
}

# One commit of another kind each time; remembers what it answers.
sub change
{
	my ($store, $answers) = @_;
	my $next = $store->{commit} + 1;
	my $kind = $next % 7;

	if ($kind == 0)
	{
		$store->compact;
	}
	elsif ($kind == 3)
	{
		$store->remove($ids[ $next % @ids ], $ids[ ($next + 3) % @ids ]);
	}
	elsif ($kind == 5)
	{
		$store->remove($ids[ $next % @ids ]);
		$store->renew(@ids[ 0 .. 4 ]);
	}
	else
	{
		$store->renew(@ids);
	}
	$answers->{ $LwStore::BASE + $next } = expected($store);
	$store->commit;
	$store->reclaim;
	return;
}

# A store with one change, its table of the same name, and what it answers at each time. Options as of LwStore->create.
sub new_store
{
	my ($node, $name, %options) = @_;
	my $store = LwStore->create(directory() . "/$name", %options);
	my %answers = ($LwStore::BASE => '');

	change($store, \%answers);
	$node->safe_psql('postgres', create_source($name, $store->{path}));
	return ($store, \%answers);
}

# A script for psql; returns its path.
sub script
{
	my ($name, $content) = @_;

	my $path = directory() . "/$name.sql";

	append_to_file($path, $content);
	return $path;
}

# Runs sessions, a script of psql each, over and over until the file `stop` is there; each writes its answers to its own file.
sub start_readers
{
	my ($node, $name, @scripts) = @_;
	my $files = directory() . "/$name";
	my @readers;

	foreach my $i (0 .. $#scripts)
	{
		my $pid = fork // die "could not fork: $!";

		if ($pid == 0)
		{
			my $runs = 0;

			open(STDOUT, '>>', "$files.$i") or die "could not open: $!";
			open(STDERR, '>>', "$files.$i.errors") or die "could not open: $!";
			until (-e "$files.stop" && $runs)
			{
				system('psql', '-XAtq', '-v', 'ON_ERROR_STOP=0', '-d', $node->connstr('postgres'), '-f', $scripts[$i]);
				if ($?)
				{
					print STDERR "psql ended with $?\n";
					usleep(20_000);
				}
				print "session ends\n";
				STDOUT->flush;
				$runs++;
			}
			POSIX::_exit(0);
		}
		push @readers, $pid;
	}
	return { files => $files, pids => \@readers };
}

# Waits for them; gives everything that they complained of and the lines of each.
sub stop_readers
{
	my ($readers) = @_;
	my @lines;
	my $errors = '';

	append_to_file("$readers->{files}.stop", '');
	waitpid($_, 0) foreach @{ $readers->{pids} };
	foreach my $i (0 .. $#{ $readers->{pids} })
	{
		push @lines, [ split(/\n/, slurp_file("$readers->{files}.$i")) ];
		$errors .= slurp_file("$readers->{files}.$i.errors");
	}
	return ($errors, @lines);
}

# What is wrong with one reader's lines, also from one of its sessions to the next; counts the answers and the commits that it saw.
sub complaints
{
	my ($answers, $lines, $seen) = @_;
	my $last = 0;
	my @complaints;

	foreach my $line (@$lines)
	{
		my ($time, $answer) = split(/\|/, $line, 2);

		next if $line eq 'session ends';
		push @complaints, "no commit answers so: $line" if !defined $answers->{$time} || $answers->{$time} ne $answer;
		push @complaints, "after $last: $line" if $time < $last;
		$last = $time;
		$seen->{answers}++;
		$seen->{commits}{$time} = 1;
	}
	return @complaints;
}

1;
