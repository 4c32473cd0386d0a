# A disk that fails or is full at any step of changing a store, while the server goes on: before
# COMMIT it is an error and nothing is left, after it a warning, and every session sees what committed.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use LwSession;
use LwSynced;
use LwTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $long = $ENV{LATEWEAVE_LONG};
my $directory = PostgreSQL::Test::Utils::tempdir();

# Points before COMMIT; segment files are written on either side of it.
my $before = qr/^(bulk-made|commit-logged|intent-(create|written|synced|link|linked|durable)|intents-written)$/;
my $either = qr/^segment-(begin|created|written|synced)$/;

# Points where a failure is nobody's business, or that are passed only after another.
my $silent = qr/^(commit-done|intent-mark|round-undo|reclaim-one)$/;
my $other = qr/^(store-|snapshot-|compact-)/;

my ($docs, $one, $two, @points);
my $turn = 0;

sub changes
{
	$turn++;
	return 'BEGIN; ' . $docs->put(2, 9, "id + 100 * $turn") . '; DELETE FROM docs WHERE id = ' . (2 + $turn % 3) .
	  '; SAVEPOINT one; DELETE FROM docs; ROLLBACK TO one; UPDATE docs SET id = id + 10 WHERE id = 9; COMMIT; DELETE FROM docs WHERE id = 19';
}

# A load that goes to files, one segment or, when documents are replaced, two.
sub load
{
	$turn++;
	return 'BEGIN; ' . $docs->put(40, 60, "id + $turn", 60_000) . '; ' . ($turn % 2 ? '' : $docs->put(40, 41, "id - $turn", 2) . '; ') .
	  'DELETE FROM docs WHERE id >= 45; COMMIT';
}

# What differs in the sight of two sessions and of a new one.
sub differences
{
	my $sql = $docs->differences_sql;

	return ((map { split /\n/, $_->query($sql) } $one, $two), $docs->differences);
}

# Runs a transaction in a session that is to fail; returns what was said, and complains about what is wrong afterwards.
sub fails
{
	my ($complaints, $name, $sql) = @_;
	my $sum = 'SELECT count(*), sum(hashint8(id * 1000000 + value)) FROM docs';
	my $old = $two->query($sum);
	my (undef, $said) = $one->send($sql);

	# without the notice of a transaction that was not there
	$said = join("\n", grep { /^(ERROR|WARNING|FATAL|PANIC):|server closed/ && !/no transaction in progress/ } split /\n/, $said);
	push @$complaints, "$name: $said" if $said =~ /FATAL|PANIC|server closed/;
	push @$complaints, map { "$name, before: $_" } differences();
	push @$complaints, "$name: there are changes of what failed: $said" if $said =~ /ERROR/ && $sql =~ /^BEGIN.*COMMIT$/s && $two->query($sum) ne $old;
	$one->query("SET lateweave.fault = ''");
	$turn++;
	$two->query($docs->put(1, 1, $turn));
	push @$complaints, map { "$name, after ($said): $_" } differences(), $docs->file_differences;
	return $said;
}

