#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds of the tokenizer.json fuzzer (fuzz/corpus/tokenizer_json/*-N) from the golden tests'
components, each around a tiny model."""
import itertools
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests/golden/tokenizer/components"
CORPUS = ROOT / "fuzz/corpus/tokenizer_json"
LETTERS = {t: i for i, t in enumerate(["a", "b", "ab", "\u2581", "<0x41>", "<unk>", "a</w>", "##b", "\u0120"])}
MODELS = [
    {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": LETTERS, "merges": ["a b"]},
    {"type": "BPE", "end_of_word_suffix": "</w>", "continuing_subword_prefix": "##", "fuse_unk": True,
     "vocab": LETTERS, "merges": [["a", "##b"]]},
    {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##",
     "max_input_chars_per_word": 9, "vocab": LETTERS},
    {"type": "WordLevel", "unk_token": "<unk>", "vocab": LETTERS},
    {"type": "Unigram", "unk_id": 5, "byte_fallback": True, "vocab": [[t, -1.5 - i] for t, i in LETTERS.items()]},
]
POST = [
    {"type": "BertProcessing", "sep": ["a", 0], "cls": ["b", 1]},
    {"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing", "single": [
        {"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [], "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}}}]}, None,
]
ADDED = [[], [{"id": 9, "content": "<x>", "special": True, "single_word": True, "lstrip": True, "rstrip": True,
               "normalized": False}, {"id": 2, "content": "ab", "special": False, "normalized": True}]]


def components(name, key):
    lines = (GOLDEN / f"{name}.jsonl").read_text(encoding="ascii").splitlines()
    return [json.loads(line)["json"][key] for line in lines]


def main():
    cycles = [itertools.cycle(x) for x in (components("normalizers", "normalizer"), components("decoders", "decoder"),
                                           MODELS, POST, ADDED)]
    for i, pre in enumerate(components("pre_tokenizers", "pre_tokenizer")):
        normalizer, decoder, model, post, added = (next(c) for c in cycles)
        seed = {"added_tokens": added, "normalizer": normalizer, "pre_tokenizer": pre, "post_processor": post,
                "decoder": decoder, "model": model}
        (CORPUS / f"components-{i}").write_text(json.dumps(seed, separators=(",", ":")), encoding="ascii")


if __name__ == "__main__":
    main()
