#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small committed seeds of the fuzzers that read GGUF (fuzz/corpus/gguf, ...)."""
import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B",
           U64: "Q", I64: "q", F64: "d"}


def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def scalar(kind, value):
    return string(value) if kind == STRING else struct.pack("<" + FORMATS[kind], value)


def entry(key, kind, value, element=None):
    out = string(key) + struct.pack("<I", kind)
    if kind != ARRAY:
        return out + scalar(kind, value)
    out += struct.pack("<IQ", element, len(value))
    return out + b"".join(scalar(element, v) for v in value)


def gguf(entries, tensors=(), version=3, alignment=32):
    """tensors: (name, ne, type number, bytes)"""
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries)) + b"".join(entries)
    offset = 0
    for name, ne, kind, data in tensors:
        out += string(name) + struct.pack(f"<I{len(ne)}QIQ", len(ne), *ne, kind, offset)
        offset += -(-len(data) // alignment) * alignment
    for _, _, _, data in tensors:
        out += bytes(-len(out) % alignment) + data
    return out


def tokenizer(kinds=True, pre="smollm"):
    tokens = ["<|e|>", "<t>", "l", "o", "w", "\u0120", "\u00c3", "\u00a9", "lo", "low", "\u0120low",
              "\u00c3\u00a9"]
    entries = [
        entry("tokenizer.ggml.model", STRING, "gpt2"),
        entry("tokenizer.ggml.pre", STRING, pre),
        entry("tokenizer.ggml.tokens", ARRAY, tokens, STRING),
        entry("tokenizer.ggml.merges", ARRAY, ["l o", "lo w", "\u0120 low", "\u00c3 \u00a9"],
              STRING),
        entry("tokenizer.ggml.eos_token_id", U32, 0),
    ]
    if kinds:
        entries += [
            entry("tokenizer.ggml.token_type", ARRAY, [3, 4] + [1] * (len(tokens) - 2), I32),
            entry("tokenizer.ggml.bos_token_id", U32, 0),
            entry("tokenizer.ggml.add_bos_token", BOOL, 1),
        ]
    return gguf(entries)


def llama(head):
    """One layer, everything as small as a Q8_0 block allows."""
    hidden, kv, vocabulary = 32, 16, 4
    metadata = {"block_count": 1, "context_length": 64, "embedding_length": hidden,
                "feed_forward_length": hidden, "attention.head_count": 2,
                "attention.head_count_kv": 1}
    entries = [entry("general.architecture", STRING, "llama")]
    entries += [entry("llama." + key, U32, value) for key, value in metadata.items()]
    entries.append(entry("llama.attention.layer_norm_rms_epsilon", F32, 1e-5))

    def norm(name):
        return (name, (hidden,), 0, struct.pack("<f", 1.0) * hidden)

    def matrix(name, rows):
        block = struct.pack("<e", 0.01) + bytes((7 * i + len(name)) % 256 for i in range(32))
        return (name, (hidden, rows), 8, block * rows)

    tensors = [matrix("token_embd.weight", vocabulary), norm("output_norm.weight")]
    for name, rows in (("attn_q", hidden), ("attn_k", kv), ("attn_v", kv), ("attn_output", hidden),
                       ("ffn_gate", hidden), ("ffn_up", hidden), ("ffn_down", hidden)):
        tensors.append(matrix(f"blk.0.{name}.weight", rows))
    tensors += [norm("blk.0.attn_norm.weight"), norm("blk.0.ffn_norm.weight")]
    if head:
        tensors.append(matrix("output.weight", vocabulary))
    return gguf(entries, tensors)


def safetensors(header, data=b""):
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


def index(weight_map):
    return json.dumps({"metadata": {"total_size": 8}, "weight_map": weight_map}).encode()


def main():
    scalars = [entry(f"k{kind}", kind, "text" if kind == STRING else 1)
               for kind in range(13) if kind != ARRAY]
    arrays = [entry("s", ARRAY, ["a", "", "bcd"], STRING), entry("n", ARRAY, [1, -2], I32),
              entry("b", ARRAY, [0, 1], BOOL), entry("f", ARRAY, [0.5], F64)]
    tensors = [("q", (32, 2), 3, bytes(40)), ("v", (3,), 0, bytes(12)), ("h", (2, 1, 2), 1, bytes(8))]
    seeds = {
        "gguf": {"empty": gguf([]), "scalars": gguf(scalars), "arrays": gguf(arrays),
                 "tensors": gguf([entry("general.alignment", U32, 8)], tensors, alignment=8),
                 "version2": gguf(arrays[:1], tensors[1:2], version=2)},
        "gguf_tokenizer": {"full": tokenizer(), "bare": tokenizer(kinds=False),
                           "other": tokenizer(pre="default")},
        "safetensors": {
            "none": safetensors({}),
            "two": safetensors({"__metadata__": {"format": "pt"},
                                "a": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]},
                                "b": {"dtype": "F32", "shape": [1], "data_offsets": [8, 12]}},
                               bytes(12)),
            "scalar": safetensors({"s": {"dtype": "F16", "shape": [], "data_offsets": [0, 2]}},
                                  bytes(2)),
            "overlap": safetensors({"a": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]},
                                    "b": {"dtype": "F16", "shape": [2], "data_offsets": [2, 6]}},
                                   bytes(6)),
            "huge": safetensors({"a": {"dtype": "F32", "shape": [2**63 - 1, 2],
                                       "data_offsets": [0, 2**63 - 1]}}, bytes(4))},
        "hf_directory": {
            "both": index({"w": "a.safetensors", "v": "b.safetensors"}),
            "one": index({"w": "a.safetensors"}) + b"\0" + json.dumps({"model_type": "llama"}).encode(),
            "wrong": index({"w": "b.safetensors", "v": "a.safetensors"}),
            "outside": index({"w": "../a.safetensors"}),
            "missing": index({"w": "a.safetensors", "v": "c.safetensors"}),
            "number": index({"w": 1}), "empty": index({})},
        "model": {"tied": llama(head=False), "untied": llama(head=True)},
    }
    for name, files in seeds.items():
        (CORPUS / name).mkdir(parents=True, exist_ok=True)
        for seed, data in files.items():
            (CORPUS / name / seed).write_bytes(data)


if __name__ == "__main__":
    main()
