#!/bin/sh
# Publishes the prepared commit of append/ in a copy of the demo store:
#
#     append.sh STORE_DIR
#
# The new segment's files come first, then the manifest that names them, by rename, so that a
# reader sees the store before or after the commit and nothing between. Doing it twice is harmless.
set -eu

fail() {
	echo "append.sh: $*" >&2
	exit 1
}

# The value of a top-level member of a manifest as the store's writers print it.
member() {
	sed -n "s/^  \"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$1"
}

[ $# -eq 1 ] || fail "usage: append.sh STORE_DIR"
store=${1%/}/
prepared=$(cd "$(dirname "$0")" && pwd)/append

[ -d "$store" ] || fail "no such directory: $1"
[ -f "${store}manifest.json" ] || fail "not a vector store: $1 (no manifest.json)"
[ "$(member "${store}manifest.json" store_id)" = "$(member "$prepared/manifest.json" store_id)" ] ||
	fail "$1 is another store (its store_id differs)"

if cmp -s "$prepared/manifest.json" "${store}manifest.json"; then
	echo "already applied"
	exit 0
fi

# Anything but the commit before the prepared one has changes that the manifest would drop.
commit=$(member "$prepared/manifest.json" commit)
found=$(member "${store}manifest.json" commit)
[ "$found" = $((commit - 1)) ] ||
	fail "$1 is at commit $found, not $((commit - 1)); nothing was changed"

for file in "$prepared"/segment-*; do
	cp "$file" "$store"
	chmod 0644 "$store${file##*/}"
done
cp "$prepared/manifest.json" "${store}manifest.json.new"
chmod 0644 "${store}manifest.json.new"
mv -f "${store}manifest.json.new" "${store}manifest.json"
echo "commit $commit applied"
