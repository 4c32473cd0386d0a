#!/bin/bash
# Installs, by apt, what a run needs and the machine lacks: setup.sh server|tap|aarch64|versions|bench.
set -euo pipefail
. "$(dirname "$0")/common.sh"

packages=()

# need PACKAGE CONDITION...: the package is missing unless the condition holds.
need() {
	local package=$1
	shift
	"$@" >/dev/null 2>&1 || packages+=("$package")
}

version=$("$PG_CONFIG" --version 2>/dev/null | sed -E 's/^PostgreSQL ([0-9]+).*/\1/') || true
need "postgresql-${version:-15}" eval 'test -x "$("$PG_CONFIG" --bindir)/initdb"'
need "postgresql-server-dev-${version:-15}" eval 'test -f "$("$PG_CONFIG" --pgxs)"'
need libzstd-dev eval 'echo "#include <zstd.h>" | cc -E -x c -'
if [ "${1:-}" = tap ]; then
	need perl command -v prove
	need libipc-run-perl perl -MIPC::Run -e 1
	need python3 command -v python3
	need strace command -v strace
fi
if [ "${1:-}" = aarch64 ]; then
	need gcc-aarch64-linux-gnu command -v aarch64-linux-gnu-gcc
	need libc6-dev-arm64-cross eval 'test -f "$(aarch64-linux-gnu-gcc -print-file-name=libc.a)"'
	need qemu-user command -v qemu-aarch64
fi
if [ "${1:-}" = versions ]; then
	need debootstrap command -v debootstrap
	need debian-archive-keyring test -f /usr/share/keyrings/debian-archive-keyring.gpg
fi
if [ "${1:-}" = bench ]; then
	need libopenblas-dev eval 'echo "#include <cblas.h>" | cc -E -x c -'
	need python3-venv python3 -c 'import ensurepip, venv'
fi

[ ${#packages[@]} -gt 0 ] || exit 0
say "Packages to install: ${packages[*]}"
command -v apt-get >/dev/null || die "There is no apt-get here: install what they hold by hand."

# Debian's package would make and start a cluster of its own, which nobody asked for.
no_cluster=/etc/postgresql-common/createcluster.d/lateweave-setup.conf
as_root mkdir -p "${no_cluster%/*}"
trap 'as_root rm -f "$no_cluster"' EXIT
echo 'create_main_cluster = false' | as_root tee "$no_cluster" >/dev/null

as_root apt-get update
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
"$PG_CONFIG" --version >/dev/null || die "$PG_CONFIG is still missing."
