#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a tiny random checkpoint of each model family with its logits, by Hugging Face transformers.

    make_tiny_families.py OUT_DIR [NAME...]

For each family OUT_DIR gets NAME.gguf (the checkpoint as converters write it: Q and K of llama
permuted, 1 added to Gemma's norms), NAME.json (ids and logits) and NAME/ (the same checkpoint as
transformers saves it). Weights are rounded to binary16 first, so all agree; logits come
from the model in float64 with eager attention.

Sequences are longer than the sliding window and the positions before scaling. Weights are scaled
until attention is neither flat nor a peak: the mean entropy of every layer lies between 30 and
70 % of its maximum (a default initialisation is so flat that a wrong RoPE passes).

Needs: torch, transformers, gguf, numpy.
"""
import json
import math
import pathlib
import shutil
import sys

import gguf
import numpy as np
import torch
import transformers

BASE = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, head_dim=16, rms_norm_eps=1e-4,
            max_position_embeddings=128, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2,
            pad_token_id=0, attention_dropout=0.0)
GEMMA = BASE | dict(intermediate_size=32, num_attention_heads=2, num_key_value_heads=1,
                    num_hidden_layers=7, tie_word_embeddings=True, query_pre_attn_scalar=16,
                    sliding_window=12, hidden_activation="gelu_pytorch_tanh")


def rope(kind, theta=10000.0, **more):
    return dict(rope_type=kind, rope_theta=theta, **more)


SPECS = {
    "tiny_linear": ("llama", BASE | dict(rope_parameters=rope("linear", factor=4.0))),
    "tiny_dynamic": ("llama", BASE | dict(
        max_position_embeddings=32, rope_parameters=rope("dynamic", factor=4.0))),
    "tiny_llama3": ("llama", BASE | dict(
        tie_word_embeddings=True,
        rope_parameters=rope("llama3", 500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=32))),
    "tiny_yarn": ("llama", BASE | dict(rope_parameters=rope(
        "yarn", 500.0, factor=4.0, original_max_position_embeddings=32))),
    "tiny_mistral": ("mistral", BASE | dict(sliding_window=17, rope_parameters=rope("default"))),
    "tiny_qwen2": ("qwen2", {k: v for k, v in BASE.items() if k != "head_dim"} | dict(
        hidden_size=64, num_hidden_layers=1, rope_parameters=rope("default", 1000.0))),
    "tiny_qwen3": ("qwen3", BASE | dict(
        tie_word_embeddings=True, rope_parameters=rope("default", 1000.0))),
    # As published files are: no key for the pattern, the local base, the scale.
    "tiny_gemma3": ("gemma3", GEMMA | dict(rope_parameters={
        "full_attention": rope("linear", 100000.0, factor=8.0),
        "sliding_attention": rope("default", 10000.0)})),
    # Everything else than usual.
    "tiny_gemma3_caps": ("gemma3", GEMMA | dict(
        num_hidden_layers=3, query_pre_attn_scalar=24, final_logit_softcapping=0.1,
        attn_logit_softcapping=8.0,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        rope_parameters={"full_attention": rope("default", 50000.0),
                         "sliding_attention": rope("default", 300.0)})),
}
CLASSES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
    "gemma3": (transformers.Gemma3TextConfig, transformers.Gemma3ForCausalLM),
}
NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}
# In Gemma "post_attention_layernorm" lies behind attention; elsewhere it is the FFN's own norm.
NORMS = {"post_attention_layernorm": "ffn_norm"}
GEMMA_NORMS = {"post_attention_layernorm": "post_attention_norm",
               "pre_feedforward_layernorm": "ffn_norm",
               "post_feedforward_layernorm": "post_ffw_norm"}


def initialise(model, family, gain, rng):
    """Random weights; `gain` scales queries and keys."""
    offset = 0.0 if family == "gemma3" else 1.0
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            values = rng.standard_normal(tuple(tensor.shape))
            if name.endswith("norm.weight") or "layernorm" in name:
                values = offset + 0.2 * values
                if name.endswith(("q_norm.weight", "k_norm.weight")):
                    values = (values + 1 - offset) * gain - (1 - offset)
            elif name.endswith("bias"):
                values = 0.5 * values
            elif "embed_tokens" in name:
                values = 0.03 * values / model_scale(model)
            else:
                values = values / math.sqrt(tensor.shape[1])
                if name.endswith(("q_proj.weight", "k_proj.weight")):
                    values = values * gain
                if name.endswith(("o_proj.weight", "down_proj.weight")):
                    values = values * 0.3
            tensor.copy_(torch.from_numpy(values.astype(np.float16).astype(np.float64)))


def model_scale(model):
    return getattr(model.model.embed_tokens, "scalar_embed_scale", 1.0)


def extras(model):
    """transformers' Gemma 3 reads the soft cap of scores but does not hand it to attention."""
    cap = getattr(model.config, "attn_logit_softcapping", None)
    return {"softcap": cap} if cap else {}


def entropies(model, ids):
    """Per layer: mean over heads and rows of entropy / log(visible positions)."""
    attentions = model(torch.tensor([ids]), output_attentions=True, **extras(model)).attentions
    result = []
    for layer in attentions:
        p = layer[0].double()
        entropy = -(p * torch.where(p > 0, p, 1.0).log()).sum(-1)
        visible = (p > 0).sum(-1)
        keep = visible > 1
        result.append(float((entropy[keep] / visible[keep].log()).mean()))
    return result


