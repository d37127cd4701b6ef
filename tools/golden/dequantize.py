#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes packed blocks of every quantised GGUF type and the float32 values that gguf-py gives them.

    dequantize.py > tests/golden/kernels/dequantize.txt
    dequantize.py --model FILE.gguf > digests.txt

A line is `TYPE BLOCK VALUES`, both little-endian in hex. Each type has random blocks and edges: all
zeros, all ones (a NaN scale), the least and the greatest quants, scales that are subnormal,
negative, the largest, and infinite. With --model, a line is `NAME TYPE SHA256` of each tensor's
values (NumPy's float32, row by row). Needs gguf 0.19.
"""
import hashlib
import struct
import sys

import gguf
import numpy as np
from gguf.quants import dequantize

# Where the block has its F16 scales.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82],
          "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0]}


def with_scales(block: bytes, places: list[int], bits: int) -> bytes:
    out = bytearray(block)
    for place in places:
        out[place:place + 2] = struct.pack("<H", bits)
    return bytes(out)


def blocks(kind: str, size: int, rng: np.random.Generator):
    def random() -> bytes:
        return rng.integers(0, 256, size, dtype=np.uint8).tobytes()

    def half(value: float) -> int:
        return int(np.float16(value).view(np.uint16))

    places = SCALES[kind]
    for _ in range(3 if size > 40 else 6):
        block = random()
        for place in places:
            block = with_scales(block, [place], half(rng.uniform(-0.1, 0.1)))
        yield block
    yield bytes(size)
    yield b"\xff" * size
    yield with_scales(bytes(size), places, half(0.37))
    yield with_scales(b"\xff" * size, places, half(-0.37))
    for bits in (0x0001, 0x7bff, 0x7c00):
        yield with_scales(random(), places, bits)


def digest_model(path: str) -> None:
    for tensor in gguf.GGUFReader(path).tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        digest = hashlib.sha256(values.tobytes()).hexdigest()
        print(tensor.name, tensor.tensor_type.name, digest)


def main() -> None:
    np.seterr(all="ignore")
    if len(sys.argv) == 3 and sys.argv[1] == "--model":
        return digest_model(sys.argv[2])
    rng = np.random.default_rng(20)
    for kind in SCALES:
        number = gguf.GGMLQuantizationType[kind]
        size = gguf.GGML_QUANT_SIZES[number][1]
        for block in blocks(kind, size, rng):
            values = dequantize(np.frombuffer(block, np.uint8).reshape(1, -1), number)
            print(kind, block.hex(), values.astype("<f4").tobytes().hex())


if __name__ == "__main__":
    main()
