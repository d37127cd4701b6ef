#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures o3's tokenizers beside Hugging Face's `tokenizers`, interleaved, on one thread each, and
prints a table. Processor time, so that what else runs on the machine counts less.

    pip install tokenizers==0.23.3
    python3 bench/compare_tokenizers.py --text wiki.test.raw DIR_WITH_TOKENIZER_JSON...

The text is one string. Start to ready: from the file's name to a tokenizer that encodes. A record
goes to bench/results/.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers  # after the settings that it reads

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


def cpu_name() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def ours(program: str, text: str, folder: str) -> dict:
    """text_bench prints NAME, load N ms, encode N ms, N MB/s, N tokens, between tabs."""
    done = subprocess.run([program, text, folder, "--runs", "3"], check=True, capture_output=True, text=True)
    _, load, encode, _, tokens = done.stdout.strip().split("\t")
    return {"load_ms": float(load.split()[1]), "encode_ms": float(encode.split()[1]), "tokens": int(tokens.split()[0])}


def theirs(text: str, folder: str) -> dict:
    start = time.process_time()
    tokenizer = tokenizers.Tokenizer.from_file(str(pathlib.Path(folder) / "tokenizer.json"))
    ready = time.process_time()
    tokens = len(tokenizer.encode(text, add_special_tokens=False).ids)
    done = time.process_time()
    return {"load_ms": (ready - start) * 1e3, "encode_ms": (done - ready) * 1e3, "tokens": tokens,
            "vocabulary": tokenizer.get_vocab_size()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--text-bench", default=str(ROOT / "build/release/src/app/text_bench"))
    parser.add_argument("--text", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record", help="name of the record in bench/results, without .json")
    parser.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    text = pathlib.Path(arguments.text).read_bytes().decode()
    size = len(text.encode()) / 1e6

    rows = []
    for folder in arguments.folders:
        pairs = [(ours(arguments.text_bench, arguments.text, folder), theirs(text, folder))
                 for _ in range(arguments.rounds)]
        assert all(a["tokens"] == b["tokens"] for a, b in pairs), f"{folder}: other tokens"
        ratios = [b["encode_ms"] / a["encode_ms"] for a, b in pairs]
        median = {key: [statistics.median(pair[side][key] for pair in pairs) for side in (0, 1)]
                  for key in ("load_ms", "encode_ms")}
        rows.append({"tokenizer": pathlib.Path(folder).name, "vocabulary": pairs[0][1]["vocabulary"],
                     "tokens": pairs[0][0]["tokens"], "threads": 1,
                     "load_ms": round(median["load_ms"][0], 1), "peer_load_ms": round(median["load_ms"][1], 1),
                     "mb_per_s": round(size / median["encode_ms"][0] * 1e3, 2),
                     "peer_mb_per_s": round(size / median["encode_ms"][1] * 1e3, 2),
                     "ratio": round(statistics.median(ratios), 2), "least_ratio": round(min(ratios), 2)})
        print(rows[-1], flush=True)
    if arguments.record:
        record = {"date": datetime.date.today().isoformat(), "cpu": cpu_name(),
                  "peer": f"tokenizers=={tokenizers.__version__}", "text": pathlib.Path(arguments.text).name,
                  "rounds": arguments.rounds, "rows": rows}
        (HERE / "results" / f"{arguments.record}.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
