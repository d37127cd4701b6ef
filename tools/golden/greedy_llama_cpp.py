#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Greedy continuations by llama.cpp, the golden data of tests/test_greedy_golden.py.

    python3 -m venv V && V/bin/pip install llama-cpp-python==0.3.36 gguf==0.19.0
    V/bin/python tools/golden/greedy_llama_cpp.py MODEL.gguf tests/golden/greedy_llama_cpp.json

(Where the CPU has AMX, build llama-cpp-python with clang: a g++ 12 build crashes.)

Each prompt goes in as token ids, so that no tokenizer can differ. For each step the file holds
llama.cpp's best tokens with their logits. llama.cpp rounds activations to 8 bits, and so does the
program under test, each in its own way; a token whose logit is closer to the best one than that
noise is as right an answer. The noise is measured here, not guessed: the same steps are run once
more on the same weights written out as F32 and with an F32 cache, where llama.cpp rounds neither
activations nor keys and values (`exact`, again the best tokens with their logits), and the gaps
between the best two tokens are compared. With r the root mean square of the differences, two
programs that each err by r, independently, differ by r * sqrt(2); `tolerance` is three times that.
"""
import argparse
import json
import pathlib
import tempfile

import gguf
import llama_cpp
import numpy as np

STEPS = 64
# The best tokens of a step that are written down: two to eight, those that noise could make the best.
MOST_KEPT = 8
KEPT_GAP = 1.5

# Prose, lists, code, arithmetic, other languages, symbols, a chat; short and long, none of it from
# an evaluation set.
PROMPTS = [
    "The capital of France is",
    "Once upon a time, in a village by the sea, there lived",
    "def fibonacci(n):\n    \"\"\"Return the n-th Fibonacci number.\"\"\"\n",
    "Ingredients for a simple tomato soup:\n1.",
    "Water boils at 100 degrees Celsius because",
    "Dear Sir or Madam,\n\nThank you for your letter of 3 May. We",
    "SELECT name, COUNT(*) FROM orders",
    "Q: What is the difference between a lake and a pond?\nA:",
    "La biblioteca está cerrada los domingos porque",
    "Der schnellste Weg zum Bahnhof ist",
    "12 + 30 = 42. 15 + 18 = 33. 27 + 14 =",
    "# Release notes\n\n## Added\n-",
    "{\"name\": \"Ada\", \"born\": 1815, \"field\":",
    "The three states of matter are solid, liquid and gas. In a solid, the particles",
    "\"Are you sure?\" she asked. He looked at the map again and",
    "A list of planets, from the Sun outwards: Mercury, Venus,",
    "for (int i = 0; i < n; ++i) {",
    "In the long run, the price of a good depends on supply and demand. When demand rises while "
    "supply stays the same, the price rises; when supply rises while demand stays the same, the "
    "price falls. This is why a good harvest can be bad news for farmers:",
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n<|im_start|>user\nExplain why the sky is blue.<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>user\nWrite a haiku about winter.<|im_end|>\n<|im_start|>assistant\n",
]


def open_model(path: str, cache: int = llama_cpp.GGML_TYPE_F16) -> llama_cpp.Llama:
    return llama_cpp.Llama(path, n_ctx=512, n_threads=1, verbose=False, type_k=cache, type_v=cache)


def next_logits(model: llama_cpp.Llama, ids: list[int]) -> np.ndarray:
    model.eval(ids)
    row = llama_cpp.llama_get_logits_ith(model.ctx, -1)
    return np.ctypeslib.as_array(row, shape=(model.n_vocab(),)).astype(np.float64)


def rounded(logits: np.ndarray) -> list[float]:
    return [round(float(value), 4) for value in logits]


def best_of(logits: np.ndarray) -> dict:
    best = [int(t) for t in np.argsort(-logits, kind="stable")[:MOST_KEPT]]
    close = int(np.sum(logits[best] > logits[best[0]] - KEPT_GAP))
    kept = best[:max(2, close)]
    return {"ids": kept, "logits": rounded(logits[kept])}


def greedy(model: llama_cpp.Llama, prompt: list[int]) -> list[dict]:
    """One row a step: the best tokens with their logits; the first is taken."""
    model.reset()
    steps: list[dict] = []
    ids = prompt
    while len(steps) < STEPS:
        steps.append(best_of(next_logits(model, ids)))
        ids = steps[-1]["ids"][:1]
        if ids[0] == model.token_eos():
            break
    return steps


def add_exact(model: llama_cpp.Llama, prompt: list[int], steps: list[dict]) -> list[float]:
    """Adds to each step what `model` gives after the same text; returns by how much the gap between
    the step's best two tokens differs."""
    model.reset()
    ids = prompt
    errors = []
    for step in steps:
        logits = next_logits(model, ids)
        step["exact"] = best_of(logits)
        errors.append(np.subtract(*step["logits"][:2]) - np.subtract(*logits[step["ids"][:2]]))
        ids = step["ids"][:1]
    return errors


def write_f32(source: str, target: str) -> None:
    """The same model with every tensor dequantised."""
    reader = gguf.GGUFReader(source)
    arch = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, arch)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        sub = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, sub)
    for tensor in reader.tensors:
        data = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, np.ascontiguousarray(data, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def measure_noise(source: str, rows: list[dict]) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "f32.gguf")
        write_f32(source, path)
        model = open_model(path, llama_cpp.GGML_TYPE_F32)
        errors = np.abs([error for row in rows
                         for error in add_exact(model, row["prompt_ids"], row["steps"])])
    return {"steps": len(errors), "rms": round(float(np.sqrt(np.mean(errors**2))), 4),
            "p99": round(float(np.quantile(errors, 0.99)), 4), "max": round(float(errors.max()), 4)}


def as_text(golden: dict, rows: list[dict]) -> str:
    """JSON with a line per prompt, so that a change shows where it is."""
    def line(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    head = ",\n".join(f"{line(key)}:{line(value)}" for key, value in golden.items())
    return "{" + head + ',\n"prompts":[\n' + ",\n".join(map(line, rows)) + "\n]}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("out")
    arguments = parser.parse_args()
    model = open_model(arguments.model)
    rows = []
    for prompt in PROMPTS:
        ids = model.tokenize(prompt.encode(), add_bos=False, special=True)
        rows.append({"prompt": prompt, "prompt_ids": ids, "steps": greedy(model, ids)})
    noise = measure_noise(arguments.model, rows)
    golden = {
        "made_by": f"tools/golden/greedy_llama_cpp.py with llama-cpp-python {llama_cpp.__version__}",
        "model": pathlib.Path(arguments.model).name,
        "eos": model.token_eos(),
        "noise_of_top2_gap": noise,
        "tolerance": round(3 * 2**0.5 * noise["rms"], 3),
    }
    pathlib.Path(arguments.out).write_text(as_text(golden, rows), encoding="utf-8")
    print(json.dumps(noise), len(rows), sum(len(row["steps"]) for row in rows))


if __name__ == "__main__":
    main()
