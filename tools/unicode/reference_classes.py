#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/text/unicode/reference_*.inc: character classes as Hugging Face's `tokenizers` 0.23.3
sees them, where it follows neither Unicode 16 nor one other version.

Its BERT components ask a crate with tables of Unicode 8, StripAccents one of Unicode 9, Lowercase and
Digits the standard library of its Rust compiler, Unicode 17; Precompiled cuts text into grapheme
clusters (UAX #29) of Unicode 17, UnicodeScripts has a table of its own. The classes are read off the
components themselves, one code point after the other.

Usage: pip install tokenizers==0.23.3 && python3 tools/unicode/reference_classes.py
"""
import pathlib
import struct

import tokenizers
from tokenizers import normalizers, pre_tokenizers

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "src/text/unicode"
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


def clusters():
    """A Precompiled normalizer whose rules turn everything into "Y": a grapheme cluster of less than
    6 bytes becomes one Y, the characters of a longer one become one each."""
    units = [0] * 1024  # a double array: 256 ^ byte is the node of each first byte, a leaf
    units[0] = 256 << 10
    for byte in range(1, 256):
        units[256 ^ byte] = byte | 1 << 8 | 768 << 10
        units[256 ^ byte ^ 768] = 1 << 31
    raw = struct.pack("<1025I", 4 * len(units), *units) + b"Y\0"
    return normalizers.Precompiled(raw).normalize_str


def graphemes():
    """What decides where clusters end, for clusters below 6 bytes: those of four-byte characters are
    longer, but for one behind an ASCII character."""
    count = clusters()
    attached = [c for c in CODES if c and count("a" + chr(c)) == "Y"]
    controls = [0] + [c for c in CODES if 0 < c < 0x10000 and count(chr(c) + "\u0301") == "YY"]
    prepended = [c for c in CODES if c and count(chr(c) + "a") == "Y"]
    pictographs = [c for c in CODES if c and count("\xa9\u200d" + chr(c)) == "YYY"]
    others = {*attached, *controls, *prepended}
    consonants = [c for c in CODES if 0 < c < 0x10000 and c not in others
                  and count("\u0915\u094d" + chr(c) + "\u0301") == "YYYY"]
    linkers = [c for c in attached if count("\u0915" + chr(c) + "\u0915\u0301") == "YYYY"]
    yield from ranges("kMarks", [c for c in attached if c not in (*linkers, 0x200D)])
    yield from ranges("kLinkers", linkers)
    yield from ranges("kControls", controls)
    yield from ranges("kPrefixes", prepended)
    yield from ranges("kPictographs", [c for c in pictographs if c not in others])
    yield from ranges("kConsonants", consonants)


def scripts():
    """Runs of code points of one script, numbered in the order of their first ones; 0 joins any."""
    pieces = pre_tokenizers.UnicodeScripts().pre_tokenize_str
    known = ["a"]  # a member of each script, from 1

    def joins(text):
        return len(pieces(text)) == 1

    def script(char):
        if joins("a" + char + "a") and joins("\u0434" + char + "\u0434"):
            return 0
        for number, member in enumerate(known, 1):
            if joins(member + char):
                return number
        known.append(char)
        return len(known)

    yield "constexpr ScriptRun kScriptRuns[] = {"
    entries = []
    before, number = None, None
    for code in CODES:
        char = chr(code)
        if number and joins(before + char) and joins("a" + char + "a") == (number == 1):
            continue  # of the same script, and not of any
        if number == 0 and joins("a" + char + "a") and joins("\u0434" + char + "\u0434"):
            continue
        fresh = script(char)
        if fresh != number:
            entries.append(f"{{0x{code:x}, {fresh}}},")
        before, number = char, fresh
    yield from wrapped(entries)
    yield "};"


def classes():
    yield from ranges("kPunctuation", cut(pre_tokenizers.Punctuation()))
    yield from ranges("kNumeric", cut(pre_tokenizers.Digits(individual_digits=True)))
    yield from ranges("kAccents", removed(bert(strip_accents=True)))
    yield from ranges("kCombining", removed(normalizers.StripAccents()))
    yield from ranges("kUnclean", removed(bert(clean_text=True)))
    yield "constexpr CasePair kLower[] = {"
    yield from wrapped(lower_case())
    yield "};"


def write(name, content):
    lines = ["// SPDX-License-Identifier: Apache-2.0",
             "// Written by tools/unicode/reference_classes.py; do not edit.", "// NOLINTBEGIN",
             *content, "// NOLINTEND"]
    (FOLDER / name).write_text("\n".join(lines) + "\n", encoding="ascii")
    print(FOLDER / name)


def main():
    assert tokenizers.__version__ == "0.23.3"
    write("reference_classes.inc", classes())
    write("reference_graphemes.inc", graphemes())
    write("reference_scripts.inc", scripts())


if __name__ == "__main__":
    main()
