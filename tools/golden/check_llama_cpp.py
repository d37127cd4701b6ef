#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads a GGUF file that `o3 model convert` wrote with llama.cpp, and compares ids and the likeliest
next tokens with those of the program over the same file.

    check_llama_cpp.py FILE --o3 PROGRAM

Fails where ids differ or the program's likeliest tokens are not llama.cpp's.

Needs: llama-cpp-python, numpy.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import llama_cpp
import numpy as np

TEXTS = ["In 1912, the ship - then the largest afloat - met its end: 1,517 people died.\n\n\tWhy? ",
         "  Two  spaces, I've 3 cats; Déjà vu 日本語 🦑 x = y[0] += 1;"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--o3", required=True)
    arguments = parser.parse_args()
    model = llama_cpp.Llama(arguments.file, n_ctx=256, logits_all=True, verbose=False)
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    told = subprocess.run([arguments.o3, "text", "encode", "--tokenizer", arguments.file],
                          input=lines.encode(), check=True, capture_output=True).stdout
    for text, line in zip(TEXTS, told.splitlines(), strict=True):
        ids = model.tokenize(text.encode(), add_bos=False, special=True)
        assert json.loads(line)["ids"] == ids, f"ids differ: {text!r}"
    ids = model.tokenize(TEXTS[0].encode(), add_bos=False)
    model.eval(ids)
    expected = np.array(model.scores[: len(ids)])
    with tempfile.TemporaryDirectory() as folder:
        data, out = pathlib.Path(folder, "ids.jsonl"), pathlib.Path(folder, "logits.npy")
        data.write_text(json.dumps(ids) + "\n", encoding="utf-8")
        subprocess.run([arguments.o3, "eval", "logits", "--model", arguments.file, "--data", data,
                        "--out", out, "--compute", "f32"], check=True, capture_output=True)
        found = np.load(out)
    distance = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    same = float(np.mean(found.argmax(-1) == expected.argmax(-1)))
    print(f"{len(ids)} ids equal, logits {distance:.2e} apart, {same:.0%} of the likeliest tokens equal")
    return 0 if same >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
