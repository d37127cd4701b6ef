#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small tokenizers of every kind, made by Hugging Face's `tokenizers`, and what they make of strings.

    pip install tokenizers==0.23.3 unicodedata2==16.0.0
    python3 tools/golden/tokenizer_small.py tests/golden/tokenizer/small

Writes NAME.json (a tokenizer.json) and NAME.jsonl with lines [text, ids, ids with special tokens
plain, text of the ids]; the text is null where it holds ill-formed bytes.
"""
import json
import pathlib
import random
import sys

import tokenizers
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors, trainers)

import tokenizer_strings as source

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
ADDED = [
    AddedToken("<|end|>", special=True, normalized=False),
    AddedToken("<mask>", special=True, normalized=False, lstrip=True),
    AddedToken("<pad>", special=True, normalized=False, rstrip=True),
    AddedToken("<think>", special=False, normalized=False),
    AddedToken("Wörd", special=False, normalized=True, single_word=True),
    AddedToken("<|end|>>", special=False, normalized=True),
]


def corpus(seed):
    rng = random.Random(seed)
    return [" ".join(rng.choice(source.WORDS) for _ in range(12)) for _ in range(400)] + source.CODE


def train(tokenizer, trainer):
    tokenizer.train_from_iterator(corpus(3), trainer)
    return tokenizer


def byte_level(normalizer, pre_tokenizer, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    return train(tokenizer, trainers.BpeTrainer(
        vocab_size=500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))


def llama3():
    return byte_level(None, pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), ignore_merges=True)


def qwen():
    return byte_level(normalizers.NFC(), pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3.replace("{1,3}", "")), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))


def falcon():
    return byte_level(normalizers.NFKC(), pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=True),
        pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "merged_with_next")]))


def sentence_piece():
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"),
                                                 normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(),
                                           decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    bytes_ = [f"<0x{b:02X}>" for b in range(256)]
    tokenizer = train(tokenizer, trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<unk>", *bytes_], show_progress=False))
    description = json.loads(tokenizer.to_str())
    description["added_tokens"] = description["added_tokens"][:1]  # bytes are no added tokens
    tokenizer = Tokenizer.from_str(json.dumps(description))
    return tokenizer


def unknown_characters():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(),
                                                 normalizers.Strip(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return train(tokenizer, trainers.BpeTrainer(vocab_size=300, limit_alphabet=40,
                                                special_tokens=["<unk>"], show_progress=False))


def unigram(byte_fallback=False):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(),
                                                       pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    return train(tokenizer, trainers.UnigramTrainer(vocab_size=300, unk_token="<unk>",
                                                    special_tokens=["<unk>"], show_progress=False))


def bert(lowercase):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = (pre_tokenizers.BertPreTokenizer() if lowercase else
                               pre_tokenizers.Whitespace())
    tokenizer.decoder = decoders.WordPiece()
    tokenizer = train(tokenizer, trainers.WordPieceTrainer(
        vocab_size=400, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return tokenizer


KINDS = {"llama3": llama3, "qwen": qwen, "falcon": falcon, "sentence_piece": sentence_piece,
         "unknown_characters": unknown_characters, "unigram": unigram,
         "bert_lower": lambda: bert(True), "bert_cased": lambda: bert(False)}


def main():
    assert tokenizers.__version__ == "0.23.3"
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, make) in enumerate(KINDS.items()):
        tokenizer = make()
        tokenizer.add_tokens(ADDED)
        (folder / f"{name}.json").write_text(tokenizer.to_str(pretty=False) + "\n", encoding="utf-8")
        tokenizer = Tokenizer.from_file(str(folder / f"{name}.json"))
        texts = list(source.strings(random.Random(seed), [t.content for t in ADDED], 260))
        with open(folder / f"{name}.jsonl", "w", encoding="ascii") as out:
            for text in texts:
                tokenizer.encode_special_tokens = True
                plain = tokenizer.encode(text, add_special_tokens=False).ids
                tokenizer.encode_special_tokens = False
                ids = tokenizer.encode(text, add_special_tokens=False).ids
                decoded = tokenizer.decode(ids, skip_special_tokens=False)
                out.write(json.dumps([text, ids, plain, None if "\ufffd" in decoded else decoded],
                                     separators=(",", ":")) + "\n")
        print(name, tokenizer.get_vocab_size(), len(texts))


if __name__ == "__main__":
    main()
