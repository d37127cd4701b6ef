#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/text/unicode/category_ranges.inc: the general category of every code point.

Source: the Unicode Character Database as the PyPI package unicodedata2 16.0.0 carries it.
Usage: pip install unicodedata2==16.0.0 && python3 tools/unicode/generate.py
Each entry is (first code point of a run) << 5 | (category, in the order of Category).
"""
import pathlib

import unicodedata2

CATEGORIES = (
    "Cn Cc Cf Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs"
).split()
TARGET = pathlib.Path(__file__).resolve().parents[2] / "src/text/unicode/category_ranges.inc"


def runs():
    previous = None
    for code in range(0x110000):
        category = CATEGORIES.index(unicodedata2.category(chr(code)))
        if category != previous:
            yield code << 5 | category
            previous = category


def main():
    assert unicodedata2.unidata_version == "16.0.0"
    entries = [f"0x{entry:x}," for entry in runs()]
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Unicode 16.0.0, written by tools/unicode/generate.py; do not edit.",
    ]
    line = ""
    for entry in entries:
        if len(line) + len(entry) + 1 > 100:
            lines.append(line)
            line = ""
        line += (" " if line else "") + entry
    lines.append(line)
    TARGET.write_text("\n".join(lines) + "\n", encoding="ascii")
    print(f"{TARGET}: {len(entries)} runs")


if __name__ == "__main__":
    main()