foreach my $preload (1, 0)
{
	my $node = start_node("full$preload", $preload ? "shared_preload_libraries = 'lateweave'" : (), 'log_min_messages = warning');
	my $with = $preload ? 'with preload' : 'without preload';

	$docs = LwSynced->new($node, 'docs');
	($one, $two) = map { LwSession->new($node) } 1, 2;
	$two->query($docs->put(1, 12, 'id'));
	my ($names) = $one->error("SET lateweave.fault = 'x:eio'") =~ /Points: (.*)\./;
	@points = split ' ', $names;

	foreach my $action ($long ? qw(enospc eio) : $preload ? 'enospc' : 'eio')
	{
		my @complaints;

		foreach my $point (grep { !/$other/ } @points)
		{
			foreach my $times (1 .. ($long ? 12 : 1))
			{
				my $name = "$point:$action:$times";
				$one->query("SET lateweave.fault = '$name'");
				my $said = fails(\@complaints, $name, changes());
				next if $times > 1 || $point =~ /$silent|^(bulk-made|segment-link|segment-linked|pending-sweep)$/;
				push @complaints, "$name: $said" if $point =~ $before ? $said !~ /^ERROR/ : $said !~ /^WARNING:.*has committed, but/;
			}
			next if $point !~ /^(bulk-made|segment-|pending-sweep|intent-durable|manifest-rename|intent-drop)/ || (!$preload && !$long);
			foreach my $times (1 .. ($long ? 12 : 1))
			{
				my $name = "$point:$action:$times";
				$one->query("SET lateweave.fault = '$name'");
				my $said = fails(\@complaints, "$name of a load", load());
				next if $times > 1;
				push @complaints, "$name: $said" if $point =~ /$before|$either/ ? $said !~ /^ERROR/ : $said !~ /^WARNING:.*has committed, but/;
			}
		}
		check("$action at each step of a transaction, $with", @complaints);

		@complaints = ();
		foreach my $point (grep { /$other|^(segment|tombstones|names|manifest|reclaim|bulk-made)/ } @points)
		{
			my $name = "$point:$action";
			$two->query($docs->put(3, 9, 'id') . '; DELETE FROM docs WHERE id = 3');
			$one->query("SET lateweave.fault = '$name'");
			my $said = fails(\@complaints, "$name of a compaction", "SELECT lateweave_compact('docs_v')");
			push @complaints, "$name of a compaction: $said" if $said !~ /^(ERROR|$)/;
		}
		foreach my $point (grep { /^store-|^manifest-(create|written|synced|rename)$/ } @points)
		{
			$one->query("SET lateweave.fault = '$point:$action'");
			my $said = fails(\@complaints, "$point:$action", "SELECT lateweave_create_store('made', 'e', 'r', 4, path => 'made')");
			push @complaints, "$point: $said" if $said !~ /^ERROR/ || -e $node->data_dir . '/lateweave/made';
		}
		foreach my $point (grep { /^snapshot-/ } @points)
		{
			$one->query("SET lateweave.fault = '$point:$action'");
			my $said = fails(\@complaints, "$point:$action", "SELECT lateweave_snapshot('docs_v', '$directory/copy')");
			push @complaints, "$point: $said" if $said !~ /^ERROR/ || -e "$directory/copy";
		}
		check("$action at each step of a compaction, a snapshot and a new store, $with", @complaints);
	}

	# Appended documents that cannot be written after a savepoint: going back to it does not save the transaction.
	my $load = q(INSERT INTO loads SELECT 'd' || i, array_fill(i::real, ARRAY[64, 64])::multivector FROM generate_series(1, 1100) i);
	my $append = q(INSERT INTO loads VALUES ('x', array_fill(1::real, ARRAY[1, 64])::multivector));
	my $count = 'SELECT count(*) FROM loads';
	my $fault = q(SET lateweave.fault = 'segment-written:enospc');
	$one->query("SELECT lateweave_create_store('loads', 'e', 'r', 64, 'float32', normalized => false)");
	foreach my $case (
		[ 'before', 0, "BEGIN; $load; SAVEPOINT a", "$fault; $append", 'ROLLBACK TO a', $append, 'ROLLBACK TO a', $count, 'ROLLBACK TO a', 'COMMIT' ],
		[ 'released', 0, "BEGIN; SAVEPOINT a; $load; RELEASE a; SAVEPOINT b", "$fault; $count", 'ROLLBACK TO b', $count, 'ROLLBACK TO b', 'COMMIT' ],
		[ 'rolled back', 1, "BEGIN; SAVEPOINT a; $load; SAVEPOINT b", "$fault; $append", "ROLLBACK TO a; $append; COMMIT" ])
	{
		my ($name, $documents, @steps) = @$case;

		my $errors = join(' ', map { $one->error($_) =~ /ERROR:  (\w+)/ ? $1 : 'done' } @steps);
		is("$errors: " . $one->query($count), join(' ', map { /^(BEGIN|ROLLBACK)/ ? 'done' : /fault/ ? '53100' : '58030' } @steps) . ": $documents",
			"documents $name that cannot be written, $with");
	}
	$one->query("SELECT lateweave_drop_store('loads')");

	# What could not be published stays seen for as long as it takes, by others too.
	my @complaints;
	chmod 0500, $docs->{path};
	foreach my $i (1 .. 5)
	{
		my $said = ($one->send(changes()))[1];
		push @complaints, "no warning but: $said" if $said !~ /^WARNING:.*has committed, but/m;
		push @complaints, differences();
	}
	$one->query('BEGIN; ' . $docs->put(5, 6, -1));
	push @complaints, 'not its own changes: ' . $one->query($docs->differences_sql) if $one->query($docs->differences_sql) ne '';
	$one->query('ROLLBACK');
	push @complaints, differences();
	chmod 0700, $docs->{path};
	$two->query("SELECT lateweave_commit('docs_v')");
	check("changes that are not published for long, $with", @complaints, differences(), $docs->file_differences);

	# Files that another writer left, which died: under the names that come next.
	my $store = LwStore->load($docs->{path});
	append_to_file("$docs->{path}/segment-$store->{next_segment}.$_", 'left') foreach qw(ids.json offsets.npy vectors.npy);
	is(fails(\my @left, 'left files', changes()), '', "files that another writer left are no obstacle, $with");
	check("and go, $with", @left);

	$_->quit foreach $one, $two;
	unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal/, "no crash in the log, $with");
	$node->stop;
}

