#!/bin/bash
# make check-quality DATA=DIR: real collections with real token vectors. DIR has cranfield and scifact, each with documents.jsonl,
# queries.jsonl, qrels.tsv and vectors/queries.npz. vectors/store and vectors/expected.json, the exact rankings, lie there too, or for
# SciFact in SCIFACT=OUT, where its encoder wrote them. Ends with "N passed, N failed"; what could not run counts as failed.
. "$(dirname "$0")/common.sh"

data=${DATA:-}
[ -d "$data" ] || die "Say where the collections are: make check-quality DATA=DIR"
scifact=${SCIFACT:-$data/scifact/vectors}
work=

finish() {
	trap '' INT TERM HUP
	[ -z "$work" ] || remove_directory "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

test/setup.sh server
command -v python3 >/dev/null || die "This needs python3."
lock_tree
build_and_install

work=$(new_directory quality)
chmod 755 "$work"
for vectors in "cranfield $data/cranfield/vectors" "scifact $scifact"; do
	[ ! -d "${vectors#* }/store" ] || cp -R "${vectors#* }/store" "$work/${vectors%% *}"
done
chown -R "$(server_user)" "$work"
start_server "$work" fsync=off maintenance_work_mem=256MB
psql=("$("$PG_CONFIG" --bindir)/psql" -X -h "$work" -p "$port" -U postgres -d postgres)
python3 test/quality.py "$data" "$scifact" "$work" "${psql[@]}"
