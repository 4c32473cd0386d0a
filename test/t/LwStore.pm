# A writer of vector stores, as small as the format allows: what it writes, any reader takes.
#
# Vectors are small whole numbers, so that all arithmetic of a score is exact. A document
# written by put() has one token, its value in digits of 0 to 99, and scores that value for
# the query $QUERY. round() gives every document a value that tells the commit it is of.
package LwStore;

use strict;
use warnings;

use Fcntl qw(O_WRONLY O_CREAT O_EXCL);
use JSON::PP;

our $BASE = 1700000000;    # committed_at of commit 0; one second more for each commit
our $QUERY = '[[1,100,10000,0]]';

my %escapes = ('"' => '\\"', '\\' => '\\\\', "\b" => '\\b', "\t" => '\\t', "\n" => '\\n', "\f" => '\\f', "\r" => '\\r');

# A string of UTF-8 bytes as JSON.
sub json_string
{
	my ($string) = @_;

	$string =~ s/(["\\\x00-\x1f])/$escapes{$1} || sprintf('\\u%04x', ord $1)/ge;
	return qq("$string");
}

sub write_file
{
	my ($path, $content) = @_;

	sysopen(my $file, $path, O_WRONLY | O_CREAT | O_EXCL, 0666) or die "could not create $path: $!";
	binmode $file;
	print $file $content or die "could not write $path: $!";
	close $file or die "could not write $path: $!";
	return;
}

sub npy
{
	my ($type, $shape, $data) = @_;
	my $axes = @$shape == 1 ? "$shape->[0]," : join(', ', @$shape);
	my $header = "{'descr': '$type', 'fortran_order': False, 'shape': ($axes), }";

	$header .= ' ' x (63 - (10 + length $header) % 64) . "\n";
	return "\x93NUMPY\x01\x00" . pack('v', length $header) . $header . $data;
}

# create(PATH, encoding =>, dimension =>, corpus =>, encoder =>, store_id =>, scale =>):
# a new store with commit 0.
sub create
{
	my ($class, $path, %options) = @_;
	my $self = bless {
		path => $path,
		encoding => 'float32',
		dimension => 4,
		corpus => 'views',
		encoder => 'none',
		store_id => 'store-' . ($path =~ s,.*/,,r),
		scale => 1,            # of every int8 token
		commit => 0,
		next_segment => 0,
		segments => [],        # {id, ids => [], at => {id => row}, rows => [[token, ...], ...], deleted => {row}, tombstones}
		published => {},       # names of the files of the current manifest
		changed => {},         # segments whose deleted rows are not published
		%options }, $class;

	mkdir $path or die "could not create $path: $!";
	$self->publish;
	return $self;
}

sub read_file
{
	my ($path) = @_;

	open(my $file, '<:raw', $path) or die "could not open $path: $!";
	local $/ = undef;
	my $content = <$file>;
	close $file;
	return $content;
}

# The data of a file of unsigned integers.
sub read_integers
{
	my ($path) = @_;
	my $bytes = read_file($path);

	return unpack('Q<*', substr($bytes, 10 + unpack('v', substr($bytes, 8, 2))));
}

# load(PATH): a float32 store that another wrote, to be read or to go on writing. Of each
# document only the first token is read.
sub load
{
	my ($class, $path) = @_;
	my $manifest = JSON::PP->new->utf8->decode(read_file("$path/manifest.json"));
	my $self = bless {
		path => $path,
		encoding => $manifest->{encoding},
		dimension => $manifest->{representation}{dimension},
		corpus => $manifest->{corpus},
		encoder => $manifest->{representation}{encoder},
		store_id => $manifest->{store_id},
		commit => $manifest->{commit},
		next_segment => $manifest->{next_segment_id},
		segments => [],
		published => {},
		changed => {} }, $class;

	die "$path is not a float32 store" if $self->{encoding} ne 'float32';
	foreach my $entry (@{ $manifest->{segments} })
	{
		my $prefix = "$path/segment-$entry->{id}";
		my @ids = @{ JSON::PP->new->utf8->decode(read_file("$prefix.ids.json")) };
		my @offsets = read_integers("$prefix.offsets.npy");
		my $vectors = read_file("$prefix.vectors.npy");
		my $size = 4 * $self->{dimension};
		my $header = 10 + unpack('v', substr($vectors, 8, 2));
		my $segment = {
			id => $entry->{id},
			ids => \@ids,
			at => { map { $ids[$_] => $_ } 0 .. $#ids },
			rows => [ map { [ [ unpack('f<*', substr($vectors, $header + $size * $offsets[$_], $size)) ] ] } 0 .. $#ids ],
			deleted => {},
			tokens => $entry->{tokens},
			tombstones => $entry->{tombstones} };

		die "segment $entry->{id} of $path has other documents or tokens"
		  if @ids != $entry->{documents} || @offsets != @ids + 1 || $offsets[-1] != $entry->{tokens} ||
		  length $vectors != $header + $size * $entry->{tokens};
		$segment->{deleted} = { map { $_ => 1 } read_integers("$prefix.tombstones-$entry->{tombstones}.npy") }
		  if defined $entry->{tombstones};
		push @{ $self->{segments} }, $segment;
		$self->name_files($segment);
	}
	return $self;
}

# Notes the names of a segment's files.
sub name_files
{
	my ($self, $segment) = @_;
	my @parts = $self->{encoding} eq 'int8' ? qw(codes scales) : qw(vectors);

	$self->{published}{"segment-$segment->{id}.$_"} = 1
	  foreach 'ids.json', map { "$_.npy" } 'offsets', @parts,
	  defined $segment->{tombstones} ? "tombstones-$segment->{tombstones}" : ();
	return;
}

# What lies in the store and its directory of pending changes and does not belong there, when nobody writes.
sub strays
{
	my ($self) = @_;
	my @strays;

	foreach my $directory ('', '.lateweave/')
	{
		opendir(my $entries, "$self->{path}/$directory") or next;
		push @strays, map { "$directory$_" } grep { !/^\.\.?$/ } readdir $entries;
		closedir $entries;
	}
	# a session keeps one file for its next change; the publish after its end removes that
	return grep
	{
		     $_ ne 'manifest.json'
		  && $_ ne '.lateweave'
		  && $_ ne '.lateweave/compacting'
		  && !m,^\.lateweave/spare-\d+$,
		  && !$self->{published}{$_}
	} @strays;
}

# Writes one segment: [id, token, ...] each.
sub append
{
	my ($self, @documents) = @_;
	my $prefix = "$self->{path}/segment-$self->{next_segment}";
	my (@offsets, @values) = (0);
	my $segment = { id => $self->{next_segment}++, ids => [], at => {}, rows => [], deleted => {}, tokens => 0 };

	foreach my $document (@documents)
	{
		my ($id, @tokens) = @$document;

		$segment->{at}{$id} = @{ $segment->{ids} };
		push @{ $segment->{ids} }, $id;
		push @{ $segment->{rows} }, \@tokens;
		push @values, map { @$_ } @tokens;
		$segment->{tokens} += @tokens;
		push @offsets, $segment->{tokens};
	}
	write_file("$prefix.ids.json", '[' . join(',', map { json_string($_) } @{ $segment->{ids} }) . ']');
	write_file("$prefix.offsets.npy", npy('<u8', [ scalar @offsets ], pack('Q<*', @offsets)));
	if ($self->{encoding} eq 'int8')
	{
		write_file("$prefix.codes.npy",
			npy('|i1', [ $segment->{tokens}, $self->{dimension} ], pack('c*', map { $_ / $self->{scale} } @values)));
		write_file("$prefix.scales.npy",
			npy('<f4', [ $segment->{tokens} ], pack('f<*', ($self->{scale}) x $segment->{tokens})));
	}
	else
	{
		write_file("$prefix.vectors.npy",
			npy('<f4', [ $segment->{tokens}, $self->{dimension} ], pack('f<*', @values)));
	}
	push @{ $self->{segments} }, $segment;
	return;
}

# Appends documents of one token each: put(id => value, ...), in this order; values below 1000000.
sub put
{
	my ($self, @pairs) = @_;
	my @documents;

	while (my ($id, $value) = splice(@pairs, 0, 2))
	{
		push @documents, [ $id, [ $value % 100, int($value / 100) % 100, int($value / 10000), 0 ] ];
	}
	$self->append(@documents);
	return;
}

# Deletes the newest row of each id that is present.
sub remove
{
	my ($self, @ids) = @_;

	foreach my $id (@ids)
	{
		my ($segment) = grep { exists $_->{at}{$id} } reverse @{ $self->{segments} };

		next if !$segment || $segment->{deleted}{ $segment->{at}{$id} };
		$segment->{deleted}{ $segment->{at}{$id} } = 1;
		$self->{changed}{ $segment->{id} } = 1;
	}
	return;
}

# The present documents, [id, token, ...] each, in segment and row order.
sub documents
{
	my ($self) = @_;
	my (%seen, @documents);

	foreach my $segment (reverse @{ $self->{segments} })
	{
		for (my $row = $#{ $segment->{ids} }; $row >= 0; $row--)
		{
			my $id = $segment->{ids}[$row];

			next if $seen{$id}++ || $segment->{deleted}{$row};
			unshift @documents, [ $id, @{ $segment->{rows}[$row] } ];
		}
	}
	return @documents;
}

# What each present document of one token scores for $QUERY, by id.
sub scores
{
	my ($self) = @_;

	return map { $_->[0] => $_->[1][0] + 100 * $_->[1][1] + 10000 * $_->[1][2] } $self->documents;
}

# One segment of the present documents.
sub compact
{
	my ($self) = @_;
	my @documents = $self->documents;

	$self->{segments} = [];
	$self->{changed} = {};
	$self->append(@documents) if @documents;
	return;
}

# Writes the tombstones and the text of the next manifest; returns the text.
sub next_manifest
{
	my ($self) = @_;
	my @entries;

	$self->{published} = {};
	foreach my $segment (@{ $self->{segments} })
	{
		if (delete $self->{changed}{ $segment->{id} })
		{
			my @rows = sort { $a <=> $b } keys %{ $segment->{deleted} };

			$segment->{tombstones} = $self->{commit};
			write_file("$self->{path}/segment-$segment->{id}.tombstones-$self->{commit}.npy",
				npy('<u8', [ scalar @rows ], pack('Q<*', @rows)));
		}
		push @entries, sprintf(
			"    {\n      \"id\": %d,\n      \"documents\": %d,\n      \"tokens\": %d,\n      \"tombstones\": %s\n    }",
			$segment->{id}, scalar @{ $segment->{ids} }, $segment->{tokens}, $segment->{tombstones} // 'null');
		$self->name_files($segment);
	}
	my $segments = @entries ? "[\n" . join(",\n", @entries) . "\n  ]" : '[]';
	my ($store_id, $corpus, $encoder) = map { json_string($self->{$_}) } qw(store_id corpus encoder);
	my $committed_at = $BASE + $self->{commit};

	return <<"EOM";
{
  "format": "lateweave-vectors-2",
  "store_id": $store_id,
  "encoding": "$self->{encoding}",
  "corpus": $corpus,
  "representation": {
    "encoder": $encoder,
    "encoder_revision": "1",
    "dimension": $self->{dimension},
    "normalized": false,
    "query_template": "",
    "document_template": ""
  },
  "commit": $self->{commit},
  "next_segment_id": $self->{next_segment},
  "committed_at": $committed_at.0,
  "segments": $segments
}
EOM
}

# Replaces the manifest by that of the current commit.
sub publish
{
	my ($self) = @_;

	write_file("$self->{path}/manifest.json.new", $self->next_manifest);
	rename "$self->{path}/manifest.json.new", "$self->{path}/manifest.json" or die "could not rename: $!";
	return;
}

# Publishes what was changed. Files that are no longer named stay; see reclaim().
sub commit
{
	my ($self) = @_;

	$self->{commit}++;
	$self->publish;
	return $self->{commit};
}

# Makes the next commit, but leaves its manifest beside, for somebody else to rename; returns its path.
sub prepare
{
	my ($self) = @_;
	my $path;

	$self->{commit}++;
	$path = "$self->{path}/next-$self->{commit}";
	write_file($path, $self->next_manifest);
	return $path;
}

# Removes what the manifest does not name, as the reference does after each commit.
sub reclaim
{
	my ($self) = @_;

	opendir(my $directory, $self->{path}) or die "could not open $self->{path}: $!";
	foreach my $name (readdir $directory)
	{
		unlink "$self->{path}/$name" if $name =~ /^segment-/ && !$self->{published}{$name};
	}
	closedir $directory;
	return;
}

# What round() gives a document in a commit: the commit, and which document it is.
sub value
{
	my ($commit, $position) = @_;

	return $commit * 100 + $position;
}

# Gives all these documents new values (value(commit, 0), value(commit, 1), ...), without a commit.
sub renew
{
	my ($self, @ids) = @_;

	$self->put(map { $ids[$_] => value($self->{commit} + 1, $_) } 0 .. $#ids);
	return;
}

# renew() and commit; returns the commit.
sub round
{
	my ($self, @ids) = @_;

	$self->renew(@ids);
	return $self->commit;
}

1;