# A disk that is full, by a library that stands before the C library's: a number of bytes can still be
# written below a directory, in a file that is mapped; nothing can be created when there is none.
SKIP:
{
	my $source = "$directory/full.c";
	my $library = "$directory/full.so";
	my $free = "$directory/free";

	append_to_file($source, <<'EOM');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static long *left;

static int
is_there(int fd, const char *name)
{
	char		link[64];
	char		path[4096];
	ssize_t		n;

	if (name[0] == '/')
		return strstr(name, "/lateweave/") != NULL;
	if (fd == AT_FDCWD)
		return strncmp(name, "lateweave/", 10) == 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return 0;
	path[n] = 0;
	return strstr(path, "/lateweave/") != NULL;
}

/* How many of so many bytes can be written. */
static size_t
take(size_t size)
{
	if (left == NULL)
	{
		int			fd = syscall(257, AT_FDCWD, getenv("LW_FREE"), O_RDWR);

		left = mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	for (;;)
	{
		long		before = *left;
		long		some = before < (long) size ? before : (long) size;

		if (__sync_bool_compare_and_swap(left, before, before - some))
			return some;
	}
}

static ssize_t
limited(int fd, const void *data, size_t size, off_t offset)
{
	static ssize_t (*original) (int, const void *, size_t, off_t);

	if (original == NULL)
		original = dlsym(RTLD_NEXT, "pwrite64");
	if (size > 0 && is_there(fd, ""))
	{
		size = take(size);
		if (size == 0)
		{
			errno = ENOSPC;
			return -1;
		}
	}
	return original(fd, data, size, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return limited(fd, data, size, offset); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) { return limited(fd, data, size, offset); }

static int
no_room(int fd, const char *name)
{
	if (!is_there(fd, name) || take(1) == 1)
		return 0;
	errno = ENOSPC;
	return 1;
}

static int
limited_open(const char *symbol, int fd, const char *name, int flags, mode_t mode)
{
	int			(*original) (int, const char *, int, ...) = (int (*) (int, const char *, int, ...)) dlsym(RTLD_NEXT, symbol);

	if ((flags & O_CREAT) && no_room(fd, name))
		return -1;
	return original(fd, name, flags, mode);
}

#define OPEN(symbol) \
int symbol(int fd, const char *name, int flags, ...) \
{ \
	va_list		args; \
	mode_t		mode; \
	va_start(args, flags); \
	mode = (flags & O_CREAT) ? va_arg(args, mode_t) : 0; \
	va_end(args); \
	return limited_open(#symbol, fd, name, flags, mode); \
}
OPEN(openat)
OPEN(openat64)

int
linkat(int from, const char *old, int to, const char *new, int flags)
{
	int			(*original) (int, const char *, int, const char *, int) = (int (*) (int, const char *, int, const char *, int)) dlsym(RTLD_NEXT, "linkat");

	return no_room(to, new) ? -1 : original(from, old, to, new, flags);
}

int
mkdirat(int fd, const char *name, mode_t mode)
{
	int			(*original) (int, const char *, mode_t) = (int (*) (int, const char *, mode_t)) dlsym(RTLD_NEXT, "mkdirat");

	return no_room(fd, name) ? -1 : original(fd, name, mode);
}
EOM
	skip 'no compiler for the library', 3 if system("cc -shared -fPIC -w -o $library $source -ldl") != 0;
	append_to_file($free, pack('q', 1 << 60));
	my $set = sub { open(my $file, '+<', $free) or die; syswrite($file, pack('q', $_[0])); close $file };
	my $node = start_node('disk', "shared_preload_libraries = 'lateweave'", 'log_min_messages = warning');

	$node->stop;
	{
		local $ENV{LD_PRELOAD} = $library;
		local $ENV{LW_FREE} = $free;
		$node->start;
	}
	$docs = LwSynced->new($node, 'docs');
	($one, $two) = map { LwSession->new($node) } 1, 2;
	my (@complaints, %kinds);
	my $seed = time;
	srand $seed;
	foreach my $i (1 .. ($long ? 1000 : 40))
	{
		my $bytes = $i < 20 ? $i - 1 : int(2**(rand() * 14));
		$set->($bytes);
		my $sql = changes();
		my (undef, $said) = $one->send($sql);
		push @complaints, map { "$bytes bytes, $said: $_" } differences();
		$kinds{$1}++ while $said =~ /^(ERROR|WARNING):  (?!there is)/mg;
		$set->(1 << 60) if $i % 3 == 0;
		push @complaints, map { "then: $_" } differences();
		if ($i % 3 == 0)
		{
			$two->query($docs->put(1, 1, $i));
			push @complaints, map { "after $bytes bytes: $_" } differences(), $docs->file_differences;
		}
	}
	foreach my $bytes (1_000, 20_000_000, 21_000_000, 40_000_000)
	{
		$set->($bytes);
		my (undef, $said) = $one->send(load());
		push @complaints, map { "load, $bytes bytes, $said: $_" } differences();
		$kinds{$1}++ while $said =~ /^(ERROR|WARNING):  (?!there is)/mg;
		$set->(1 << 60);
		$two->query($docs->put(1, 1, $bytes));
		push @complaints, map { "load, after $bytes bytes: $_" } differences(), $docs->file_differences;
	}
	check("a disk that is full after so many bytes, seed $seed", @complaints);
	ok($kinds{ERROR} && $kinds{WARNING}, 'some of it before COMMIT and some after');
	$_->quit foreach $one, $two;
	unlike(slurp_file($node->logfile), qr/PANIC|terminated by signal/, 'no crash in the log of the full disk');
	$node->stop;
}

done_testing();
