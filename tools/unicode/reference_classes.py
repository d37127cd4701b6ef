#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/text/unicode/reference_classes.inc: character classes as Hugging Face's `tokenizers`
0.23.3 sees them, where it follows neither Unicode 16 nor one other version.

Its BERT components ask a crate with tables of Unicode 8, StripAccents one of Unicode 9, Lowercase and
Digits the standard library of its Rust compiler, Unicode 17. The classes are read off the components
themselves, one code point after the other.

Usage: pip install tokenizers==0.23.3 && python3 tools/unicode/reference_classes.py
"""
import pathlib

import tokenizers
from tokenizers import normalizers, pre_tokenizers

TARGET = pathlib.Path(__file__).resolve().parents[2] / "src/text/unicode/reference_classes.inc"
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def bert(**steps):
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**off, **steps})


def removed(normalizer):
    return [c for c in CODES if normalizer.normalize_str(chr(c)) == ""]


def cut(pre_tokenizer):
    return [c for c in CODES if len(pre_tokenizer.pre_tokenize_str("a" + chr(c) + "b")) == 3]


def runs(codes):
    out = []
    for code in codes:
        # Surrogates are no characters: a run may reach across them.
        if out and code in (out[-1][1] + 1, 0xE000 if out[-1][1] == 0xD7FF else -1):
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


def wrapped(entries):
    line = ""
    for entry in entries:
        if len(line) + len(entry) + 1 > 100:
            yield line
            line = ""
        line += (" " if line else "") + entry
    yield line


def ranges(name, codes):
    yield f"constexpr CodeRange {name}[] = {{"
    yield from wrapped(f"{{0x{first:x}, 0x{last:x}}}," for first, last in runs(codes))
    yield "};"


def lower_case():
    lower = normalizers.Lowercase()
    for code in CODES:
        text = lower.normalize_str(chr(code))
        if text != chr(code) and code != 0x130:  # U+0130 alone becomes two characters
            assert len(text) == 1
            yield f"{{0x{code:x}, 0x{ord(text):x}}},"


def lines():
    yield "// SPDX-License-Identifier: Apache-2.0"
    yield "// Written by tools/unicode/reference_classes.py; do not edit."
    yield "// NOLINTBEGIN"
    yield from ranges("kPunctuation", cut(pre_tokenizers.Punctuation()))
    yield from ranges("kNumeric", cut(pre_tokenizers.Digits(individual_digits=True)))
    yield from ranges("kAccents", removed(bert(strip_accents=True)))
    yield from ranges("kCombining", removed(normalizers.StripAccents()))
    yield from ranges("kUnclean", removed(bert(clean_text=True)))
    yield "constexpr CasePair kLower[] = {"
    yield from wrapped(lower_case())
    yield "};"
    yield "// NOLINTEND"


def main():
    assert tokenizers.__version__ == "0.23.3"
    TARGET.write_text("\n".join(lines()) + "\n", encoding="ascii")
    print(TARGET)


if __name__ == "__main__":
    main()
