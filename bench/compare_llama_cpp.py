#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures o3 beside llama.cpp on the same file, threads and shapes, interleaved, and prints a table.

llama.cpp is llama-cpp-python 0.3.36 built for this CPU from its PyPI source package with clang-16 (a
g++ 12 build crashes on AMX: its tile-configuration intrinsic loses stores at -O3). It gets the best
of its settings. A record goes to bench/results/.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PEER = "llama-cpp-python==0.3.36"


def peer_python(given: str | None) -> str:
    if given:
        return given
    environment = ROOT / "build" / "peers" / "llama-cpp"
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--no-binary", "llama-cpp-python", PEER],
                       check=True, env=os.environ | {"CC": "clang-16", "CXX": "clang++-16",
                                                     "CMAKE_ARGS": "-DGGML_NATIVE=ON"})
    return str(python)


def run_json(command: list[str]) -> dict:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def peer_best(python: str, arguments, shape: list[str]) -> dict:
    """The best of flash attention on and off, separately for prefill and decode."""
    base = [python, str(HERE / "peer_llama_cpp.py"), "--model", arguments.model, *shape,
            "--threads", str(arguments.threads)]
    runs = [run_json(base), run_json([*base, "--flash-attention"])]
    return {key: max(run[key] for run in runs) for key in runs[0]}


def cpu_name() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--o3", default=str(ROOT / "build/release/o3"))
    parser.add_argument("--model", required=True)
    parser.add_argument("--peer-python", help="Python that has llama-cpp-python; made when not given")
    parser.add_argument("--prefill", type=int, default=512)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--record", help="name of the record in bench/results, without .json")
    arguments = parser.parse_args()

    python = peer_python(arguments.peer_python)
    shape = ["--prefill", str(arguments.prefill), "--decode", str(arguments.decode)]
    ours, peers = [], []
    for _ in range(arguments.rounds):
        ours.append(run_json([arguments.o3, "bench", "--model", arguments.model, *shape,
                              "--threads", str(arguments.threads), "--json"]))
        peers.append(peer_best(python, arguments, shape))

    rows = []
    for what in ("prefill", "decode"):
        key = f"{what}_tokens_per_s"
        our, peer = (statistics.median(run[key] for run in side) for side in (ours, peers))
        ratios = [a[key] / b[key] for a, b in zip(ours, peers)]
        rows.append({"model": pathlib.Path(arguments.model).name, "what": what,
                     "context": arguments.prefill, "streams": 1, "threads": arguments.threads,
                     "isa": ours[0]["isa"], "ours": round(our, 1), "peer": round(peer, 1),
                     "ratio": round(statistics.median(ratios), 3)})
        print(f"{what:8} o3 {our:8.1f} tok/s   llama.cpp {peer:8.1f} tok/s   "
              f"ratio {rows[-1]['ratio']:.2f} ({min(ratios):.2f}-{max(ratios):.2f})")
    if arguments.record:
        record = {"date": datetime.date.today().isoformat(), "cpu": cpu_name(), "peer": PEER,
                  "rounds": arguments.rounds, "rows": rows}
        (HERE / "results" / f"{arguments.record}.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
