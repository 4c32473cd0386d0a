# Sourced by the other scripts: where things are, who runs the server, and
# how a private one starts and stops. Nobody else's server is ever touched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

top=$PWD
build=$top/test/build
make=${MAKE:-make}
jobs=-j$(nproc)
export PG_CONFIG=${PG_CONFIG:-pg_config} LC_ALL=C.UTF-8

# The jobs of the make that called are not ours to share.
MAKEFLAGS=$(sed -E 's/(^| )(-j[0-9]*|--jobserver-[a-z]+=[^ ]*)//g' <<<"${MAKEFLAGS:-}")
export MAKEFLAGS

# The server listens on a socket in its own directory only: the port is part of the socket's name.
port=54329

say() { printf "%s\n" "$@"; }
die() { printf '%s\n' "$*" >&2; exit 1; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "This needs root or sudo: $*"
	fi
}

job=

# Runs a command as a job of its own process group, which an interrupt ends at once and whole.
run() {
	local status=0
	set -m
	"$@" &
	job=$!
	set +m
	wait "$job" || status=$?
	job=
	return $status
}

# Ends what runs, and waits for it: nothing may use the directory that goes next.
end_job() {
	[ -n "$job" ] || return 0
	kill -TERM -- "-$job" 2>/dev/null || return 0
	for _ in {1..50}; do
		sleep 0.1
		kill -0 -- "-$job" 2>/dev/null || return 0
	done
	kill -KILL -- "-$job"
}

# PostgreSQL refuses to run as root: then its commands run as the user of the Debian packages.
server_user() {
	if [ "$(id -u)" -eq 0 ]; then echo postgres; else id -un; fi
}

as_server() (
	cd /
	if [ "$(id -u)" -eq 0 ]; then
		set -- setpriv --reuid=postgres --regid=postgres --init-groups env HOME=/ "$@"
	fi
	exec "$@" 9>&-
)

# One run at a time in a tree; descriptor 9 holds the lock until the script ends.
lock_tree() {
	mkdir -p "$build"
	exec 9>"$build/lock"
	flock -n 9 || { say "Waiting for another run in this tree ..."; flock 9; }
}

# Whether what was built is installed already.
is_installed() {
	local extension
	extension=$("$PG_CONFIG" --sharedir)/extension
	cmp -s lateweave.so "$("$PG_CONFIG" --pkglibdir)/lateweave.so" &&
		cmp -s lateweave.control "$extension/lateweave.control" &&
		cmp -s lateweave--0.2.sql "$extension/lateweave--0.2.sql"
}

build_and_install() {
	$make "$jobs" all
	is_installed || as_root "$make" PG_CONFIG="$(command -v "$PG_CONFIG")" install
}

# A Python of 3.12 or later, which some libraries want; pyenv's need not be the chosen ones.
python_312() {
	local candidate
	for candidate in python3 python3.14 python3.13 python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[2-9]*/bin/python3; do
		if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
			echo "$candidate"
			return
		fi
	done
	return 1
}

# A new directory that the server's user owns; $1 is a word for its name.
new_directory() {
	local directory
	directory=$(mktemp -d "${TMPDIR:-/tmp}/lateweave-$1.XXXXXX")
	chown "$(server_user)" "$directory"
	echo "$directory"
}

# start_server DIRECTORY [SETTING=VALUE ...]: makes a cluster in it and starts it there.
start_server() {
	local directory=$1 bindir options setting
	shift
	bindir=$("$PG_CONFIG" --bindir)
	options="-p $port -k $directory -c listen_addresses="
	for setting in "$@"; do
		options+=" -c $setting"
	done
	as_server "$bindir/initdb" -D "$directory/data" -U postgres -A trust \
		-E UTF8 --locale=C.UTF-8 --no-sync >"$directory/initdb.log" 2>&1 ||
		{ cat "$directory/initdb.log"; return 1; }
	as_server "$bindir/pg_ctl" start -s -w -D "$directory/data" \
		-l "$directory/server.log" -o "$options" ||
		{ cat "$directory/server.log"; return 1; }
}

# Stops every server whose data directory lies under the directory, and removes it.
remove_directory() {
	local pidfile
	[ -d "$1" ] || return 0
	# Another user's server could not be stopped, and would lose its files while it runs.
	[ "$(stat -c %U "$1")" = "$(server_user)" ] ||
		die "The server in $1 was started by another user ($(stat -c %U "$1")): stop it as that user, or with sudo if root started it."
	find "$1" -name postmaster.pid | while read -r pidfile; do
		as_server "$("$PG_CONFIG" --bindir)/pg_ctl" stop -s -w -m immediate \
			-D "$(dirname "$pidfile")" || true
	done
	rm -rf "$1"
}
