#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perplexity of a Gemma 3 GGUF file by a program that shares nothing with O3: gguf-py dequantises
the weights, Hugging Face transformers runs them in FP32 with eager attention.

    perplexity_gemma3.py MODEL.gguf IDS.jsonl [--first N] [--windows N] [--device cuda]

IDS.jsonl is one line {"ids": [...]}: the text as token ids without BOS (`o3 text encode` writes it).
The protocol is that of `o3 eval ppl --window 512 --stride 512 --skip 256 --bos replace`. Prints one
line per window: its number, its loss, and the perplexity of the windows so far. With --first a run
goes on where another one stopped; add up the losses of both.

Needs: torch, transformers, gguf, numpy.
"""
import argparse
import json
import math
import sys

import gguf
import numpy as np
import torch
import transformers

WINDOW, SKIP = 512, 256
LAYER = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
    "post_ffw_norm": "post_feedforward_layernorm",
}


def value(reader, key):
    return reader.fields[key].contents()


def make_config(reader):
    get = lambda name: value(reader, "gemma3." + name)
    return transformers.Gemma3TextConfig(
        vocab_size=len(reader.fields["tokenizer.ggml.tokens"].data),
        hidden_size=get("embedding_length"), intermediate_size=get("feed_forward_length"),
        num_hidden_layers=get("block_count"), num_attention_heads=get("attention.head_count"),
        num_key_value_heads=get("attention.head_count_kv"), head_dim=get("attention.key_length"),
        query_pre_attn_scalar=get("attention.key_length"),
        rms_norm_eps=1e-6, max_position_embeddings=get("context_length"),
        sliding_window=get("attention.sliding_window"), tie_word_embeddings=True,
        rope_parameters={
            "full_attention": {"rope_type": "default", "rope_theta": get("rope.freq_base")},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}},
        attn_implementation="eager")


def hf_name(name):
    if name == "token_embd.weight":
        return "model.embed_tokens.weight"
    if name == "output_norm.weight":
        return "model.norm.weight"
    _, layer, stem, kind = name.split(".")
    return f"model.layers.{layer}.{LAYER[stem]}.{kind}"


def load(path):
    reader = gguf.GGUFReader(path)
    model = transformers.Gemma3ForCausalLM(make_config(reader)).eval()
    weights = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if tensor.name.endswith("norm.weight"):
            values = values - 1  # the file's converter added it
        weights[hf_name(tensor.name)] = torch.from_numpy(np.ascontiguousarray(values))
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    model.load_state_dict(weights, strict=True)
    return model, value(reader, "tokenizer.ggml.bos_token_id")


def losses(model, hidden, targets):
    """Sum over rows; a few rows at a time, since the vocabulary is wide."""
    total = 0.0
    for rows, wanted in zip(hidden.split(64), targets.split(64)):
        logits = model.lm_head(rows)
        loss = logits.logsumexp(-1) - logits.gather(-1, wanted[:, None])[:, 0]
        total += loss.double().sum().item()
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("ids")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--windows", type=int, help="as many at most")
    parser.add_argument("--device", default="cpu", help="cuda: FP32 products without TF32")
    arguments = parser.parse_args()
    with open(arguments.ids, encoding="utf-8") as file:
        ids = json.loads(file.readline())["ids"]
    model, bos = load(arguments.model)
    model.to(arguments.device)
    end = len(ids) // WINDOW
    if arguments.windows:
        end = min(end, arguments.first + arguments.windows)
    total, scored = 0.0, 0
    for index in range(arguments.first, end):
        window = torch.tensor(ids[index * WINDOW:(index + 1) * WINDOW], device=arguments.device)
        inputs = window[:-1].clone()
        inputs[0] = bos
        hidden = model.model(inputs[None], use_cache=False).last_hidden_state[0, SKIP:]
        loss = losses(model, hidden, window[SKIP + 1:])
        total += loss
        scored += WINDOW - 1 - SKIP
        print(index + 1, f"{loss:.6f}", f"{math.exp(total / scored):.6f}", flush=True)


if __name__ == "__main__":
    with torch.inference_mode():
        sys.exit(main())
