#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/text/jinja/unicode_tables.inc: what Python's str methods know about characters.

Usage: tools/unicode/python_case.py > src/text/jinja/unicode_tables.inc
The tables are those of the Unicode version of the Python that runs this (see the first line of the
output); the golden files of the template tests come from the same Python.
"""
import sys
import unicodedata

EVERY = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(members):
    out = []
    for c in members:
        if out and c == out[-1][1] + 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def simple_and_special(function):
    """One-to-one mappings as runs (first, last, step, delta), the others as text."""
    runs, special = [], []
    for c in EVERY:
        mapped = function(chr(c))
        if len(mapped) != 1:
            special.append((c, mapped))
            continue
        delta = ord(mapped) - c
        if delta == 0:
            continue
        if runs and runs[-1][3] == delta:
            first, last, step, _ = runs[-1]
            gap = c - last
            if gap in (1, 2) and step in (0, gap):
                runs[-1] = (first, c, gap, delta)
                continue
        runs.append((c, c, 0, delta))
    return [(a, b, step or 1, d) for a, b, step, d in runs], special


def emit(name, kind, rows):
    print(f"constexpr {kind} {name}[] = {{")
    line = "   "
    for row in rows:
        text = " {" + ", ".join(str(x) for x in row) + "},"
        if len(line) + len(text) > 100:
            print(line)
            line = "   "
        line += text
    print(line)
    print("};")


def literal(text):
    return '"' + "".join(f"\\x{b:02x}" for b in text.encode()) + '"'


def is_case_ignorable(c):
    """Seen through Python's rule for a final sigma (Unicode 3.13)."""
    sees_through = ("A" + c + "\u03a3").lower()[-1] == "\u03c2"
    return sees_through and ("1" + c + "\u03a3").lower()[-1] != "\u03c2"


def main():
    print("// SPDX-License-Identifier: Apache-2.0")
    print(f"// Unicode {unicodedata.unidata_version}; written by tools/unicode/python_case.py, do not edit.")
    for name, function in (("Upper", str.upper), ("Lower", str.lower), ("Title", str.title)):
        runs, special = simple_and_special(function)
        emit(f"k{name}Runs", "CaseRun", runs)
        emit(f"k{name}Special", "CaseSpecial", [(c, literal(m)) for c, m in special])
    titlecase = [c for c in EVERY if unicodedata.category(chr(c)) == "Lt"]
    lower = [c for c in EVERY if chr(c).islower()]
    upper = [c for c in EVERY if chr(c).isupper()]
    emit("kLowercase", "CodeRange", ranges(lower))
    emit("kUppercase", "CodeRange", ranges(upper))
    emit("kTitlecase", "CodeRange", ranges(titlecase))
    emit("kCaseIgnorable", "CodeRange", ranges([c for c in EVERY if is_case_ignorable(chr(c))]))
    emit("kUnprintable", "CodeRange", ranges([c for c in EVERY if not chr(c).isprintable()]))
    emit("kAlphabetic", "CodeRange", ranges([c for c in EVERY if chr(c).isalpha()]))
    # Without the decimal digits, which kDecimalZeros has.
    digits = [c for c in EVERY if chr(c).isdigit() and not chr(c).isdecimal()]
    numeric = [c for c in EVERY if chr(c).isnumeric() and not chr(c).isdecimal()]
    emit("kOtherDigits", "CodeRange", ranges(digits))
    emit("kOtherNumeric", "CodeRange", ranges(numeric))
    # Where folding is not a plain mapping to lower case.
    emit("kFoldSpecial", "CaseSpecial", [
        (c, literal(chr(c).casefold())) for c in EVERY
        if chr(c).casefold() != chr(c).lower() or len(chr(c).lower()) != 1])
    emit("kDecimalZeros", "DecimalZero", [(c,) for c in EVERY if unicodedata.decimal(chr(c), None) == 0])


if __name__ == "__main__":
    sys.exit(main())
