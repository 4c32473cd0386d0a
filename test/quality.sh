#!/bin/bash
# make check-quality DATA=DIR: real collections with real token vectors (collections.sh), on a server of its own.
# Ends with "N passed, N failed"; what could not run counts as failed.
. "$(dirname "$0")/common.sh"
. test/collections.sh

work=

finish() {
	trap '' INT TERM HUP
	end_job
	[ -z "$work" ] || remove_directory "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

test/setup.sh server
command -v python3 >/dev/null || die "This needs python3."
lock_tree
build_and_install
find_scifact

work=$(new_directory quality)
chmod 755 "$work"
for vectors in "cranfield $data/cranfield/vectors" "scifact $scifact"; do
	[ ! -d "${vectors#* }/store" ] || cp -R "${vectors#* }/store" "$work/${vectors%% *}"
done
chown -R "$(server_user)" "$work"
start_server "$work" fsync=off maintenance_work_mem=256MB
psql=("$("$PG_CONFIG" --bindir)/psql" -X -h "$work" -p "$port" -U postgres -d postgres)
python3 test/quality.py "$data" "$scifact" "$work" "${psql[@]}"
