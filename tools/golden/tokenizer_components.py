#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every component of Hugging Face's `tokenizers` by itself: what it makes of strings.

    pip install tokenizers==0.23.3 unicodedata2==16.0.0 sentencepiece==0.2.3
    python3 tools/golden/tokenizer_components.py tests/golden/tokenizer/components

Writes normalizers, pre_tokenizers, decoders and models .jsonl: lines {json, rows}. The
parts around a component make its work visible: bytes as tokens show normalized text, tokens that end
words show where pieces end.
"""
import json
import pathlib
import random
import sys

import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

import charsmap
import tokenizer_strings as source

BYTES = {f"<0x{b:02X}>": b for b in range(256)}
LETTERS = [chr(c) for c in range(0x20, 0x7F)] + list("\u00e9\u00df\u2581\u0434\u306e\u30ab\u30fc\u6f22\u00b2\u00bd"
                                                    "\u0661\u2014\u00bf\u3001\u00a0\u3000\n\t\u0301\u0915")
ODD = ["\r\n", "a\u0301", "A\u0301\u0301", "e\u0301x", "\ufb01\u0301", "\u00a9\u200d\u2764", "\u0600A", "\u0600\u0301",
       "\u0915\u094d\u0915\u0301", "\u1100\u1161\u0301", "\uac00\u0301", "\ufdfa\ufdfa", "\U0001d400\u0301", "\u00ad", "\u0000",
       "a\u0000b", "\u200d\u0301", "\u2581 \u2581", "\ufeff\ufffd\u200b", "\x0b\x7f\x8f\x9f\x85", "\u00c5ngstro\u0308m \u212b", "A\u200d\u0301"]


def texts(seed, count):
    rng = random.Random(seed)
    specials = ["<mask>", "[CLS]"]
    return ["", " ", *ODD, *[source.piece(rng, specials) + rng.choice(["", " "]) + source.piece(rng, specials)
                             for _ in range(count)]]


def described(component):
    return json.loads(component.__getstate__())


def whole(**sections):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": None, **sections}


NORMALIZERS = [
    normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD(), normalizers.Lowercase(),
    normalizers.StripAccents(), normalizers.Strip(), normalizers.Strip(left=True, right=False),
    normalizers.Strip(left=False, right=True), normalizers.Nmt(), normalizers.ByteLevel(),
    normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581"), normalizers.Replace("a", ""),
    normalizers.Replace(Regex(r"\s+"), " "), normalizers.Replace(Regex("[0-9]{2,}"), "#"),
    normalizers.BertNormalizer(), normalizers.BertNormalizer(lowercase=False),
    normalizers.BertNormalizer(clean_text=False, strip_accents=True, lowercase=False),
    normalizers.BertNormalizer(handle_chinese_chars=False, strip_accents=False),
    normalizers.Precompiled(charsmap.small()),
    normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "),
                          normalizers.Sequence([normalizers.Strip(), normalizers.Prepend(" ")])]),
]


def of_bytes(normalizer):
    return whole(normalizer=described(normalizer),
                 decoder={"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
                 model={"type": "BPE", "byte_fallback": True, "vocab": BYTES, "merges": []})


def of_normalizers():
    for normalizer in NORMALIZERS:
        rows = [[text, normalizer.normalize_str(text)] for text in texts(1, 60)]
        yield {"json": of_bytes(normalizer), "rows": rows}


SPLITS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
PRE_TOKENIZERS = [
    *[pre_tokenizers.Punctuation(s) for s in SPLITS],
    *[pre_tokenizers.Split(" ", s, invert) for s in SPLITS for invert in (False, True)],
    *[pre_tokenizers.Split(Regex("[a-f]+|[0-9]"), s, invert) for s in SPLITS for invert in (False, True)],
    *[pre_tokenizers.Metaspace("\u2581", scheme, split) for scheme in ("always", "first", "never") for split in (True, False)],
    pre_tokenizers.Metaspace("_", "always"),
    pre_tokenizers.Digits(True), pre_tokenizers.Digits(False), pre_tokenizers.CharDelimiterSplit("a"),
    pre_tokenizers.CharDelimiterSplit("\u306e"), pre_tokenizers.UnicodeScripts(), pre_tokenizers.FixedLength(1),
    pre_tokenizers.FixedLength(3), pre_tokenizers.Whitespace(), pre_tokenizers.WhitespaceSplit(),
    pre_tokenizers.BertPreTokenizer(),
    pre_tokenizers.Sequence([pre_tokenizers.UnicodeScripts(), pre_tokenizers.Metaspace("\u2581", "first"),
                             pre_tokenizers.FixedLength(4)]),
    pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.CharDelimiterSplit("x"),
                             pre_tokenizers.Sequence([pre_tokenizers.Digits(False), pre_tokenizers.Punctuation()])]),
]


def of_pre_tokenizers():
    vocab = {"<unk>": 0}
    for letter in LETTERS:
        vocab[letter] = len(vocab)
        vocab[letter + "</w>"] = len(vocab)
    rng = random.Random(2)
    words = ["", " ", "  ", "a", "ab  c", " a-b", "x", "1", "a1b22", "..", "\u2581", "a\u2581b", "\u306e\u30ab\u30fc\u6f22", "\n\n"]
    words += ["".join(rng.choice(LETTERS if rng.random() < .6 else "ab 1.x-") for _ in range(rng.randint(2, 16))) for _ in range(60)]
    for pre in PRE_TOKENIZERS:
        description = whole(pre_tokenizer=described(pre), model={
            "type": "BPE", "unk_token": "<unk>", "fuse_unk": False, "end_of_word_suffix": "</w>", "vocab": vocab, "merges": []})
        tokenizer = Tokenizer.from_str(json.dumps(description))
        yield {"json": description,
               "rows": [[text, tokenizer.encode(text).ids] for text in words]}


PIECES = ["a", "b", "bc", "##d", "##s", "\u2581the", "\u2581", "x\u2581y", "end</w>", "o</w>f", "<pad>", "|", "<0x41>", "<0xC3>",
          "<0xA9>", " ", "  w ", ".", ",", "n't", "do", "not", "'", "s", "\u0120hi", "\u00c3", "\u00a9", "\u6f22", "ab", "'m", "1", "22"]
DECODERS = [
    None, decoders.ByteLevel(), decoders.WordPiece(), decoders.WordPiece("##", False), decoders.WordPiece("b", True),
    decoders.Metaspace(), decoders.Metaspace("\u2581", "never"), decoders.Metaspace("\u2581", "first"), decoders.BPEDecoder(),
    decoders.BPEDecoder("d"), decoders.CTC(), decoders.CTC("a", "b", False), decoders.CTC("<pad>", "|", True), decoders.Fuse(),
    decoders.ByteFallback(), decoders.Strip(" ", 1, 0), decoders.Strip("c", 0, 1), decoders.Replace("a", "xyz"),
    decoders.Replace(Regex("[a-c]+"), "-"),
    decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]),
    decoders.Sequence([decoders.Fuse(), decoders.Metaspace()]), decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]),
    decoders.Sequence([decoders.ByteFallback(), decoders.WordPiece()]), decoders.Sequence([decoders.ByteLevel(), decoders.Replace("a", "b")]),
    decoders.Sequence([decoders.CTC(), decoders.Metaspace()]), decoders.Sequence([decoders.Fuse(), decoders.WordPiece(), decoders.CTC("b", "|", True)]),
    decoders.Sequence([decoders.Fuse(), decoders.ByteLevel(), decoders.BPEDecoder()]),
]


def of_decoders():
    rng = random.Random(3)
    cases = [[rng.randrange(len(PIECES)) for _ in range(rng.randint(1, 7))] for _ in range(80)]
    cases += [[i, i, i + 1] for i in range(0, len(PIECES) - 1, 3)]
    for decoder in DECODERS:
        description = whole(decoder=decoder and described(decoder),
                            model={"type": "BPE", "vocab": {p: i for i, p in enumerate(PIECES)}, "merges": []})
        tokenizer = Tokenizer.from_str(json.dumps(description))
        rows = [[ids, tokenizer.decode(ids, skip_special_tokens=False)] for ids in cases]
        yield {"json": description, "rows": [row for row in rows if "\ufffd" not in row[1]]}


def bpe(merges, prefix, suffix, letters="abcdefghijklmnopqrstuvwxyz", **options):
    """Every form of every letter, and what the merges make."""
    vocab = {}
    for letter in letters:
        for text in {letter: 0, prefix + letter: 0, letter + suffix: 0, prefix + letter + suffix: 0}:
            vocab.setdefault(text, len(vocab))
    for left, right in merges:
        vocab.setdefault(left + right[len(prefix):], len(vocab))
    for text in options.pop("more", []):
        vocab.setdefault(text, len(vocab))
    return {"type": "BPE", "vocab": vocab, "merges": merges, "continuing_subword_prefix": prefix or None,
            "end_of_word_suffix": suffix or None, **options}


CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def clip():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [["t", "h"], ["th", "e</w>"], ["a", "n"], ["an", "d</w>"], ["o", "c"], ["oc", "t"], ["\u00c3", "\u00a9</w>"]]
    return whole(
        normalizer=described(normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "),
                                                   normalizers.Lowercase()])),
        pre_tokenizer=described(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(CLIP), "removed", True),
                                                         pre_tokenizers.ByteLevel(add_prefix_space=False)])),
        post_processor={"type": "RobertaProcessing", "sep": ["<end>", 1], "cls": ["<start>", 0], "trim_offsets": False,
                        "add_prefix_space": False},
        decoder=described(decoders.ByteLevel()),
        added_tokens=[{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": True,
                       "special": True} for i, t in ((0, "<start>"), (1, "<end>"))],
        model={**bpe(merges, "", "</w>", alphabet[:-6], unk_token="<end>"),
               "vocab": {"<start>": 0, "<end>": 1, **{t: i + 2 for t, i in bpe(merges, "", "</w>", alphabet[:-6])["vocab"].items()}}})


def template(*single, **ids):
    return json.loads(processors.TemplateProcessing(single=" ".join(single), special_tokens=list(ids.items())).__getstate__())


def unigram(pieces, unknown, **options):
    return {"type": "Unigram", "vocab": [[text, score] for text, score in pieces], "unk_id": unknown, **options}


SUBWORDS = [("\u2581", -3.0), ("\u2581the", -2.5), ("the", -4.0), ("t", -6.0), ("h", -6.5), ("e", -5.0), ("a", -5.5), ("s", -5.2), ("\u2581a", -3.5),
            ("o", -5.75), ("n", -5.5), ("on", -4.25), ("i", -5.5), ("in", -4.5), ("1", -7.0), ("2", -7.0), ("0", -7.25), ("ga", -6.0), ("E", -8.0)]
MODELS = {
    "affixes": whole(pre_tokenizer={"type": "BertPreTokenizer"}, decoder={"type": "BPEDecoder", "suffix": "</w>"},
                     model=bpe([["t", "##h"], ["th", "##e</w>"], ["##i", "##n"], ["##in", "##g</w>"]], "##", "</w>",
                               unk_token="<unk>", fuse_unk=True, more=["<unk>"])),
    "prefix and bytes": whole(model=bpe([["o", "@n"]], "@", "", unk_token="<unk>", fuse_unk=False, byte_fallback=True,
                                        more=["<unk>", "<0x20>", "<0xC3>", "<0xA9>", "<0x40>"])),
    "clip": clip(),
    "byte level with unknown": whole(
        pre_tokenizer=described(pre_tokenizers.ByteLevel()), decoder=described(decoders.ByteLevel()),
        post_processor={"type": "Sequence", "processors": [described(processors.ByteLevel()), template("<unk>", "$A", **{"<unk>": 52})]},
        model=bpe([["t", "h"]], "", "", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", unk_token="<unk>", fuse_unk=True,
                  more=["<unk>"])),
    "byte level normalizer": whole(
        normalizer=described(normalizers.ByteLevel()), decoder=described(decoders.ByteLevel()),
        pre_tokenizer=described(pre_tokenizers.Split(Regex("\u0120?[a-z]+"), "isolated")),
        model=bpe([["\u0120", "a"], ["t", "h"], ["\u00c3", "\u00a9"]], "", "", sorted(pre_tokenizers.ByteLevel.alphabet()))),
    "words": whole(pre_tokenizer=described(pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.FixedLength(5)])),
                   decoder=described(decoders.Fuse()), post_processor=template("[CLS]", "$A", "[SEP]", "[SEP]", **{"[CLS]": 1, "[SEP]": 2}),
                   model={"type": "WordLevel", "unk_token": "[UNK]", "vocab": {
                       t: i for i, t in enumerate(["[UNK]", "[CLS]", "[SEP]", "the", "of", "and", "to", "in", ".", ",", "'", "s", "Octop",
                                                   "token", "izati", "\u043f\u0440\u0438\u0432\u0435", "\u0442"])}}),
    "t5": whole(normalizer=described(normalizers.Precompiled(charsmap.small())), pre_tokenizer=described(pre_tokenizers.Metaspace()),
                decoder=described(decoders.Metaspace()), post_processor=template("$A", "</s>", **{"</s>": 1}),
                added_tokens=[{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                               "special": True} for i, t in enumerate(["<pad>", "</s>", "<unk>"])],
                model=unigram([("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *SUBWORDS], 2, byte_fallback=False)),
    "unigram and bytes": whole(
        normalizer=described(normalizers.Nmt()), pre_tokenizer=described(pre_tokenizers.Metaspace("\u2581", "first")),
        decoder={"type": "Sequence", "decoders": [described(decoders.ByteFallback()), described(decoders.Metaspace())]},
        model=unigram([("<unk>", -20.0), *SUBWORDS, *[(f"<0x{b:02X}>", -12.0) for b in range(256)]], 0, byte_fallback=True)),
    "unigram and few bytes": whole(
        model=unigram([("<unk>", 0.0), *SUBWORDS, *[(f"<0x{b:02X}>", -12.0) for b in (0x20, 0x41, 0xC3, 0xA9)]], 0, byte_fallback=True)),
}


def of_models():
    strings = ["", " ", "the", "The \u00e9\u00e9", "<0x41>", "a<0x41>b", "on the one", "<unk>", "</s>", "<end> the", "nothing \u00e9 \u00e8", "the and", "and", "\u00e9"]
    rng = random.Random(4)
    strings += [" ".join(rng.choice(source.WORDS) for _ in range(rng.randint(1, 6))) for _ in range(50)] + texts(5, 60)
    for name, description in MODELS.items():
        tokenizer = Tokenizer.from_str(json.dumps(description))
        rows = []
        for text in strings:
            if name.startswith("unigram") and "<unk>" in text:
                continue  # of such text the model would make its unknown token; o3's never does
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            decoded = tokenizer.decode(ids, skip_special_tokens=False) if ids else ""
            rows.append([text, ids, tokenizer.encode(text).ids, None if "\ufffd" in decoded else decoded])
        yield {"name": name, "json": description, "rows": rows}


def main():
    assert tokenizers.__version__ == "0.23.3"
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, entries in (("normalizers", of_normalizers()), ("pre_tokenizers", of_pre_tokenizers()),
                          ("decoders", of_decoders()), ("models", of_models())):
        lines = [json.dumps(entry, separators=(",", ":")) for entry in entries]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="ascii")
        print(name, len(lines))


if __name__ == "__main__":
    main()
