#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Token ids of SmolLM2 by Hugging Face's `tokenizers`, for strings made here.

The reference tokenizer is built from the GGUF file's own vocabulary and merges, in the shape of the
model's tokenizer.json: Sequence[Digits(individual_digits), ByteLevel(use_regex)] + BPE, no
normaliser, 17 special tokens.

    pip install tokenizers==0.23.3 gguf==0.19.0 unicodedata2==16.0.0
    python3 tools/golden/tokenizer_smollm2.py MODEL.gguf --out tests/golden/tokenizer/smollm2.jsonl

Each line is [text, ids] or [text, ids, ids without parsing special tokens] where the two differ.
Code points that Unicode 16 does not assign are used rarely and never as numbers: `tokenizers` asks
Rust's standard library, one Unicode version ahead, what a digit is (13 code points differ).
`--texts FILE` adds the lines and whole of a text file; a larger --count and another --seed make a
one-off check: O3_TOKENIZER_GOLDEN=FILE build/release/src/loader/loader_test.
"""
import argparse
import json
import random

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from tokenizer_strings import strings

VERSION = "0.23.3"

def byte_alphabet_vocabulary(reader):
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    kinds = reader.fields["tokenizer.ggml.token_type"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    specials = [t for t, kind in zip(tokens, kinds) if kind == 3]
    return {t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges], specials


def reference(vocabulary, merges, specials):
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    if specials:
        tokenizer.add_special_tokens(
            [AddedToken(s, special=True, normalized=False) for s in specials])
    return tokenizer


def main():
    import tokenizers
    if tokenizers.__version__ != VERSION:
        raise SystemExit(f"tokenizers {VERSION} is wanted, {tokenizers.__version__} found")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--out", required=True)
    parser.add_argument("--count", type=int, default=2400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", action="append", default=[])
    options = parser.parse_args()

    vocabulary, merges, specials = byte_alphabet_vocabulary(GGUFReader(options.model))
    parsing = reference(vocabulary, merges, specials)
    plain = reference(vocabulary, merges, [])
    texts = list(strings(random.Random(options.seed), specials, options.count))
    for name in options.texts:
        with open(name, encoding="utf-8", newline="") as file:
            whole = file.read()
        texts += whole.splitlines(keepends=True) + [whole]
    with open(options.out, "w", encoding="utf-8") as out:
        for text in texts:
            row = [text, parsing.encode(text, add_special_tokens=False).ids]
            other = plain.encode(text, add_special_tokens=False).ids
            if other != row[1]:
                row.append(other)
            out.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"{options.out}: {len(texts)} strings")


if __name__ == "__main__":
    main()
