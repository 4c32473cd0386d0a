#!/bin/bash
# make bench: MaxSim by our kernels and in SQL beside what else computes it, on one thread, in turns.
# Prints a table and draws test/build/bench.svg, or FIGURE. TURNS (25) is how often everything is timed;
# SECTION_ROWS (1000000) is the size of the section files, LOAD_DOCUMENTS (100000) of what is loaded into stores, SEARCH_DOCUMENTS (100000) of the store that is searched; BENCH_STORE, a vector store, and BENCH_QUERY, a float32 .npy of tokens x dimension, replace random vectors.
. "$(dirname "$0")/common.sh"

turns=${TURNS:-25}
section_rows=${SECTION_ROWS:-1000000}
load_documents=${LOAD_DOCUMENTS:-100000}
search_documents=${SEARCH_DOCUMENTS:-100000}
csv=$build/bench.csv
venv=$build/bench-venv
work=

# Python with the libraries to compare with, or without those that cannot be had. (-I: lateweave.so here is no module.)
install_peers() {
	local package
	python=$venv/bin/python
	"$python" -I -c 'import numpy, lateweave, maxsim_cpu, matplotlib' 2>/dev/null && return
	say "Installing the Python libraries to compare with in $venv ..."
	if ! python3 -m venv "$venv"; then
		python=python3
		return
	fi
	for package in numpy lateweave==0.2.0 maxsim-cpu matplotlib; do
		"$python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 10 "$package" && continue
		say "$package could not be installed: what needs it is left out."
		[ "$package" != numpy ] || break
	done
}

# The reference implementation of section files wants Python 3.12; without one only lateweave is timed.
install_section_peer() {
	local newer
	section_python=$build/bench-venv-sections/bin/python
	"$section_python" -I -c 'import numpy, urna' 2>/dev/null && return
	if newer=$(python_312); then
		say "Installing urna to compare with in $build/bench-venv-sections ..."
		"$newer" -m venv "$build/bench-venv-sections" &&
			"$section_python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 10 numpy urna==0.5.6 &&
			return
	fi
	section_python=$python
	say "No Python 3.12 with urna: section files are timed without their reference implementation."
}

# OpenBLAS is to use its best kernel: that for AVX-512 where there is one, else its own choice.
choose_openblas() {
	unset OPENBLAS_L2_SIZE OPENBLAS_CORETYPE
	if grep -qw avx512bw /proc/cpuinfo; then
		export OPENBLAS_CORETYPE=SkylakeX
	fi
}

finish() {
	trap '' INT TERM HUP
	[ -z "$work" ] || remove_directory "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

test/setup.sh bench
lock_tree
install_peers
install_section_peer
choose_openblas
build_and_install
$make -s "$jobs" bench-programs

{
	say shape,contender,ms,gmacs,ratio
	say "# $(sed -nE 's/^model name[ \t]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors; $("$PG_CONFIG" --version); $turns turns"
	say "# OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-} OPENBLAS_L2_SIZE="
} >"$csv"

say "Timing the kernels ..."
"$build/plain/bench_kernel" --csv "$csv" "$turns"
say "Timing single vectors ..."
"$build/plain/bench_vectors" --csv "$csv" "$turns"

work=$(new_directory bench)
data=$work/stores
"$build/plain/bench_store" "$data"
chown -R "$(server_user)" "$data"

say "Timing the Python libraries ..."
if "$python" -I -c 'import numpy' 2>/dev/null; then
	"$python" -W ignore test/bench/bench_peers.py --csv "$csv" --turns "$turns" "$build/libbench.so" "$data"
else
	say "# numpy is not installed: no Python libraries were timed" >>"$csv"
fi

say "Timing SQL ..."
start_server "$work" fsync=off max_connections=150 max_wal_size=8GB
psql=("$("$PG_CONFIG" --bindir)/psql" -X -h "$work" -p "$port" -U postgres)
"${psql[@]}" -q -c 'CREATE DATABASE bench' postgres
"$python" -W ignore test/bench/bench_sql.py --csv "$csv" --turns "$turns" "$data" "${psql[@]}" -d bench

if "$python" -I -c 'import numpy' 2>/dev/null; then
	say "Timing searches of $search_documents documents ..."
	"${psql[@]}" -q -c 'CREATE DATABASE search' postgres
	"$python" -W ignore test/bench/bench_search.py --csv "$csv" --turns "$(((turns + 4) / 5))" --documents "$search_documents" \
		"$build/plain/bench_scan" "$data/search" "${psql[@]}" -d search
	rm -r "$data/search"
fi

if "$section_python" -I -c 'import numpy' 2>/dev/null; then
	say "Timing section files of $section_rows rows ..."
	"${psql[@]}" -q -c 'CREATE DATABASE sections' postgres
	as_server mkdir "$work/sections"
	"$section_python" -W ignore test/bench/bench_sections.py --csv "$csv" --turns "$(((turns + 4) / 5))" \
		--rows "$section_rows" "$work/sections" "${psql[@]}" -d sections
fi

if "$python" -I -c 'import numpy' 2>/dev/null; then
	say "Timing changes of stores ..."
	as_server mkdir "$work/commits" "$work/commits/files"
	start_server "$work/commits" shared_preload_libraries=lateweave max_connections=150 max_wal_size=8GB
	PGHOST=$work/commits PGPORT=$port PGUSER=postgres PGDATABASE=postgres "$python" -W ignore test/bench/bench_commits.py \
		--csv "$csv" --turns "$(((turns + 4) / 5))" --documents "$load_documents" "$work/commits/files" \
		"$("$PG_CONFIG" --bindir)/pgbench" "${psql[0]}" -X
fi

say ""
"$python" test/bench/table.py "$csv"
figure=${FIGURE:-$build/bench.svg}
if "$python" -I -c 'import matplotlib' 2>/dev/null; then
	"$python" test/bench/figure.py "$csv" "$figure"
	say "" "The figure: $figure"
else
	say "" "No figure: matplotlib is not installed."
fi
