#!/usr/bin/env python3
"""A large store made of the real token vectors of smaller ones.

    python make_documents.py OUT DOCUMENTS STORE...

writes OUT, an int8 store of that many documents of 64 tokens. A document is two runs of 32 consecutive tokens,
each from a random document of a random one of the stores (in proportion to their documents); every token is turned by random noise to
a cosine of 0.9 with the real one, so that none stands there twice. That is about as near as the nearest token of another document is in
the real collections. Needs numpy.
"""
import json
import pathlib
import sys

import numpy as np

TOKENS, RUN, COSINE, CHUNK = 64, 32, 0.9, 2000


def read(path):
    """offsets of the documents, tokens of norm 1, of each segment"""
    manifest = json.loads((path / "manifest.json").read_text())
    for segment in manifest["segments"]:
        name = f"segment-{segment['id']}"
        codes = np.load(path / f"{name}.codes.npy").astype(np.float32)
        yield np.load(path / f"{name}.offsets.npy").astype(np.int64), codes / np.linalg.norm(codes, axis=1, keepdims=True)


def main():
    out, count, *stores = sys.argv[1:]
    out, count = pathlib.Path(out), int(count)
    random = np.random.default_rng(1)
    starts, tokens, base = [], [], 0
    for store in stores:
        for offsets, vectors in read(pathlib.Path(store)):
            long_enough = np.diff(offsets) >= RUN
            starts.append(np.stack([offsets[:-1][long_enough] + base, offsets[1:][long_enough] + base - RUN], axis=1))
            tokens.append(vectors)
            base += len(vectors)
    starts, tokens = np.concatenate(starts), np.concatenate(tokens)
    dimension = tokens.shape[1]
    out.mkdir(parents=True)
    codes = np.lib.format.open_memmap(out / "segment-0.codes.npy", "w+", "<i1", (count * TOKENS, dimension))
    scales = np.empty(count * TOKENS, "<f4")
    for first in range(0, count, CHUNK):
        n = min(CHUNK, count - first)
        chosen = starts[random.integers(len(starts), size=2 * n)]
        begin = random.integers(chosen[:, 0], chosen[:, 1] + 1)
        rows = tokens[(begin[:, None] + np.arange(RUN)).ravel()]
        noise = random.standard_normal(rows.shape, dtype=np.float32)
        noise -= (noise * rows).sum(1, keepdims=True) * rows
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        rows = COSINE * rows + np.float32(np.sqrt(1 - COSINE ** 2)) * noise
        scale = np.abs(rows).max(1) / 127
        at = slice(first * TOKENS, (first + n) * TOKENS)
        codes[at] = np.rint(rows / scale[:, None])
        scales[at] = scale
    codes.flush()
    np.save(out / "segment-0.scales.npy", scales)
    np.save(out / "segment-0.offsets.npy", np.arange(count + 1, dtype="<u8") * TOKENS)
    (out / "segment-0.ids.json").write_text(json.dumps([f"document-{i}" for i in range(count)]))
    (out / "manifest.json").write_text(json.dumps({
        "format": "lateweave-vectors-2", "store_id": "0123456789abcdef0123456789abcdef", "encoding": "int8", "corpus": "made",
        "representation": {"encoder": "made of real token vectors", "encoder_revision": "1", "dimension": dimension,
                           "normalized": True, "query_template": "", "document_template": ""},
        "commit": 1, "next_segment_id": 1, "committed_at": 1790000000.0,
        "segments": [{"id": 0, "documents": count, "tokens": count * TOKENS, "tombstones": None}]}))


main()
