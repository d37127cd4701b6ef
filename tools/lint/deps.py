#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Module-dependency lint: every #include "module/..." in src/ must be an edge of this table.

The table is the architecture (docs/architecture.md explains it). A missing edge is a design
decision, not a typo: change the table only together with that page.
"""
import pathlib
import re
import sys

ALLOWED = {
    "base": "",
    "config": "base",
    "device": "base",
    "kernels": "base device",
    "artifact": "base config device",
    "text": "base",
    "cache": "base device",
    "model": "base device kernels artifact cache",
    "loader": "base config device kernels artifact text cache model",
    "engine": "base config device kernels cache model text",
    "govern": "base config",
    "eval": "base config device kernels artifact cache model text loader engine",
    "api": "base config text engine govern",
    "app": "base config device kernels artifact text cache model loader engine govern eval api",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def main() -> int:
    root = pathlib.Path(__file__).resolve().parents[2] / "src"
    problems = []
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".h", ".cc", ".cu", ".cuh", ".inc"):
            continue
        module = path.relative_to(root).parts[0]
        if module not in ALLOWED:
            problems.append(f"{path}: module {module!r} is not in the table")
            continue
        allowed = set(ALLOWED[module].split()) | {module}
        for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
            target = include.split("/")[0]
            if "/" not in include or target not in ALLOWED:
                problems.append(f'{path}: "{include}" is not a path from src/')
            elif target not in allowed:
                problems.append(f"{path}: {module} must not include {target} ({include})")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
