#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent Llama forward pass in numpy, from a GGUF file; makes the golden data of src/model.

It shares nothing with the program but the file: weights are dequantised by the `gguf` package,
the arithmetic is plain numpy in float32 or float64, the tokenizer is Hugging Face `tokenizers`.

    reference_llama.py logits --model M.gguf --prompts prompts.json --out golden.json
    reference_llama.py ppl    --model M.gguf --text wiki.test.raw [--windows 20]

Needs: numpy, gguf, tokenizers.
"""
import argparse
import json
import math
import sys

import numpy as np
import gguf
from gguf.quants import dequantize


def int8_blocks(x):
    """x rounded as 8-bit activations are: 32 neighbours share the middle and half of their range,
    which 127 steps on either side divide."""
    blocks = x.reshape(*x.shape[:-1], -1, 32)
    most = blocks.max(axis=-1, keepdims=True)
    least = blocks.min(axis=-1, keepdims=True)
    center, step = (most + least) / 2, (most - least) / 254
    step[step == 0] = 1
    return (np.round((blocks - center) / step) * step + center).reshape(x.shape).astype(x.dtype)


def half(x):
    return x.astype(np.float16).astype(x.dtype)


class Llama:
    """Weights in `dtype`, one sequence per call, no cache.

    `fast` imitates the fast path: the inputs of every matrix product rounded to 8 bits, keys and
    values to binary16. It tells how large the rounding error of a correct fast path is.
    """

    def __init__(self, path: str, dtype, fast=False):
        self.operand = int8_blocks if fast else (lambda x: x)
        self.cached = half if fast else (lambda x: x)
        reader = gguf.GGUFReader(path)
        self.fields = {name: field.contents() for name, field in reader.fields.items()
                       if not name.startswith("GGUF.")}
        self.dtype = dtype
        self.tensors = {t.name: dequantize(t.data, t.tensor_type)
                        .reshape([int(d) for d in reversed(t.shape)]).astype(dtype)
                        for t in reader.tensors}
        if self.fields["general.architecture"] != "llama":
            raise ValueError("only the llama architecture is known here")
        key = lambda name: self.fields["llama." + name]
        self.layers = key("block_count")
        self.hidden = key("embedding_length")
        self.heads = key("attention.head_count")
        self.kv_heads = key("attention.head_count_kv")
        self.head_dim = self.fields.get("llama.attention.key_length", self.hidden // self.heads)
        self.rope_dim = self.fields.get("llama.rope.dimension_count", self.head_dim)
        self.rope_base = float(self.fields.get("llama.rope.freq_base", 10000.0))
        self.eps = float(key("attention.layer_norm_rms_epsilon"))
        self.entropy = None  # when a list: mean normalised attention entropy of each layer

    def norm(self, x, name):
        mean_square = np.mean(np.square(x), axis=-1, keepdims=True)
        return x / np.sqrt(mean_square + self.dtype(self.eps)) * self.tensors[name]

    def rope(self, x):
        """x[n, heads, head_dim]; GGUF llama files permute Q and K so that pairs are neighbours."""
        n, half = x.shape[0], self.rope_dim // 2
        freq = self.rope_base ** (-2.0 * np.arange(half) / self.rope_dim)
        angle = np.arange(n)[:, None] * freq[None, :]
        cos = np.cos(angle).astype(self.dtype)[:, None, :]
        sin = np.sin(angle).astype(self.dtype)[:, None, :]
        out = x.copy()
        even, odd = x[..., 0:self.rope_dim:2], x[..., 1:self.rope_dim:2]
        out[..., 0:self.rope_dim:2] = even * cos - odd * sin
        out[..., 1:self.rope_dim:2] = even * sin + odd * cos
        return out

    def attention(self, h, prefix):
        n = h.shape[0]
        h = self.operand(h)
        q = (h @ self.tensors[prefix + "attn_q.weight"].T).reshape(n, self.heads, self.head_dim)
        k = (h @ self.tensors[prefix + "attn_k.weight"].T).reshape(n, self.kv_heads, self.head_dim)
        v = (h @ self.tensors[prefix + "attn_v.weight"].T).reshape(n, self.kv_heads, self.head_dim)
        q, k, v = self.rope(q), self.cached(self.rope(k)), self.cached(v)
        repeat = self.heads // self.kv_heads
        mask = np.triu(np.full((n, n), -np.inf, dtype=self.dtype), 1)
        out = np.empty((n, self.heads, self.head_dim), dtype=self.dtype)
        entropies = []
        for head in range(self.heads):
            score = q[:, head] @ k[:, head // repeat].T / self.dtype(math.sqrt(self.head_dim))
            score = score + mask
            score -= score.max(axis=-1, keepdims=True)
            p = np.exp(score)
            p /= p.sum(axis=-1, keepdims=True)
            if self.entropy is not None and n > 1:
                log_p = np.log(p, where=p > 0, out=np.zeros_like(p))
                rows = np.arange(1, n)
                entropies.append(np.mean(-(p * log_p).sum(-1)[1:] / np.log(rows + 1)))
            out[:, head] = p @ v[:, head // repeat]
        if entropies:
            self.entropy.append(float(np.mean(entropies)))
        return self.operand(out.reshape(n, -1)) @ self.tensors[prefix + "attn_output.weight"].T

    def ffn(self, h, prefix):
        h = self.operand(h)
        gate = h @ self.tensors[prefix + "ffn_gate.weight"].T
        up = h @ self.tensors[prefix + "ffn_up.weight"].T
        product = self.operand(gate / (1 + np.exp(-gate)) * up)
        return product @ self.tensors[prefix + "ffn_down.weight"].T

    def logits(self, ids, rows):
        """Logits [len(rows), vocabulary] of the wanted positions."""
        x = self.tensors["token_embd.weight"][np.asarray(ids)]
        for layer in range(self.layers):
            prefix = f"blk.{layer}."
            x = x + self.attention(self.norm(x, prefix + "attn_norm.weight"), prefix)
            x = x + self.ffn(self.norm(x, prefix + "ffn_norm.weight"), prefix)
        x = self.norm(x[np.asarray(rows)], "output_norm.weight")
        head = self.tensors.get("output.weight", self.tensors["token_embd.weight"])
        return self.operand(x) @ head.T


def distance(values, expected) -> float:
    """Relative L2 distance over lists of arrays."""
    error = sum(float(np.sum(np.square(v - e))) for v, e in zip(values, expected))
    return math.sqrt(error / sum(float(np.sum(np.square(e))) for e in expected))


def make_tokenizer(model: Llama):
    """Byte-level BPE with every digit alone: what tokenizer.ggml.pre = "smollm" means."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    if model.fields["tokenizer.ggml.pre"] != "smollm":
        raise ValueError("only the smollm pre-tokenizer is known here")
    vocabulary = {text: index for index, text in enumerate(model.fields["tokenizer.ggml.tokens"])}
    merges = [tuple(merge.split(" ")) for merge in model.fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    return tokenizer


def logits_command(args) -> None:
    """Golden logits: the best `top` and every `stride`-th value of chosen rows, in float64."""
    model = Llama(args.model, np.float64)
    rounded = Llama(args.model, np.float64, fast=True)
    tokenizer = make_tokenizer(model)
    with open(args.prompts, encoding="utf-8") as file:
        prompts = json.load(file)
    cases, exact, fast = [], [], []
    for prompt in prompts:
        ids = tokenizer.encode(prompt["text"], add_special_tokens=False).ids
        rows = sorted({0, len(ids) // 2, len(ids) - 1})
        values = model.logits(ids, rows)
        exact.append(values)
        fast.append(rounded.logits(ids, rows))
        cases.append({"name": prompt["name"], "ids": ids, "rows": [
            sample(row, logits, args) for row, logits in zip(rows, values)]})
        print(f"{prompt['name']}: {len(ids)} tokens", file=sys.stderr)
    golden = {"model": args.model.rsplit("/", 1)[-1], "stride": args.stride,
              "fast_distance": round(distance(fast, exact), 5), "cases": cases}
    with open(args.out, "w", encoding="utf-8") as file:
        json.dump(golden, file, separators=(",", ":"))
        file.write("\n")


def sample(row, logits, args):
    top = np.argsort(-logits, kind="stable")[:args.top]
    shift = logits.max()
    return {"row": int(row),
            "top_ids": top.tolist(),
            "top": [round(float(v), 6) for v in logits[top]],
            "strided": [round(float(v), 6) for v in logits[::args.stride]],
            "norm": round(float(np.linalg.norm(logits)), 6),
            "log_sum_exp": round(float(shift + np.log(np.exp(logits - shift).sum())), 8)}


def ppl_command(args) -> None:
    model = Llama(args.model, np.float64 if args.dtype == "float64" else np.float32, args.fast)
    with open(args.text, encoding="utf-8", newline="") as file:
        ids = make_tokenizer(model).encode(file.read(), add_special_tokens=False).ids
    starts = list(range(0, len(ids) - args.window + 1, args.stride))
    every = max(1, len(starts) // args.windows) if args.windows else 1
    starts = starts[::every][:args.windows or None]
    total, scored = 0.0, 0
    rows = np.arange(args.skip, args.window - 1)
    for done, start in enumerate(starts, 1):
        window = ids[start:start + args.window]
        targets = np.asarray(window)[rows + 1]
        if args.bos == "replace":
            window = [model.fields["tokenizer.ggml.bos_token_id"]] + window[1:]
        logits = model.logits(window, rows).astype(np.float64)
        shift = logits.max(axis=-1, keepdims=True)
        log_sum = shift[:, 0] + np.log(np.exp(logits - shift).sum(-1))
        total += float((log_sum - logits[np.arange(len(rows)), targets]).sum())
        scored += len(rows)
        print(f"\r{done}/{len(starts)} ppl {math.exp(total / scored):.4f}", end="", file=sys.stderr)
    print(file=sys.stderr)
    print(json.dumps({"ppl": math.exp(total / scored), "nll": total / scored, "tokens": len(ids),
                      "scored": scored, "windows": len(starts),
                      "window": args.window, "stride": args.stride, "skip": args.skip,
                      "bos": args.bos, "compute": args.dtype}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    logits = commands.add_parser("logits")
    logits.add_argument("--model", required=True)
    logits.add_argument("--prompts", required=True, help='[{"name": ..., "text": ...}]')
    logits.add_argument("--out", required=True)
    logits.add_argument("--top", type=int, default=64)
    logits.add_argument("--stride", type=int, default=384, help="of the sampled vocabulary")
    logits.set_defaults(run=logits_command)
    ppl = commands.add_parser("ppl")
    ppl.add_argument("--model", required=True)
    ppl.add_argument("--text", required=True)
    ppl.add_argument("--window", type=int, default=512)
    ppl.add_argument("--stride", type=int, default=512)
    ppl.add_argument("--skip", type=int, default=256)
    ppl.add_argument("--bos", choices=["none", "replace"], default="none")
    ppl.add_argument("--windows", type=int, default=0, help="only so many, spread out; 0: all")
    ppl.add_argument("--fast", action="store_true", help="imitate 8-bit activations")
    ppl.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    ppl.set_defaults(run=ppl_command)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
