#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reference ids for tokenizers that GGUF metadata describes: every pre-tokenizer name of
src/text/gguf/pre_names.cc and every tokenizer model, on vocabularies made here.

    tokenizer_gguf.py src/text/gguf/pre_names.cc tests/golden/tokenizer/gguf.json

Byte-level BPE: Hugging Face `tokenizers` (0.23.3) with the components that stand beside the name, and
llama.cpp (llama-cpp-python 0.3.36), which has rules of its own for the name and loads the same vocabulary
from a file of this script. Both must say the same but for the names in OTHERWISE, where llama.cpp leaves a
part of the makers' rules out: there Hugging Face without that part must say what llama.cpp does. The other
models are llama.cpp's.

Texts are in NFC, which llama.cpp never applies. The merges were learned with no pre-tokenizer at all, so that they reach over
every border that one could draw.
"""
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import gguf
from llama_cpp import Llama
from tokenizers import Tokenizer

LEARNED = (
    "it's we'll I'D they've don't 'Tis 12 123 1234 12345 3.14 x1 a1b2  two   three    four\n"
    "one\n\ntwo\n\n\nthree \n four\t\tfive\r\nsix \t\n the the The THE theThe\n don't! (yes), [no] {so} "
    "\"quoted\" a_b __init__ foo.bar();// x == y != z += 1; <div class='a'></div> http://a.b/c?d=e&f "
    "na\u00efve caf\u00e9 \u00e9t\u00e9 \u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440 \u4f60\u597d\u4e16\u754c \u3053\u3093\u306b\u3061\u306f \u65e5\u672c\u8a9e "
    "\u0645\u0631\u062d\u0628\u0627 \ud55c\uad6d\uc5b4 \u0939\u093f\u0928\u094d\u0926\u0940 e\u0301 \U0001f600\U0001f600 !!! ... ?!?! --- ### $$ $5 5% #1 @me "
)
# Learned first, characters and then texts from left to right: what the rules divide otherwise each.
FIRST = ["12", "123", "1234", "34", "345", "456", "'s", "'S", "'LL", "e\u0301t", "x1", "1x", "LP", "dC", "eW", ";\n",
         "/\n", ".\n", "\u0939\u093f\u0928", "!a", "_a", "\u4f60\u597d", "\u65e512", "\u043c12", "12\u65e5", " 1", " 12", "#1",
         "\u00a0b", ".c", "(y", "  12", "THE", "TheT"]
TEXTS = [
    "Hello world", "it's we'll I'D they've DON'T 'Tis 'x", "1 12 123 1234 12345 123456 1234567",
    "3.14 1,000 x1 1x a1b2 v2.0", " two  three   four    ", "a\nb\n\nc\n\n\nd \n e\r\nf\t\tg \t\n",
    "the theThe TheTHE camelCaseWord HTMLParser iOS", "don't! (yes), [no]; {so} \"quoted\" a_b __init__",
    "foo.bar();// x == y != z += 1;", "<div class='a'></div>", "http://a.b/c?d=e&f#1 @me 5% $5 $$",
    "na\u00efve caf\u00e9 \u00e9t\u00e9", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440! 12\u043c", "\u4f60\u597d\u4e16\u754c 12\u65e5 \u3053\u3093\u306b\u3061\u306f\u65e5\u672c\u8a9e",
    "\u0645\u0631\u062d\u0628\u0627 \ud55c\uad6d\uc5b4 \u0939\u093f\u0928\u094d\u0926\u0940", "\U0001f600\U0001f600 !!! ... ?!?! ---", "", " ", "  ", "\n", "\n\n x",
    "x \n", "x  \n\n y", "a\u00a0b \u3000c", "!a !1 .b -c _d", "##heading\n\n- item\n- item2\n\n```\ncode\n```\n",
]


def without_marks(steps):
    """Letters without the marks that combine with them."""
    return json.loads(json.dumps(steps).replace("\\\\p{M}", ""))


def without_digits(steps):
    return {**steps, "pretokenizers": [step for step in steps["pretokenizers"] if step["type"] != "Digits"]}


def runs_of_digits(steps):
    return json.loads(json.dumps(steps).replace('"individual_digits": true', '"individual_digits": false'))


# Name: what llama.cpp leaves out, as a change of the makers' components, in words, and the texts
# (by their index) where it shows.
MARKS = (without_marks, "marks do not join their letter", [14])
OTHERWISE = {
    "gpt-4o": MARKS, "llama4": MARKS, "tekken": MARKS,
    "deepseek-llm": (runs_of_digits, "digits are not taken one by one", [2, 12, 13]),
    "falcon": (without_digits, "digits are not parted from letters", [3, 8, 12, 13, 14]),
}


def byte_alphabet():
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    out, extra = {}, 256
    for byte in range(256):
        if byte in keep:
            out[byte] = chr(byte)
        else:
            out[byte] = chr(extra)
            extra += 1
    return out


def learn(symbols, count, first=()):
    """Plain BPE over one sequence, most frequent pair first, ties by text; but `first` before all."""
    merges = []

    def chain(parts):
        for end in range(1, len(parts)):
            pair = ("".join(parts[:end]), parts[end])
            if pair not in merges:
                merges.append(pair)

    for text in first:
        for character in text:
            chain(character)
        chain(text)
    for _ in range(count):
        pairs = Counter(zip(symbols, symbols[1:]))
        (left, right), seen = min(pairs.items(), key=lambda p: (-p[1], p[0]))
        if seen < 2:
            break
        if (left, right) not in merges:  # of a pair that is there twice, llama.cpp takes the first
            merges.append((left, right))
        out, at = [], 0
        while at < len(symbols):
            if symbols[at:at + 2] == [left, right]:
                out.append(left + right)
                at += 2
            else:
                out.append(symbols[at])
                at += 1
        symbols = out
    return merges


def write(path, model, pre, spec):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model(model)
    if pre:
        writer.add_tokenizer_pre(pre)
    writer.add_token_list(spec["tokens"])
    writer.add_token_types(spec["kinds"])
    if "merges" in spec:
        writer.add_token_merges(spec["merges"])
    if "scores" in spec:
        writer.add_token_scores(spec["scores"])
    for name, id in spec.get("ids", {}).items():
        writer.add_uint32(f"tokenizer.ggml.{name}_token_id", id)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def reference(model, pre, spec):
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "vocabulary.gguf")
        write(path, model, pre, spec)
        loaded = Llama(path, vocab_only=True, verbose=False)
        ids = [loaded.tokenize(text.encode(), add_bos=False, special=False) for text in TEXTS]
        first = loaded.tokenize(b"a", add_bos=True, special=False)[0]
        return {"model": model, "pre": pre, "adds_bos": first == spec["ids"]["bos"], "ids": ids}


def byte_level():
    alphabet = byte_alphabet()
    written = [alphabet[byte] for byte in (LEARNED * 2).encode()]
    merges = learn(written, 400, [["".join(alphabet[byte] for byte in c.encode()) for c in text] for text in FIRST])
    made = dict.fromkeys(a + b for a, b in merges)
    tokens = ["<|e|>"] + [alphabet[byte] for byte in range(256)] + list(made)
    return {"tokens": tokens, "kinds": [3] + [1] * (len(tokens) - 1),
            "merges": [f"{a} {b}" for a, b in merges], "ids": {"bos": 0, "eos": 0}}


# Line ends have no token but their bytes. Pieces made of such characters would be reached by
# SentencePiece and llama.cpp, and not by Hugging Face; no vocabulary that was looked at has one.
def characters(merged):
    text = "\u2581" + "\u2581".join((LEARNED * 2).split())
    merges = learn(list(text), 400)
    single = sorted(set(text) - set("\t\r\n\u65e5\U0001f600"))
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [2, 3, 3] + [6] * 256
    pieces = [a + b for a, b in merges] + single
    pieces = list(dict.fromkeys(pieces))
    spec = {"tokens": tokens + pieces, "kinds": kinds + [1] * len(pieces),
            "scores": [0.0] * len(tokens) + [-float(i) for i in range(len(pieces))],
            "ids": {"bos": 1, "eos": 2, "unknown": 0}}
    if merged:
        known = set(pieces)
        spec["merges"] = [f"{a} {b}" for a, b in merges if a in known and b in known]
    return spec


def hugging_face(spec, normalizer, steps, ignore_merges):
    """Ids of TEXTS by `tokenizers`."""
    def completed(step):
        if "pretokenizers" in step:
            return {**step, "pretokenizers": [completed(inner) for inner in step["pretokenizers"]]}
        return {**step, "trim_offsets": True} if step["type"] == "ByteLevel" else step

    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer,
             "pre_tokenizer": completed(steps), "post_processor": None, "decoder": None,
             "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                       "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                       "ignore_merges": ignore_merges, "merges": [merge.split(" ", 1) for merge in spec["merges"]],
                       "vocab": {token: id for id, token in enumerate(spec["tokens"])}}}
    tokenizer = Tokenizer.from_str(json.dumps(whole))
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in TEXTS]


def names_of(source):
    """Name, normalizer, pre-tokenizer and ignore_merges of each row of pre_names.cc."""
    parts = dict(re.findall(r'constexpr std::string_view (k\w+) =\s*R"~\((.*?)\)~";', source, re.S))
    rows = re.findall(r'PreName\{"([^"]*)", (""|k\w+), (k\w+), (true|false)\}', source)
    return [(name, None if form == '""' else json.loads(parts[form]), json.loads(parts[steps]), ignore == "true")
            for name, form, steps, ignore in rows]


def byte_level_row(name, normalizer, steps, ignore_merges, spec):
    row = reference("gpt2", name, spec)
    ids = hugging_face(spec, normalizer, steps, ignore_merges)
    differ = [i for i in range(len(TEXTS)) if ids[i] != row["ids"][i]]
    change, why, expected = OTHERWISE.get(name, (None, None, []))
    if change:
        assert hugging_face(spec, normalizer, change(steps), ignore_merges) == row["ids"], name
        print(f"{name}: llama.cpp differs in {differ}: {why}")
    return {**row, "ids": ids}


def word_piece():
    words = Counter(LEARNED.lower().replace("'", " ' ").split())
    letters = sorted({c for word in words for c in word if c.isalnum() and c.isascii()})
    marks = sorted({c for word in words for c in word if not c.isalnum() and c.isascii()})
    whole = ["the", "two", "one", "three", "it", "world", "he", "camel", "don", "12", "1", "x"]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens += ["\u2581" + word for word in dict.fromkeys(whole + letters + marks)]
    tokens += ["llo", "case", "word", "st"] + letters
    return {"tokens": tokens, "kinds": [3, 2, 3, 3, 3] + [1] * (len(tokens) - 5),
            "scores": [0.0] * len(tokens),
            "ids": {"bos": 2, "eos": 3, "unknown": 1, "seperator": 3, "padding": 0, "cls": 2,
                    "mask": 4}}


def main():
    names = names_of(Path(sys.argv[1]).read_text())
    out = Path(sys.argv[2])
    vocabularies = {"gpt2": byte_level(), "llama": characters(False), "gemma4": characters(True),
                    "bert": word_piece()}
    rows = [byte_level_row(*name, vocabularies["gpt2"]) for name in names]
    rows += [reference(model, "", vocabularies[model]) for model in ("llama", "gemma4", "bert")]
    for vocabulary in vocabularies.values():
        vocabulary["ids"] = {k: v for k, v in vocabulary["ids"].items() if k in ("bos", "eos", "unknown")}
    distinct = []
    for row in rows:
        if row["ids"] not in distinct:
            distinct.append(row["ids"])
        row["ids"] = distinct.index(row["ids"])
    text = {"texts": TEXTS, "vocabularies": vocabularies, "ids": distinct, "rows": rows}
    out.write_text(json.dumps(text, ensure_ascii=True, separators=(",", ":")) + "\n")


main()
