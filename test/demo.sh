#!/bin/bash
# make demo and make demo-stop: demo.sh start|stop. One demo server a tree; its
# directory's name stands in test/build/demo, and whoever finds it there may remove it.
. "$(dirname "$0")/common.sh"

# Stops the server of an earlier run, finished or not.
remove_demo() {
	[ -s "$build/demo" ] || return 0
	remove_directory "$(cat "$build/demo")"
	rm -f "$build/demo"
}

start_demo() {
	local directory psql prefix=
	directory=$(new_directory demo)
	echo "$directory" >"$build/demo"
	trap remove_demo EXIT
	trap 'exit 1' INT TERM HUP

	cp -R test/demo "$directory/demo"
	chown -R "$(server_user)" "$directory/demo"
	start_server "$directory" shared_preload_libraries=lateweave

	psql="$("$PG_CONFIG" --bindir)/psql"
	set -- "$psql" -X -v ON_ERROR_STOP=1 -h "$directory" -p "$port" -U postgres
	as_server "$@" -q -c 'CREATE DATABASE demo' postgres
	as_server sh -c 'export DEMO=$1; cd "$DEMO"; shift
		"$@" -q -v store="$DEMO/store" -v section_file="$DEMO/bylaws.urna" -f load.sql && exec "$@" -e -f demo.sql' \
		- "$directory/demo" "$@" demo

	trap - EXIT
	[ -z "${SUDO_USER:-}" ] || prefix="sudo "
	say "" "The server goes on running. psql on it:" \
		"    $prefix$psql -h $directory -p $port -U postgres demo" \
		"Stop it and remove its files:" \
		"    ${prefix}make demo-stop"
}

case ${1:-} in
	start)
		test/setup.sh server
		lock_tree
		build_and_install
		remove_demo
		start_demo
		;;
	stop)
		lock_tree
		remove_demo
		;;
	*)
		die "usage: demo.sh start|stop"
		;;
esac
