#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/complaints.md: every row is numbered in order and has a test that exists, or says why not."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/complaints.md"
CPP_TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", re.M)
PY_TEST = re.compile(r"^def (test_\w+)\(", re.M)
NAME = re.compile(r"`([A-Za-z]\w*\.[A-Z]\w*|test_\w+::test_\w+)`")
SECTIONS = {"## Text and streams": 25, "## Engines": 30}


def tests() -> set[str]:
    names = set()
    for path in (ROOT / "src").rglob("*_test.cc"):
        names |= {".".join(found) for found in CPP_TEST.findall(path.read_text(encoding="utf-8"))}
    for path in (ROOT / "tests").glob("test_*.py"):
        names |= {f"{path.stem}::{name}" for name in PY_TEST.findall(path.read_text(encoding="utf-8"))}
    return names


def main() -> int:
    known, problems, rows, section = tests(), [], {}, ""
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            section = line
        row = re.match(r"\| (\d+) \|.*\|(.*)\|$", line)
        if not row:
            continue
        rows.setdefault(section, []).append(int(row[1]))
        named = NAME.findall(row[2])
        problems += [f"{PAGE}:{number}: there is no test {name}" for name in named if name not in known]
        if not named and not re.search(r"later: |does not apply", row[2]):
            problems.append(f"{PAGE}:{number}: neither a test, nor a later part, nor a reason")
    for name, count in SECTIONS.items():
        if rows.get(name) != list(range(1, count + 1)):
            problems.append(f"{PAGE}: {name} must have rows 1 to {count}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
