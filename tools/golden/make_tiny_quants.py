#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a tiny llama checkpoint in each of the block types whose blocks are wide, with its logits.

    make_tiny_quants.py OUT_DIR

Every matrix with rows of 256 is of the type that the file is named after, quantised by ggml itself;
attn_output and ffn_down, whose rows are shorter, are Q8_0. NAME.json has ids, logits by numpy in
float64 (reference_llama.py) from the values that gguf-py dequantises, attention entropy, and
"fast_distance": how far a program is that rounds activations to 8 bits in blocks of 32 and the
cache to binary16, as the fast path may.

Needs: numpy, gguf, llama_cpp (for ggml's quantiser).
"""
import ctypes
import json
import pathlib
import sys

import gguf
import llama_cpp
import numpy as np
from gguf import GGMLQuantizationType as Type

from reference_llama import Llama, distance

TYPES = (Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.IQ4_NL)
SPEC = {"seed": 11, "hidden": 256, "layers": 1, "heads": 2, "kv_heads": 1, "head_dim": 32,
        "ffn": 64, "vocabulary": 64, "context": 128, "rope_base": 1000.0}


def ggml_library():
    folder = pathlib.Path(llama_cpp.__file__).parent / "lib"
    library = ctypes.CDLL(str(folder / "libggml-base.so"))
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    library.ggml_quantize_chunk.argtypes = [
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
        ctypes.c_int64, ctypes.c_void_p]
    return library


def quantize(library, values, kind):
    values = np.ascontiguousarray(values, dtype=np.float32)
    rows, cols = values.shape
    block, size = gguf.GGML_QUANT_SIZES[kind]
    out = np.zeros((rows, cols // block * size), dtype=np.uint8)
    written = library.ggml_quantize_chunk(int(kind), values.ctypes.data, out.ctypes.data, 0, rows,
                                          cols, None)
    assert written == out.nbytes, (kind, written, out.nbytes)
    return out


def write_checkpoint(path, kind, library):
    rng = np.random.default_rng(SPEC["seed"])
    hidden, ffn = SPEC["hidden"], SPEC["ffn"]
    q, kv = SPEC["heads"] * SPEC["head_dim"], SPEC["kv_heads"] * SPEC["head_dim"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(path.stem)
    writer.add_block_count(SPEC["layers"])
    writer.add_context_length(SPEC["context"])
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(ffn)
    writer.add_head_count(SPEC["heads"])
    writer.add_head_count_kv(SPEC["kv_heads"])
    writer.add_key_length(SPEC["head_dim"])
    writer.add_value_length(SPEC["head_dim"])
    writer.add_rope_freq_base(SPEC["rope_base"])
    writer.add_rope_dimension_count(SPEC["head_dim"])
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(SPEC["vocabulary"])

    def matrix(name, rows, cols, gain):
        values = rng.standard_normal((rows, cols)) * gain / np.sqrt(cols)
        wide = kind if cols % 256 == 0 else Type.Q8_0
        writer.add_tensor(name, quantize(library, values, wide), raw_dtype=wide)

    def norm(name):
        writer.add_tensor(name, (1 + 0.2 * rng.standard_normal(hidden)).astype(np.float32))

    matrix("token_embd.weight", SPEC["vocabulary"], hidden, 0.03 * np.sqrt(hidden))
    for layer in range(SPEC["layers"]):
        prefix = f"blk.{layer}."
        norm(prefix + "attn_norm.weight")
        matrix(prefix + "attn_q.weight", q, hidden, 1.6)
        matrix(prefix + "attn_k.weight", kv, hidden, 1.6)
        matrix(prefix + "attn_v.weight", kv, hidden, 1.0)
        matrix(prefix + "attn_output.weight", hidden, q, 0.3)
        norm(prefix + "ffn_norm.weight")
        matrix(prefix + "ffn_gate.weight", ffn, hidden, 1.0)
        matrix(prefix + "ffn_up.weight", ffn, hidden, 1.0)
        matrix(prefix + "ffn_down.weight", hidden, ffn, 0.3)
    norm("output_norm.weight")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make(directory, kind, library):
    path = directory / f"tiny_{kind.name.lower()}.gguf"
    write_checkpoint(path, kind, library)
    model = Llama(str(path), np.float64)
    rounded = Llama(str(path), np.float64, fast=True)
    rng = np.random.default_rng(100 + SPEC["seed"])
    cases, exact, fast = [], [], []
    model.entropy = []
    for length, step in ((1, 1), (19, 3), (70, 7)):
        ids = rng.integers(0, SPEC["vocabulary"], length).tolist()
        rows = list(range(length - 1, -1, -step))[::-1]
        logits = model.logits(ids, rows)
        exact.append(logits)
        fast.append(rounded.logits(ids, rows))
        cases.append({"ids": ids, "rows": rows,
                      "logits": [[round(float(v), 7) for v in row] for row in logits]})
    assert all(0.3 <= h <= 0.7 for h in model.entropy), model.entropy
    golden = {"model": path.name, "entropy": [round(h, 3) for h in model.entropy],
              "fast_distance": round(distance(fast, exact), 5), "cases": cases}
    with open(directory / (path.stem + ".json"), "w", encoding="utf-8") as file:
        json.dump(golden, file, separators=(",", ":"))
        file.write("\n")
    print(path.name, path.stat().st_size, "bytes, entropy", golden["entropy"], "fast",
          golden["fast_distance"])


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    ggml = ggml_library()
    for chosen in TYPES:
        make(target, chosen, ggml)
