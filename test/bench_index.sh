#!/bin/bash
# make bench-index DATA=DIR: candidates and the index over a large store made of the token vectors of real collections (collections.sh),
# on a server of its own. Prints tables and draws test/build/bench_index.svg, or FIGURE. DOCUMENTS (100000) is how many there are,
# ROWS (1000000) the rows of a table for which an index is made.
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
lock_tree
build_and_install
find_scifact
[ -d "$scifact/store" ] || die "There is no store of SciFact."
install_encoder

work=$(new_directory bench)
chmod 755 "$work"
say "Making ${DOCUMENTS:-100000} documents ..."
run "$python" test/bench/make_documents.py "$work/documents" "${DOCUMENTS:-100000}" "$data/cranfield/vectors/store" "$scifact/store"
chown -R "$(server_user)" "$work"
start_server "$work" shared_preload_libraries=lateweave fsync=off maintenance_work_mem=256MB max_wal_size=4GB autovacuum=off
psql=("$("$PG_CONFIG" --bindir)/psql" -X -h "$work" -p "$port" -U postgres -d postgres)
say "Timing candidates ..."
run "$python" test/bench/bench_candidates.py "$work/documents" "$data/scifact/vectors/queries.npz" "${psql[@]}"
say "Timing the index ..."
figure=${FIGURE:-$build/bench_index.svg}
run "$python" test/bench/bench_index.py --rows "${ROWS:-1000000}" --figure "$figure" "${psql[@]}"
say "" "The figure: $figure"