def logits_of(model, ids):
    if model.config.rope_parameters.get("rope_type") != "dynamic":
        return model(torch.tensor([ids]), use_cache=False, **extras(model)).logits[0].numpy()
    # A prompt taken at once would rotate all rows for its whole length; what is in the cache is
    # rotated for the length it had when it came, so feed one token after the other.
    cache, rows = None, []
    for token in ids:
        out = model(torch.tensor([[token]]), past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        rows.append(out.logits[0, -1].numpy())
    return np.stack(rows)


def build(name, family, settings):
    config_class, model_class = CLASSES[family]
    for gain in (1.0, 1.2, 1.4, 1.7, 2.0, 2.4, 2.8, 3.3, 4.0, 5.0):
        config = config_class(**settings, attn_implementation="eager")
        torch.manual_seed(0)
        model = model_class(config).double().eval()
        rng = np.random.default_rng(sum(name.encode()))
        initialise(model, family, gain, rng)
        ids = rng.integers(3, config.vocab_size, 100).tolist()
        found = entropies(model, ids)
        if max(found) < 0.7:
            assert min(found) > 0.3, (name, gain, found)
            return model, ids, found
    raise AssertionError((name, found))


def gguf_name(name, family):
    if name in NAMES:
        return NAMES[name]
    _, _, layer, rest = name.split(".", 3)
    stem, kind = rest.rsplit(".", 1)
    stem = (NAMES | (GEMMA_NORMS if family == "gemma3" else NORMS))[stem]
    return f"blk.{layer}.{stem}.{kind}"


def permute(values, heads):
    """Rows so that rotated pairs (i, i + dim/2) become neighbours."""
    return values.reshape(heads, 2, values.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(
        values.shape)


def write_metadata(writer, name, arch, config):
    writer.add_name(name)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(128)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    if getattr(config, "head_dim", None):
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
    rope = config.rope_parameters
    if arch == "gemma3":
        local, rope = rope["sliding_attention"], rope["full_attention"]
        if local["rope_theta"] != 10000.0:
            writer.add_float32("gemma3.rope.freq_base_swa", local["rope_theta"])
            writer.add_uint32("gemma3.attention.sliding_window_pattern", 2)
            writer.add_float32("gemma3.attention.scale", config.query_pre_attn_scalar ** -0.5)
            writer.add_float32("gemma3.attn_logit_softcapping", config.attn_logit_softcapping)
            writer.add_float32("gemma3.final_logit_softcapping", config.final_logit_softcapping)
    writer.add_rope_freq_base(rope["rope_theta"])
    kind = rope["rope_type"]
    if kind in ("linear", "dynamic", "yarn"):
        writer.add_string(f"{arch}.rope.scaling.type", kind)
        writer.add_float32(f"{arch}.rope.scaling.factor", rope["factor"])
    if kind in ("dynamic", "yarn"):
        writer.add_uint32(f"{arch}.rope.scaling.original_context_length", 32)


def llama3_divisors(rope, dim):
    wave = 2 * math.pi * rope["rope_theta"] ** (np.arange(0, dim, 2) / dim)
    original, factor = rope["original_max_position_embeddings"], rope["factor"]
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    smooth = np.clip((original / wave - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / factor + smooth)).astype(np.float32)


def write_gguf(path, model, family):
    config = model.config
    arch = "llama" if family == "mistral" else family
    writer = gguf.GGUFWriter(path, arch)
    write_metadata(writer, path.stem, arch, config)
    if arch == "llama" and config.rope_parameters["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(config.rope_parameters,
                                                               config.head_dim))
    for name, tensor in model.named_parameters():  # a tied head is not among them
        values = tensor.detach().numpy()
        if arch == "llama" and name.endswith(("q_proj.weight", "k_proj.weight")):
            query = name.endswith("q_proj.weight")
            values = permute(values, config.num_attention_heads if query else
                             config.num_key_value_heads)
        if arch == "gemma3" and name.endswith("norm.weight"):
            values = values + 1
        kind = np.float16 if values.ndim == 2 else np.float32
        writer.add_tensor(gguf_name(name, family), np.ascontiguousarray(values.astype(kind)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def save_directory(directory, model):
    if directory.exists():
        shutil.rmtree(directory)
    model.to(torch.float16).save_pretrained(directory)


def make(directory, name):
    family, settings = SPECS[name]
    model, ids, entropy = build(name, family, settings)
    cases = []
    for length, step in ((1, 1), (19, 3), (100, 7)):
        rows = list(range(length - 1, -1, -step))[::-1]
        logits = logits_of(model, ids[:length])
        cases.append({"ids": ids[:length], "rows": rows,
                      "logits": [[round(float(v), 7) for v in logits[row]] for row in rows]})
    write_gguf(directory / (name + ".gguf"), model, family)
    save_directory(directory / name, model)
    golden = {"model": name + ".gguf", "entropy": [round(h, 3) for h in entropy], "cases": cases}
    with open(directory / (name + ".json"), "w", encoding="utf-8") as file:
        json.dump(golden, file, separators=(",", ":"))
        file.write("\n")
    print(name, (directory / (name + ".gguf")).stat().st_size, "bytes, entropy", golden["entropy"])


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    with torch.no_grad():
        for chosen in sys.argv[2:] or SPECS:
            make(target, chosen)
