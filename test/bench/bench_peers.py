#!/usr/bin/env python3
"""MaxSim as Python programs compute it, beside our kernels, in turns in one process of one thread.

    bench_peers.py --csv FILE [--turns N] LIBBENCH DIRECTORY

LIBBENCH is a shared library of the kernels, DIRECTORY what bench_store made. Each contender has
its best size of batch: all that are worth trying are timed first. All must agree on the scores.
"""
import os
for variable in "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS":
    os.environ[variable] = "1"      # before any of the libraries is loaded

import argparse
import ctypes
import json
import re

import numpy as np

import turns

BATCH_DOCUMENTS = 4, 8, 16, 32, 64, 128, 256, 512
TUNING_TURNS = 8


class Data:
    """The stores that bench_store made, as bare arrays."""
    def __init__(self, directory):
        representation = turns.manifest(directory)["representation"]
        self.directory = directory
        self.normalized = representation["normalized"]
        self.query = np.fromfile(f"{directory}/query.f32", "<f4").reshape(-1, representation["dimension"])
        self.ids = json.load(open(f"{directory}/int8/segment-0.ids.json"))
        self.offsets = np.load(f"{directory}/int8/segment-0.offsets.npy").astype(np.int64)
        self.codes = np.load(f"{directory}/int8/segment-0.codes.npy")
        self.scales = np.load(f"{directory}/int8/segment-0.scales.npy")
        self.vectors = np.load(f"{directory}/float32/segment-0.vectors.npy")


def fastest(variants):
    """(name, function) of the fastest of name -> function."""
    times = turns.measure(variants, TUNING_TURNS)
    best = min(times, key=lambda name: min(times[name]))
    return best, variants[best]


# ---------------------------------------------------------------- ours

class Kernels:
    FLOAT32, INT8, INT8_UNIT = range(3)     # LwScoring
    DOCUMENT = np.dtype([("rows", np.uintp), ("scales", np.uintp), ("tokens", np.uintp)], align=True)

    def __init__(self, path, query):
        self.library = ctypes.CDLL(path)
        self.library.lw_query_size.restype = ctypes.c_size_t
        self.library.lw_query_init.restype = ctypes.c_void_p
        self.library.lw_maxsim.restype = ctypes.c_size_t
        tokens, dimension = map(ctypes.c_uint32, query.shape)
        size = self.library.lw_query_size(tokens, dimension)
        self.memory = np.empty(size + 64, np.uint8)
        aligned = self.memory.ctypes.data + -self.memory.ctypes.data % 64
        self.query = ctypes.c_void_p(self.library.lw_query_init(
            ctypes.c_void_p(aligned), query.ctypes, tokens, dimension))

    def scorer(self, scoring, offsets, rows, scales=None):
        """A function that scores all documents of the arrays."""
        documents = np.zeros(len(offsets) - 1, self.DOCUMENT)
        first = offsets[:-1].astype(np.uintp)
        documents["rows"] = rows.ctypes.data + first * rows.strides[0]
        if scales is not None:
            documents["scales"] = scales.ctypes.data + first * scales.itemsize
        documents["tokens"] = np.diff(offsets)
        scores = np.empty(len(documents), np.float32)
        problem = ctypes.c_int()
        arguments = (self.query, ctypes.c_int(scoring), documents.ctypes, ctypes.c_size_t(len(documents)),
                     scores.ctypes, ctypes.byref(problem))

        def score():
            if self.library.lw_maxsim(*arguments) != len(documents):
                raise SystemExit("a document has a problem")
            return scores

        score.kept = documents, rows, scales        # only their addresses are in the arguments
        return score


# ---------------------------------------------------------------- peers

def by_hand(data, block, rows, factors=None):
    """What numpy gives at best: one product for each block of documents, that stays in the cache."""
    longest = max(data.offsets[min(i + block, len(data.ids))] - data.offsets[i]
                  for i in range(0, len(data.ids), block))
    buffer = np.empty((longest, rows.shape[1]), np.float32)
    scores = np.empty(len(data.ids), np.float32)

    def score():
        for i in range(0, len(data.ids), block):
            bounds = data.offsets[i:i + block + 1]
            part = rows[bounds[0]:bounds[-1]]
            if factors is None:
                products = data.query @ part.T
            else:
                decoded = buffer[:len(part)]
                np.copyto(decoded, part)
                products = data.query @ decoded.T
                products *= factors[bounds[0]:bounds[-1]]
            scores[i:i + block] = np.maximum.reduceat(products, bounds[:-1] - bounds[0], axis=1).sum(0)
        return scores

    return score


