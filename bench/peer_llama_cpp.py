#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prefill and decode speed of llama.cpp (through llama-cpp-python) on one GGUF file; prints one JSON
object. Run by compare_llama_cpp.py with the Python of the environment it made."""
import argparse
import ctypes
import json
import statistics
import time

import llama_cpp


def make_context(model, arguments):
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = arguments.prefill + arguments.decode + 64
    params.n_batch = params.n_ubatch = arguments.ubatch
    params.n_threads = params.n_threads_batch = arguments.threads
    params.flash_attn_type = 1 if arguments.flash_attention else 0
    context = llama_cpp.llama_init_from_model(model, params)
    if not context:
        raise RuntimeError("llama.cpp refused the context")
    return context


def decode_tokens(context, tokens) -> None:
    array = (llama_cpp.llama_token * len(tokens))(*tokens)
    status = llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(array, len(tokens)))
    if status != 0:
        raise RuntimeError(f"llama_decode: {status}")
    llama_cpp.llama_synchronize(context)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--prefill", type=int, default=512)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ubatch", type=int, default=512)
    parser.add_argument("--flash-attention", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()

    silent = llama_cpp.llama_log_callback(lambda *_: None)  # must outlive the library's use of it
    llama_cpp.llama_log_set(silent, ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(arguments.model.encode(),
                                                 llama_cpp.llama_model_default_params())
    prompt = [(i * 7919) % 40000 + 100 for i in range(arguments.prefill)]
    prefill, decode = [], []
    for repeat in range(arguments.repeats + 1):
        context = make_context(model, arguments)
        start = time.perf_counter()
        for begin in range(0, len(prompt), arguments.ubatch):
            decode_tokens(context, prompt[begin:begin + arguments.ubatch])
        middle = time.perf_counter()
        for step in range(arguments.decode):
            decode_tokens(context, [prompt[step % len(prompt)]])
        end = time.perf_counter()
        llama_cpp.llama_free(context)
        if repeat:  # the first run warms up
            prefill.append(arguments.prefill / (middle - start))
            decode.append(arguments.decode / (end - middle))
    print(json.dumps({"prefill_tokens_per_s": statistics.median(prefill),
                      "decode_tokens_per_s": statistics.median(decode)}))


if __name__ == "__main__":
    main()
