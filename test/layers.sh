#!/bin/bash
# An include points down the layers or sideways, never up; format/ and kernel/
# know no server; only compat.h asks for PostgreSQL's version. Prints what breaks it.
set -euo pipefail
cd "$(dirname "$0")/.."

rank() {
	case $1 in
		lateweave.c) echo 7 ;;
		am/*) echo 6 ;;
		sql/*) echo 5 ;;
		server/* | compat.h) echo 4 ;;
		store/* | section/*) echo 3 ;;
		kernel/*) echo 2 ;;
		format/*) echo 1 ;;
		*) echo 0 ;;
	esac
}

# check TREE: the sources under it, one line for each violation.
check() (
	cd "$1"
	find . -name '*.[ch]' | sed 's,^\./,,' | sort | while read -r file; do
		[ "$(rank "$file")" -gt 0 ] || echo "$file: in no layer"
		if [ "$file" != compat.h ] && grep -q PG_VERSION_NUM "$file"; then
			echo "$file: PG_VERSION_NUM"
		fi
		sed -nE 's/^[ \t]*#[ \t]*include[ \t]*"([^"]*)".*/\1/p' "$file" | while read -r include; do
			if [ -f "$(dirname "$file")/$include" ]; then
				target=$(realpath --relative-to=. "$(dirname "$file")/$include")
			elif [ -f "$include" ]; then
				target=$include
			elif [ "$(rank "$file")" -le 2 ]; then
				echo "$file: server header $include"
				continue
			else
				continue
			fi
			if [ "$(rank "$target")" -gt "$(rank "$file")" ]; then
				echo "$file: includes $target, which lies above"
			fi
		done
	done
)

# The check itself must be able to fail: one made-up tree holds every violation once.
made_up=$(mktemp -d)
trap 'rm -rf "$made_up"' EXIT
mkdir "$made_up"/{format,kernel,store,server,sql,other}
touch "$made_up"/compat.h "$made_up"/{format/a,store/s,sql/q}.h "$made_up/other/o.c"
printf '#include "postgres.h"\n#include <stdio.h>\n' >"$made_up/format/f.c"
printf '#include "format/a.h"\n#include "store/s.h"\n' >"$made_up/kernel/k.c"
printf '#include "s.h"\n#include "../compat.h"\n' >"$made_up/store/s.c"
printf '#include "compat.h"\n  #  include "../sql/q.h"\n' >"$made_up/server/v.c"
printf '#include "server/none.h"\n#if PG_VERSION_NUM\n#endif\n' >"$made_up/sql/q.c"
expected='format/f.c: server header postgres.h
kernel/k.c: includes store/s.h, which lies above
other/o.c: in no layer
server/v.c: includes sql/q.h, which lies above
sql/q.c: PG_VERSION_NUM
store/s.c: includes compat.h, which lies above'
if ! diff <(echo "$expected") <(check "$made_up"); then
	echo "layers.sh no longer finds what it should"
	exit 1
fi

violations=$(check src)
[ -z "$violations" ] || { echo "$violations"; exit 1; }
