#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures decode and prefill of one model on a GPU with `o3 bench` and keeps the rows with the ceilings of the same run.

    python3 bench/gpu_record.py --o3 build/cuda/o3 --kernel-bench build/cuda/src/kernels/cuda_kernel_bench \
        --model llama3-8b-bf16.gguf --shape llama3-8b --weights bf16 --commit HASH --out bench/results/h200-llama3-8b-bf16.json
"""
import argparse
import datetime
import json
import re
import subprocess

# streams, context, prompt, decode steps, repeats
DECODE = [(1, 512, 512, 128, 5), (8, 512, 512, 128, 5), (64, 512, 512, 64, 5), (256, 512, 512, 32, 3), (1, 8192, 512, 64, 5),
          (64, 8192, 512, 16, 3)]
PREFILL = [(1, 2048, 15), (16, 2048, 5)]


def smi(fields: str) -> str:
    command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def bench(arguments: argparse.Namespace, options: list[str]) -> dict:
    command = [arguments.o3, "bench", "--device", "cuda:0", "--model", arguments.model, "--json", "--kv", arguments.kv,
               "--weights", "fp8" if arguments.weights == "fp8" else "file", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def ceilings(program: str) -> dict:
    text = subprocess.run([program, "ceilings"], check=True, capture_output=True, text=True).stdout
    numbers = {"read_gb_per_s": r"read 16 GiB .* ([\d.]+) GB/s", "copy_gb_per_s": r"copy 8 GiB .* ([\d.]+) GB/s",
               "bf16_tflop_per_s": r"BF16 product .* ([\d.]+) TFLOP/s"}
    return {name: float(re.search(pattern, text).group(1)) for name, pattern in numbers.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--o3", "--kernel-bench", "--model", "--shape", "--weights", "--commit", "--out"):
        parser.add_argument(name, required=True)
    parser.add_argument("--kv", default="f16", help="as for o3 bench")
    parser.add_argument("--what", choices=["all", "decode", "prefill"], default="all")
    arguments = parser.parse_args()
    limits = ceilings(arguments.kernel_bench)
    rows = []
    for streams, context, prompt, steps, repeats in DECODE if arguments.what != "prefill" else []:
        result = bench(arguments, ["--batch", str(streams), "--context", str(context), "--prefill", str(prompt), "--decode", str(steps),
                                   "--repeats", str(repeats)])
        rows.append({"what": "decode", "context": context, "streams": streams, "ours": round(result["decode_tokens_per_s"], 1),
                     "least": round(result["decode_min"], 1), "most": round(result["decode_max"], 1),
                     "step_ms": round(1e3 * result["decode_step_s"], 3), "read_gb_per_s": round(result["read_gb_per_s"]),
                     "fraction_of_read": round(result["read_gb_per_s"] / limits["read_gb_per_s"], 3),
                     "sm_mhz_after": int(smi("clocks.sm"))})
        print(rows[-1], flush=True)
    for streams, prompt, repeats in PREFILL if arguments.what != "decode" else []:
        result = bench(arguments, ["--batch", str(streams), "--prefill", str(prompt), "--decode", "1", "--repeats", str(repeats)])
        rows.append({"what": "prefill", "context": prompt, "streams": streams, "ours": round(result["prefill_tokens_per_s"]),
                     "least": round(result["prefill_min"]), "most": round(result["prefill_max"]), "sm_mhz_after": int(smi("clocks.sm"))})
        print(rows[-1], flush=True)
    record = {"date": datetime.date.today().isoformat(), "gpu": smi("name"), "driver": smi("driver_version"),
              "power_limit_w": smi("power.limit"), "commit": arguments.commit, "model": arguments.shape,
              "weights": arguments.weights, "kv": arguments.kv, "ceilings": limits, "rows": rows}
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
