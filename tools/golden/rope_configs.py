#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Hugging Face transformers makes of every way in which a config.json says RoPE.

    rope_configs.py OUT.json

Each case is a config.json; transformers builds the model and runs a few tokens through it. Written
are the frequencies (radians per position) and the magnitude of cos and sin of the layers that see
everything ("full") and, for Gemma, of the others ("sliding"); or "error": the kind of exception
that loading or running it raises.

Needs: torch, transformers.
"""
import copy
import json
import pathlib
import sys

import torch
import transformers

transformers.logging.set_verbosity_error()
SIZES = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1,
             num_attention_heads=2, num_key_value_heads=1, head_dim=16, max_position_embeddings=4096,
             bos_token_id=1, eos_token_id=2, pad_token_id=0)
FAMILIES = {
    "llama": dict(model_type="llama"), "mistral": dict(model_type="mistral"),
    "qwen2": dict(model_type="qwen2"), "qwen3": dict(model_type="qwen3"),
    "gemma": dict(model_type="gemma3_text", num_hidden_layers=2,
                  layer_types=["sliding_attention", "full_attention"]),
}
LINEAR = dict(rope_type="linear", factor=4.0)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=1024)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=1024)


def flat_cases():
    yield "nothing", {}
    yield "theta", dict(rope_theta=500.0)
    yield "theta_in_parameters", dict(rope_parameters=dict(rope_type="default", rope_theta=600.0))
    yield "theta_in_both", dict(rope_theta=500.0,
                                rope_parameters=dict(rope_type="default", rope_theta=600.0))
    yield "parameters_without_theta", dict(rope_theta=500.0, rope_parameters=dict(LINEAR))
    yield "parameters_alone_without_theta", dict(rope_parameters=dict(LINEAR))
    yield "theta_in_scaling", dict(rope_scaling=LINEAR | dict(rope_theta=700.0))
    yield "theta_in_scaling_and_beside", dict(rope_theta=500.0, rope_scaling=LINEAR | dict(rope_theta=700.0))
    yield "theta_in_default_scaling", dict(rope_scaling=dict(rope_type="default", rope_theta=700.0))
    yield "theta_in_scaling_without_type", dict(rope_scaling=dict(rope_theta=700.0))
    yield "scaling_and_parameters", dict(rope_scaling=dict(LINEAR), rope_parameters=YARN | dict(rope_theta=600.0))
    yield "scaling_and_parameters_and_theta", dict(
        rope_theta=500.0, rope_scaling=dict(LINEAR),
        rope_parameters=dict(rope_type="default", rope_theta=600.0))
    yield "both_with_theta", dict(rope_scaling=LINEAR | dict(rope_theta=700.0),
                                  rope_parameters=YARN | dict(rope_theta=600.0))
    yield "empty_scaling_and_parameters", dict(rope_scaling={}, rope_parameters=LINEAR | dict(rope_theta=600.0))
    yield "null_scaling_and_parameters", dict(rope_scaling=None, rope_parameters=LINEAR | dict(rope_theta=600.0))
    yield "scaling_and_null_parameters", dict(rope_scaling=dict(LINEAR), rope_parameters=None)
    yield "legacy_type", dict(rope_scaling=dict(type="linear", factor=4.0))
    yield "both_types", dict(rope_scaling=dict(type="linear", rope_type="dynamic", factor=4.0))
    yield "dynamic", dict(rope_scaling=dict(rope_type="dynamic", factor=4.0))
    yield "llama3", dict(rope_scaling=dict(LLAMA3))
    yield "llama3_original_beside", dict(rope_scaling=dict(LLAMA3), original_max_position_embeddings=2048)
    yield "llama3_without_original", dict(
        rope_scaling={k: v for k, v in LLAMA3.items() if not k.startswith("original")})
    yield "yarn", dict(rope_scaling=dict(YARN))
    yield "yarn_factor_null", dict(rope_scaling=YARN | dict(factor=None))
    yield "yarn_attention_factor", dict(rope_scaling=YARN | dict(attention_factor=1.5))
    yield "yarn_mscale", dict(rope_scaling=YARN | dict(mscale=1.0, mscale_all_dim=0.5))
    yield "yarn_mscale_alone", dict(rope_scaling=YARN | dict(mscale=2.0))
    yield "yarn_betas", dict(rope_scaling=YARN | dict(beta_fast=16, beta_slow=2))
    yield "yarn_beta_zero", dict(rope_scaling=YARN | dict(beta_fast=0, beta_slow=0))
    yield "yarn_not_truncated", dict(rope_scaling=YARN | dict(truncate=False))
    yield "yarn_original_beside", dict(rope_scaling=dict(YARN), original_max_position_embeddings=2048)
    yield "partial", dict(partial_rotary_factor=0.5)
    yield "partial_in_parameters", dict(
        rope_parameters=dict(rope_type="default", rope_theta=600.0, partial_rotary_factor=0.5))
    yield "partial_of_one", dict(partial_rotary_factor=1.0, rope_scaling=dict(LINEAR))
    for kind in ("linear", "dynamic", "llama3", "yarn"):
        yield f"partial_{kind}", dict(partial_rotary_factor=0.5, rope_scaling=LLAMA3 | YARN | dict(rope_type=kind))
    for kind in (LINEAR, dict(rope_type="dynamic", factor=4.0), LLAMA3, YARN):
        for key in kind:
            if key in ("rope_type", "original_max_position_embeddings"):
                continue
            yield f"{kind['rope_type']}_without_{key}", dict(
                rope_scaling={k: v for k, v in kind.items() if k != key})
    yield "by_layer", dict(rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=600.0)))
    yield "by_layer_declared", dict(
        layer_types=["full_attention"],
        rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=600.0)))
    yield "by_layer_behind_scaling", dict(
        layer_types=["full_attention"], rope_scaling=dict(LINEAR),
        rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=600.0)))


def gemma_cases():
    full, sliding = dict(rope_type="default", rope_theta=600.0), dict(rope_type="default", rope_theta=50.0)
    yield "nothing", {}
    yield "theta", dict(rope_theta=500.0)
    yield "local_base", dict(rope_local_base_freq=40.0)
    yield "scaling", dict(rope_scaling=dict(LINEAR))
    yield "scaling_and_bases", dict(rope_theta=500.0, rope_local_base_freq=40.0, rope_scaling=dict(LINEAR))
    yield "theta_in_scaling", dict(rope_scaling=LINEAR | dict(rope_theta=700.0))
    yield "theta_in_scaling_and_beside", dict(rope_theta=500.0, rope_scaling=LINEAR | dict(rope_theta=700.0))
    yield "legacy_type", dict(rope_scaling=dict(type="linear", factor=4.0))
    yield "parameters", dict(rope_parameters=dict(full_attention=full, sliding_attention=sliding))
    yield "parameters_and_bases", dict(
        rope_theta=500.0, rope_local_base_freq=40.0,
        rope_parameters=dict(full_attention=full, sliding_attention=sliding))
    yield "full_alone", dict(rope_parameters=dict(full_attention=full), rope_local_base_freq=40.0)
    yield "sliding_alone", dict(rope_parameters=dict(sliding_attention=sliding), rope_theta=500.0)
    yield "full_null", dict(rope_parameters=dict(full_attention=None, sliding_attention=sliding))
    yield "without_thetas", dict(rope_theta=500.0, rope_local_base_freq=40.0, rope_parameters=dict(
        full_attention=dict(LINEAR), sliding_attention=dict(rope_type="default")))
    yield "without_any_theta", dict(rope_parameters=dict(
        full_attention=dict(LINEAR), sliding_attention=dict(rope_type="default")))
    yield "flat", dict(rope_parameters=LINEAR | dict(rope_theta=600.0))
    yield "scaling_over_parameters", dict(
        rope_scaling=dict(LINEAR), rope_parameters=dict(full_attention=full, sliding_attention=sliding))
    yield "theta_of_scaling_over_parameters", dict(
        rope_scaling=LINEAR | dict(rope_theta=700.0),
        rope_parameters=dict(full_attention=full, sliding_attention=sliding))
    yield "scaling_without_full", dict(
        rope_scaling=dict(LINEAR), rope_parameters=dict(sliding_attention=sliding))
    yield "empty_scaling", dict(
        rope_scaling={}, rope_parameters=dict(full_attention=full, sliding_attention=sliding))
    yield "yarn", dict(rope_parameters=dict(full_attention=dict(YARN), sliding_attention=sliding))
    yield "yarn_not_truncated", dict(
        rope_parameters=dict(full_attention=YARN | dict(truncate=False), sliding_attention=sliding))
    yield "legacy_type_by_layer", dict(rope_parameters=dict(
        full_attention=dict(type="linear", factor=4.0), sliding_attention=sliding))
    yield "sliding_stretched", dict(rope_parameters=dict(
        full_attention=full, sliding_attention=LINEAR | dict(rope_theta=50.0)))
    yield "partial", dict(partial_rotary_factor=0.5)
    yield "partial_linear", dict(partial_rotary_factor=0.5, rope_scaling=dict(LINEAR))
    yield "no_windowed_layer", dict(
        layer_types=["full_attention", "full_attention"], rope_theta=500.0)


def measured(config: dict) -> dict:
    """The RoPE of a model of this configuration, once it has run."""
    config = copy.deepcopy(config)
    try:
        cls = transformers.CONFIG_MAPPING[config.pop("model_type")]
        made = cls.from_dict(config)
        model = transformers.AutoModelForCausalLM.from_config(made, attn_implementation="eager")
        model(torch.tensor([[1, 5, 9, 3]]))
    except Exception as problem:  # whatever it is: transformers cannot run it
        return {"error": type(problem).__name__}
    rope = model.model.rotary_emb
    if not isinstance(rope.rope_type, dict):
        return {"full": {"frequencies": rope.inv_freq.double().tolist(), "magnitude": rope.attention_scaling}}
    return {name.removesuffix("_attention"): {
        "frequencies": getattr(rope, f"{name}_inv_freq").double().tolist(),
        "magnitude": getattr(rope, f"{name}_attention_scaling")} for name in rope.rope_type}


def main() -> None:
    cases = []
    for family, base in FAMILIES.items():
        for name, change in gemma_cases() if family == "gemma" else flat_cases():
            config = SIZES | base | copy.deepcopy(change)
            cases.append({"name": f"{family}_{name}", "config": config} | measured(config))
    lines = ",\n".join(json.dumps(case) for case in cases)
    pathlib.Path(sys.argv[1]).write_text(
        f'{{"transformers": "{transformers.__version__}", "cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