def numpy_peers(data):
    factors = data.scales
    if data.normalized:
        norms = np.linalg.norm(data.codes.astype(np.float32), axis=1)
        factors = (1 / np.maximum(norms, 1e-12)).astype(np.float32)
    for name, rows, own in ("numpy, int8", data.codes, factors), ("numpy, float32", data.vectors, None):
        yield name, {f"{n} documents": by_hand(data, n, rows, own) for n in BATCH_DOCUMENTS}


def reference_peers(data):
    """The reference library: its reranker over a store, and its function over bare arrays."""
    import lateweave
    lengths = np.diff(data.offsets)
    batches = sorted({int(lengths.mean() * n) for n in BATCH_DOCUMENTS})
    candidates = [lateweave.Candidate("bench", id, 0.0, rank, "") for rank, id in enumerate(data.ids)]

    def reranker(encoding, batch):
        store = lateweave.VectorStore(f"{data.directory}/{encoding}")
        query = lateweave.Query("", multi_vector=lateweave.Feature(store.representation, data.query))
        rerank = lateweave.MaxSimReranker([store]).rerank
        budget = lateweave.ResourceBudget(threads=1, max_batch_tokens=batch)
        return lambda: rerank(query, candidates, budget=budget).scores

    def packed(batch):
        return lambda: lateweave.maxsim_scores_packed(data.query, data.vectors, lengths,
                                                      max_batch_tokens=batch, threads=1)

    for encoding in "int8", "float32":
        yield (f"reference library, reranker, {encoding}",
               {f"{batch} tokens": reranker(encoding, batch) for batch in batches})
    yield "reference library, function, float32", {f"{batch} tokens": packed(batch) for batch in batches}


def maxsim_cpu_peers(data):
    import maxsim_cpu
    documents = [data.vectors[a:b] for a, b in zip(data.offsets, data.offsets[1:])]
    variants = {"list": lambda: maxsim_cpu.maxsim_scores_variable(data.query, documents)}
    if len(set(map(len, documents))) == 1:
        array = data.vectors.reshape(len(documents), -1, data.vectors.shape[1])
        variants["array"] = lambda: maxsim_cpu.maxsim_scores(data.query, array)
    yield "maxsim-cpu, float32", variants


PEERS = {
    numpy_peers: [],
    reference_peers: ["reference library, reranker, int8", "reference library, reranker, float32",
                      "reference library, function, float32"],
    maxsim_cpu_peers: ["maxsim-cpu, float32"],
}


def openblas_kernels():
    """The kernel of each OpenBLAS in this process, by the file's name."""
    found = {}
    for path in sorted(set(re.findall(r"/\S*openblas\S*", open("/proc/self/maps").read()))):
        library = ctypes.CDLL(path)
        for name in ("openblas_get_corename", "openblas_get_corename64_",
                     "scipy_openblas_get_corename", "scipy_openblas_get_corename64_"):
            if hasattr(library, name):
                function = getattr(library, name)
                function.restype = ctypes.c_char_p
                found[os.path.basename(path).split("-")[0]] = function().decode()
    return ", ".join(f"{name} {kernel}" for name, kernel in found.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", required=True)
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("libbench")
    parser.add_argument("directory")
    arguments = parser.parse_args()

    data = Data(arguments.directory)
    kernels = Kernels(arguments.libbench, data.query)
    runs = {"int8": kernels.scorer(Kernels.INT8_UNIT if data.normalized else Kernels.INT8,
                                   data.offsets, data.codes, data.scales),
            "float32": kernels.scorer(Kernels.FLOAT32, data.offsets, data.vectors)}
    missing, chosen = [], []
    for peers, names in PEERS.items():
        try:
            for name, variants in peers(data):
                best, runs[name] = fastest(variants)
                chosen.append(f"{name}: {best}")
        except ImportError:
            missing += names

    for name, run in runs.items():
        expected = runs["int8" if name.endswith("int8") else "float32"]()
        if not np.allclose(np.asarray(run()), expected, rtol=1e-4):
            raise SystemExit(f"{name} has other scores")
    label, multiplications = turns.shape(arguments.directory)
    turns.write(arguments.csv, f"Python: {label}", turns.measure(runs, arguments.turns), multiplications, missing,
                [f"OpenBLAS in Python: {openblas_kernels()}", "best batches: " + "; ".join(chosen)])


if __name__ == "__main__":
    main()
