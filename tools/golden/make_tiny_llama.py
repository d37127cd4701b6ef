#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tiny random Llama checkpoints of tests/golden/model and their float64 logits.

    make_tiny_llama.py OUT_DIR

`tiny_llama.gguf` is shaped like the default model (Q4_1 matrices, tied Q8_0 embedding, three query
heads per KV head, nothing a power of two). `tiny_llama_mixed.gguf` has an output matrix of its own
and parts of different types, so that nothing can be fused, and rotates only a part of each head.

Weights are scaled so that a mistake shows: attention is neither flat nor a single peak (mean
entropy between 30 and 70 % of the maximum, asserted here), and the residual stream is small enough
at its start for the RMS epsilon to matter.
"""
import json
import pathlib
import sys

import gguf
import numpy as np
from gguf.quants import quantize
from reference_llama import Llama, distance

F32 = gguf.GGMLQuantizationType.F32
F16 = gguf.GGMLQuantizationType.F16
Q4_1 = gguf.GGMLQuantizationType.Q4_1
Q8_0 = gguf.GGMLQuantizationType.Q8_0

TINY = dict(name="tiny_llama", seed=1, layers=3, hidden=96, heads=6, kv_heads=2, ffn=160,
            vocabulary=160, context=256, rope_dim=16, rope_base=10000.0, tied=True,
            types=dict(q=Q4_1, k=Q4_1, v=Q4_1, output=Q4_1, gate=Q4_1, up=Q4_1, down=Q4_1,
                       embedding=Q8_0))
MIXED = dict(name="tiny_llama_mixed", seed=2, layers=2, hidden=64, heads=4, kv_heads=4, ffn=96,
             vocabulary=97, context=128, rope_dim=8, rope_base=500.0, tied=False,
             types=dict(q=Q8_0, k=Q4_1, v=F16, output=F32, gate=Q8_0, up=Q4_1, down=Q8_0,
                        embedding=F16, head=Q8_0))


def write_checkpoint(path: pathlib.Path, spec: dict) -> None:
    rng = np.random.default_rng(spec["seed"])
    hidden, ffn = spec["hidden"], spec["ffn"]
    kv = hidden // spec["heads"] * spec["kv_heads"]
    types = spec["types"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(spec["name"])
    writer.add_block_count(spec["layers"])
    writer.add_context_length(spec["context"])
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(ffn)
    writer.add_head_count(spec["heads"])
    writer.add_head_count_kv(spec["kv_heads"])
    writer.add_rope_freq_base(spec["rope_base"])
    writer.add_rope_dimension_count(spec["rope_dim"])
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(spec["vocabulary"])

    def matrix(name, kind, rows, cols, gain):
        values = (rng.standard_normal((rows, cols)) * gain / np.sqrt(cols)).astype(np.float32)
        if kind == F32:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)

    def norm(name):
        writer.add_tensor(name, (1 + 0.2 * rng.standard_normal(hidden)).astype(np.float32))

    matrix("token_embd.weight", types["embedding"], spec["vocabulary"], hidden,
           0.03 * np.sqrt(hidden))
    for layer in range(spec["layers"]):
        prefix = f"blk.{layer}."
        norm(prefix + "attn_norm.weight")
        matrix(prefix + "attn_q.weight", types["q"], hidden, hidden, 1.7)
        matrix(prefix + "attn_k.weight", types["k"], kv, hidden, 1.7)
        matrix(prefix + "attn_v.weight", types["v"], kv, hidden, 1.0)
        matrix(prefix + "attn_output.weight", types["output"], hidden, hidden, 0.2)
        norm(prefix + "ffn_norm.weight")
        matrix(prefix + "ffn_gate.weight", types["gate"], ffn, hidden, 1.0)
        matrix(prefix + "ffn_up.weight", types["up"], ffn, hidden, 1.0)
        matrix(prefix + "ffn_down.weight", types["down"], hidden, ffn, 0.3)
    norm("output_norm.weight")
    if not spec["tied"]:
        matrix("output.weight", types["head"], spec["vocabulary"], hidden, 1.0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make(directory: pathlib.Path, spec: dict) -> None:
    path = directory / (spec["name"] + ".gguf")
    write_checkpoint(path, spec)
    model = Llama(str(path), np.float64)
    rng = np.random.default_rng(100 + spec["seed"])
    rounded = Llama(str(path), np.float64, fast=True)
    cases, exact, fast = [], [], []
    model.entropy = []
    for length, step in ((1, 1), (23, 2), (70, 7)):
        ids = rng.integers(0, spec["vocabulary"], length).tolist()
        rows = list(range(length - 1, -1, -step))[::-1]
        logits = model.logits(ids, rows)
        exact.append(logits)
        fast.append(rounded.logits(ids, rows))
        cases.append({"ids": ids, "rows": rows,
                      "logits": [[round(float(v), 7) for v in row] for row in logits]})
    assert all(0.3 <= h <= 0.7 for h in model.entropy), model.entropy
    golden = {"model": path.name, "entropy": [round(h, 3) for h in model.entropy],
              "fast_distance": round(distance(fast, exact), 5), "cases": cases}
    with open(directory / (spec["name"] + ".json"), "w", encoding="utf-8") as file:
        json.dump(golden, file, separators=(",", ":"))
        file.write("\n")
    print(path.name, path.stat().st_size, "bytes, entropy", golden["entropy"])


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    make(target, TINY)
    make(target, MIXED)
