#!/bin/bash
# make check: everything that can be tested on this machine, with a server of
# its own. Ends with "N passed, N failed"; what did not run counts as failed.
# check.sh brief runs only what depends most on the versions of PostgreSQL and
# libzstd: the SQL tests, and the unit programs that compare compressed bytes.
. "$(dirname "$0")/common.sh"

passed=0
failed=0
complete=
work=
export LATEWEAVE_GOLDEN=$top/test/golden

finish() {
	trap '' INT TERM HUP
	end_job
	[ -z "$work" ] || remove_directory "$work"
	if [ -z "$complete" ] || [ $((passed + failed)) -eq 0 ]; then
		failed=$((failed + 1))
	fi
	say "$passed passed, $failed failed"
	exit $((failed > 0))
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

# count WHAT PASSED FAILED
count() {
	passed=$((passed + $2))
	failed=$((failed + $3))
	say "== $1: $2 passed, $3 failed"
}

# Counts one test: the command's exit status.
verdict() {
	local what=$1
	shift
	if run "$@"; then count "$what" 1 0; else count "$what" 0 1; fi
}

# A unit program passes when it ends well and says that it checked something.
unit_program() {
	local output status=0
	output=$(timeout --foreground 900 "$@" 2>&1) || status=$?
	printf '%s\n' "$output" | tail -n 40
	[ $status -eq 0 ] && grep -qE ': [1-9][0-9]* passed, 0 failed$' <<<"$output"
}

# A target's whole corpus, in one process; a reader may not allocate what a file merely claims.
replay() {
	ASAN_OPTIONS=max_allocation_size_mb=256 timeout --foreground 900 "$1" "$2"
}

programs() {
	local source name flavour
	if ! run $make -s "$jobs" programs; then
		count "test programs" 0 1
		return
	fi
	for flavour in plain asan; do
		for source in test/unit/test_*.c; do
			name=$(basename "$source" .c)
			verdict "$name, $flavour" unit_program "test/build/$flavour/$name"
		done
	done
	for source in test/fuzz/fuzz_*.c; do
		name=$(basename "$source" .c)
		verdict "replay of $name" replay "test/build/asan/$name" "test/fuzz/corpus/${name#fuzz_}"
	done
}

brief_programs() {
	local name
	run $make -s "$jobs" test/build/plain/test_{build,codec_golden} || true
	for name in test_build test_codec_golden; do
		verdict "$name, plain" unit_program "test/build/plain/$name"
	done
}

# The programs that need no library of PostgreSQL, on emulated processors of the
# other kind: where there are kernels with SDOT and without, on one of either sort.
aarch64_programs() {
	local source name cpu cpus
	if ! run $make -s "$jobs" aarch64-programs; then
		count "test programs, aarch64" 0 1
		return
	fi
	for source in $(grep -LE '"(store|section)/' test/unit/test_*.c); do
		name=$(basename "$source" .c)
		case $name in
			test_maxsim | test_screen) cpus="max cortex-a53" ;;
			*) cpus=max ;;
		esac
		for cpu in $cpus; do
			verdict "$name, aarch64 $cpu" unit_program \
				env LATEWEAVE_BRIEF=1 qemu-aarch64 -cpu "$cpu" "test/build/aarch64/$name"
		done
	done
}

installcheck() {
	PGHOST=$work PGPORT=$port PGUSER=postgres LATEWEAVE_GOLDEN=$work/golden \
		$make installcheck TAP_TESTS= 2>&1 | tee "$work/regress.log"
}

# pg_regress and then pg_isolation_regress say "All N tests passed." or "F of N tests failed".
regress() {
	local status=0 total=0 bad=0 diffs
	run installcheck || status=$?
	read -r total bad < <(sed -nE \
		-e 's/.*All ([0-9]+) tests? passed.*/\1 0/p' \
		-e 's/(.*[^0-9])?([0-9]+) of ([0-9]+) tests? failed.*/\3 \2/p' "$work/regress.log" |
		awk '{ total += $1; bad += $2 } END { print total + 0, bad + 0 }')
	if [ $status -ne 0 ] && [ "$bad" -eq 0 ] || [ "$total" -eq 0 ]; then
		bad=$((bad + 1)) total=$((total + 1))
	fi
	for diffs in regression.diffs output_iso/regression.diffs; do
		[ ! -s $diffs ] || cat $diffs
	done
	count "SQL tests" $((total - bad)) "$bad"
}

# As PGXS runs prove, but by the server's user, on a copy that it can read.
prove_copy() {
	local pgxs bindir
	pgxs=$(dirname "$("$PG_CONFIG" --pgxs)")/../..
	bindir=$("$PG_CONFIG" --bindir)
	as_server env TESTDIR="$work/tap" TESTDATADIR="$work/tap/tmp_check" \
		TESTLOGDIR="$work/tap/tmp_check/log" LATEWEAVE_GOLDEN="$work/golden" \
		PATH="$bindir:$PATH" TMPDIR="$work/tap" PG_REGRESS="$pgxs/src/test/regress/pg_regress" \
		prove --verbose -I "$pgxs/src/test/perl" -I "$work/tap" "$work"/tap/t/*.pl 2>&1 |
		tee "$work/tap.log" | grep -avE '^ *(ok|#) '
}

# Skipped tests are not counted, no test may be expected to fail, and a file that died is one failure.
tap() {
	local status=0 good bad name died=0
	run prove_copy || status=$?
	good=$(grep -aE '^ok ' "$work/tap.log" | grep -vaciE '# *skip' || true)
	bad=$(grep -acE '^not ok ' "$work/tap.log" || true)
	if [ $status -ne 0 ]; then
		grep -aE '^(not ok|#)' "$work/tap.log" | head -n 200 || true
		for name in $(sed -nE 's,.*/([^/ ]+)\.pl +\(Wstat: .*,\1,p' "$work/tap.log"); do
			say "== last of the log of $name"
			tail -n 30 "$work/tap/tmp_check/log/regress_log_$name" || true
		done
		died=$(grep -acE '\(Wstat: .*Failed: 0\)$' "$work/tap.log" || true)
	fi
	if [ $((good + bad + died)) -eq 0 ] || [ $status -ne 0 ] && [ $((bad + died)) -eq 0 ]; then
		died=1
	fi
	count "TAP tests" "$good" $((bad + died))
}

extent=${1:-all}
case $extent in
	all)
		test/setup.sh tap
		test/setup.sh aarch64 || say "What needs them counts as failed."
		;;
	brief) test/setup.sh server ;;
	*) die "There is no extent $extent." ;;
esac
lock_tree
build_and_install

work=$(new_directory check)
mkdir "$work/tap"
cp -R test/t "$work/tap/t"
cp -R test/golden "$work/golden"
chown -R "$(server_user)" "$work/tap" "$work/golden"
chmod 755 "$work"

if [ "$extent" = all ]; then
	verdict "layers" test/layers.sh
	programs
	aarch64_programs
else
	brief_programs
fi
if start_server "$work" fsync=off; then
	regress
else
	count "SQL tests" 0 1
fi
[ "$extent" = brief ] || tap
complete=yes
