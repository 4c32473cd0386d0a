#!/bin/bash
# make bench: the kernels beside OpenBLAS and a plain read, in turns in one process.
. "$(dirname "$0")/common.sh"

test/setup.sh bench
mkdir -p "$build"
"${CC:-cc}" -O2 -D_GNU_SOURCE -ffp-contract=off -Isrc -o "$build/bench_kernel" \
	test/bench/bench_kernel.c src/kernel/*.c -lopenblas -lm
"$build/bench_kernel" "${TURNS:-25}"
