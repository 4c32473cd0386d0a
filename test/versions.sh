#!/bin/bash
# make check-versions: the suite on every PostgreSQL that lateweave builds with: the
# host's by `make check`, the others in chroots of the Debian releases that have them,
# with pgvector. Ends with "N passed, N failed"; a version that could not be tested
# is a failure.
#
#	VERSIONS			which: host and major versions; default "host 17 18"
#	QUICK=1				only the SQL tests, and what compares compressed bytes, on 17 and 18
#	LATEWEAVE_CHROOTS	where the chroots stay for the next run
. "$(dirname "$0")/common.sh"

declare -A releases=([17]=trixie [18]=forky)
versions=${VERSIONS:-${QUICK:+17 18}}
versions=${versions:-host 17 18}
cache=${LATEWEAVE_CHROOTS:-${TMPDIR:-/tmp}/lateweave-chroots}
extent=${QUICK:+brief}

passed=0
failed=0
complete=
summary=()
log=

finish() {
	trap '' INT TERM HUP
	end_job
	[ -z "$log" ] || rm -f "$log"
	[ ${#summary[@]} -eq 0 ] || say "" "${summary[@]}"
	if [ -z "$complete" ] || [ $((passed + failed)) -eq 0 ]; then
		failed=$((failed + 1))
	fi
	say "$passed passed, $failed failed"
	exit $((failed > 0))
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

name() {
	if [ "$1" = host ]; then "$PG_CONFIG" --version; else echo "PostgreSQL $1 of ${releases[$1]}"; fi
}

# Runs a command whose mounts nobody else sees, and which leaves no process and no mount.
isolated() {
	unshare --mount --propagation private --pid --fork --kill-child "$@"
}

# The archive that the host's own packages are from.
mirror() {
	apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | sed -n 1p
}

# How the host gets its packages: through a proxy, say.
apt_settings() {
	apt-config dump | grep -E '^Acquire::' | grep -vE '^Acquire::(IndexTargets|Changelogs|cdrom)'
}

# in_root DIRECTORY COMMAND...: bash is the first process, since that has to reap the others.
in_root() {
	isolated bash -c '
		set -e
		mount --rbind /dev "$1/dev"
		mount -t tmpfs -o mode=1777 shm "$1/dev/shm"
		mount -t proc proc "$1/proc"
		status=0
		chroot "$@" || status=$?
		exit $status' bash "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} \
		${https_proxy:+https_proxy="$https_proxy"} ${no_proxy:+no_proxy="$no_proxy"} "${@:2}"
}

# Makes the chroot of a version, which gets its name only when it is whole.
make_root() {
	local version=$1 root=$cache/$1 new=$cache/$1.new uri
	[ ! -d "$root" ] || return 0
	uri=$(mirror)
	[ -n "$uri" ] || { apt-get update && uri=$(mirror); }
	[ -n "$uri" ] || { say "apt knows no archive of Debian's."; return 1; }
	rm -rf --one-file-system "$new"
	say "Making a chroot of ${releases[$version]} in $root ..."
	isolated debootstrap --variant=minbase --include=ca-certificates "${releases[$version]}" "$new" "$uri" \
		/usr/share/debootstrap/scripts/sid || return
	mkdir -p "$new/etc/postgresql-common/createcluster.d"
	echo 'create_main_cluster = false' >"$new/etc/postgresql-common/createcluster.d/lateweave.conf"
	apt_settings >"$new/etc/apt/apt.conf.d/00lateweave"
	in_root "$new" apt-get update || return
	in_root "$new" apt-get install -y --no-install-recommends "postgresql-$version" "postgresql-server-dev-$version" \
		"postgresql-$version-pgvector" libzstd-dev gcc libc6-dev make || return
	in_root "$new" apt-get clean
	mv "$new" "$root"
}

# What git has and would add, as it lies here.
export_tree() {
	git ls-files -z --cached --others --exclude-standard --deduplicate |
		while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
		tar -c --null -T - --owner=root --group=root
}

check_version() {
	local version=$1 root=$cache/$1
	if [ "$version" = host ]; then
		WERROR=1 test/check.sh $extent
		return
	fi
	make_root "$version" || return
	apt_settings >"$root/etc/apt/apt.conf.d/00lateweave"
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	rm -rf --one-file-system "$root/lateweave" "$root"/tmp/*
	mkdir "$root/lateweave"
	export_tree | tar -x -C "$root/lateweave" || return
	in_root "$root" env WERROR=1 PG_CONFIG="/usr/lib/postgresql/$version/bin/pg_config" /lateweave/test/check.sh $extent
}

logged() {
	"$@" 2>&1 | tee "$log"
}

# tally VERSION STATUS: adds what the version's run said at its end.
tally() {
	local good bad
	read -r good bad < <(tail -n 1 "$log" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p') || good=0 bad=0
	if [ "$2" -ne 0 ] && [ "$bad" -eq 0 ] || [ $((good + bad)) -eq 0 ]; then
		bad=1
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
	summary+=("== $(name "$1"): $good passed, $bad failed")
}

for version in $versions; do
	[ "$version" = host ] || [ -n "${releases[$version]:-}" ] || die "VERSIONS: $version is none of host ${!releases[*]}."
done
[ "$(id -u)" -eq 0 ] || die "make check-versions makes chroots: run it as root."
test/setup.sh versions
isolated true || die "make check-versions makes chroots: this machine lets not even root mount."

mkdir -m 700 "$cache" 2>/dev/null || true
[ "$(stat -c '%F, %u' "$cache")" = "directory, 0" ] || die "$cache must be a directory that belongs to root."
exec 9>"$cache/lock"
flock -n 9 || { say "Waiting for another run with $cache ..."; flock 9; }

log=$(mktemp)
for version in $versions; do
	say "" "== $(name "$version")"
	status=0
	run logged check_version "$version" || status=$?
	tally "$version" $status
done
complete=yes
