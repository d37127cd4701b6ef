#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads a Hugging Face directory that `o3 model convert` wrote with transformers, and compares ids
and logits with those of the program over the same directory.

    check_directory.py DIR --o3 PROGRAM [--text FILE]

Fails where ids differ, a weight is missing or without use, or logits are further apart than 1e-4
(relative L2, FP32).

Needs: torch, transformers, numpy.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers

TEXT = "In 1912, the ship - then the largest afloat - met its end: 1,517 people died.\n\n\tWhy? "


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--o3", required=True)
    parser.add_argument("--text", type=pathlib.Path)
    arguments = parser.parse_args()
    text = arguments.text.read_text(encoding="utf-8") if arguments.text else TEXT

    tokenizer = transformers.AutoTokenizer.from_pretrained(arguments.directory)
    ids = tokenizer(text, add_special_tokens=False).input_ids
    told = subprocess.run([arguments.o3, "text", "encode", "--tokenizer", arguments.directory],
                          input=json.dumps({"text": text}).encode(), check=True,
                          capture_output=True).stdout
    assert json.loads(told)["ids"] == ids, "ids differ"

    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        arguments.directory, dtype=torch.float32, output_loading_info=True)
    assert not any(report.values()), report
    ids = ids[:64]
    with torch.inference_mode():
        expected = model(torch.tensor([ids])).logits[0].numpy()
    with tempfile.TemporaryDirectory() as folder:
        data, out = pathlib.Path(folder, "ids.jsonl"), pathlib.Path(folder, "logits.npy")
        data.write_text(json.dumps(ids) + "\n", encoding="utf-8")
        subprocess.run([arguments.o3, "eval", "logits", "--model", arguments.directory, "--data", data,
                        "--out", out, "--compute", "f32"], check=True, capture_output=True)
        found = np.load(out)
    distance = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    print(f"{len(ids)} ids equal, logits {distance:.2e} apart")
    return 0 if distance <= 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
