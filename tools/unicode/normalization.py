#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/text/unicode/normalization_tables.inc: decompositions, combining classes, compositions
and lower-case mappings.

Source: the Unicode Character Database as the PyPI package unicodedata2 16.0.0 carries it, less the
characters that came after Unicode 9.0: Hugging Face's `tokenizers` 0.23 normalises by the tables of
version 9.0, and a tokenizer must see text as the model's training did. What a character's
decomposition or class is never changes once it is assigned (UAX #15, stability), so leaving out
the later ones gives version 9.0's tables. `--check` compares with `tokenizers` for every code point.

Usage: pip install unicodedata2==16.0.0 && python3 tools/unicode/normalization.py
"""
import argparse
import pathlib

import unicodedata2 as ucd

TARGET = (pathlib.Path(__file__).resolve().parents[2] /
          "src/text/unicode/normalization_tables.inc")
# Characters with a decomposition or a combining class, assigned by Unicode 10.0 to 16.0.
AFTER_9 = [
    (0x7FD, 0x7FD), (0x897, 0x89F), (0x8CA, 0x8D3), (0x9FE, 0x9FE), (0xC3C, 0xC3C), (0xD3B, 0xD3C),
    (0xEBA, 0xEBA), (0x1715, 0x1715), (0x1ABF, 0x1ACE), (0x1DF6, 0x1DFA), (0x32FF, 0x32FF),
    (0xA7F2, 0xA7F4), (0xA82C, 0xA82C), (0xAB69, 0xAB69), (0x105C9, 0x105E4), (0x10780, 0x107BA),
    (0x10D24, 0x10D27), (0x10D69, 0x10D6D), (0x10EAB, 0x10EAC), (0x10EFD, 0x10EFF),
    (0x10F46, 0x10F50), (0x10F82, 0x10F85), (0x11070, 0x11070), (0x1133B, 0x1133B),
    (0x11383, 0x113D0), (0x1145E, 0x1145E), (0x11839, 0x1183A), (0x11938, 0x11943),
    (0x119E0, 0x119E0), (0x11A34, 0x11A34), (0x11A47, 0x11A47), (0x11A99, 0x11A99),
    (0x11D42, 0x11D45), (0x11D97, 0x11D97), (0x11F41, 0x11F42), (0x16121, 0x1612F),
    (0x16D68, 0x16D6A), (0x16FF0, 0x16FF1), (0x1CCD6, 0x1CCF9), (0x1E030, 0x1E08F),
    (0x1E130, 0x1E136), (0x1E2AE, 0x1E2EF), (0x1E4EC, 0x1E4EF), (0x1E5EE, 0x1E5EF),
    (0x1F16C, 0x1F16C), (0x1FBF0, 0x1FBF9),
]
HANGUL = range(0xAC00, 0xD7A4)


def in_9(code):
    return not any(first <= code <= last for first, last in AFTER_9)


def codes():
    return (c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and c not in HANGUL and in_9(c))


def decompositions():
    """(code, is compatibility, full decomposition)"""
    for code in codes():
        char = chr(code)
        if (nfd := ucd.normalize("NFD", char)) != char:
            yield code, 0, nfd
        if (nfkd := ucd.normalize("NFKD", char)) not in (char, nfd):
            yield code, 1, nfkd


def compositions():
    for code in codes():
        mapping = ucd.decomposition(chr(code))
        if not mapping or mapping.startswith("<") or len(mapping.split()) != 2:
            continue
        if ucd.normalize("NFC", chr(code)) == chr(code):  # else excluded from composition
            first, second = (int(x, 16) for x in mapping.split())
            yield first, second, code


def lower_case():
    for code in range(0x110000):
        if not 0xD800 <= code < 0xE000:
            lower = "i\u0307" if code == 0x130 else chr(code).lower()
            if lower != chr(code):
                yield code, lower


def wrapped(entries):
    line = ""
    for entry in entries:
        if len(line) + len(entry) + 1 > 100:
            yield line
            line = ""
        line += (" " if line else "") + entry
    yield line


def tables():
    yield "// SPDX-License-Identifier: Apache-2.0"
    yield "// Unicode 9.0 out of 16.0.0, written by tools/unicode/normalization.py; do not edit."
    pool, rows = [], []
    for code, compatible, text in decompositions():
        rows.append(f"{{0x{code:x}, {compatible}, {len(text)}, {len(pool)}}},")
        pool += [f"0x{ord(c):x}," for c in text]
    yield "// NOLINTBEGIN"
    yield "constexpr Decomposition kDecompositions[] = {"
    yield from wrapped(rows)
    yield "};"
    yield "constexpr char32_t kDecomposed[] = {"
    yield from wrapped(pool)
    yield "};"
    yield "constexpr Composition kCompositions[] = {"
    yield from wrapped(f"{{0x{a:x}, 0x{b:x}, 0x{c:x}}}," for a, b, c in sorted(compositions()))
    yield "};"
    yield "constexpr CombiningClass kCombiningClasses[] = {"
    yield from wrapped(f"{{0x{c:x}, {ucd.combining(chr(c))}}}," for c in codes()
                       if ucd.combining(chr(c)) != 0)
    yield "};"
    yield "// NOLINTEND"


def check():
    from tokenizers import normalizers
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        theirs = getattr(normalizers, form)()
        different = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000 and
                     theirs.normalize_str(chr(code)) !=
                     (ucd.normalize(form, chr(code)) if in_9(code) else chr(code))]
        print(form, [hex(code) for code in different])


def main():
    assert ucd.unidata_version == "16.0.0"
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        check()
        return
    TARGET.write_text("\n".join(tables()) + "\n", encoding="ascii")
    print(TARGET)


if __name__ == "__main__":
    main()
