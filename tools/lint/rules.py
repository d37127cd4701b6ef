#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Source rules that a compiler does not check. Exemptions are listed here with their reason."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = (".h", ".cc", ".cu", ".cuh")

# Hard limits in lines (CONTRIBUTING.md gives the aims).
LIMITS = {".h": 300, ".cc": 600, ".cuh": 400, ".cu": 800, ".py": 600, ".js": 600}
TEST_LIMIT = 800

# pattern -> (why, path prefixes where it is allowed)
BANNED = {
    r"\bthrow\b": ("we return Result; no exceptions of ours", ()),
    r"\bgetenv\b": ("environment is read in config and app only; tests find model files by it",
        ("src/config/", "src/app/", "src/base/testing/")),
    r"\bstd::regex\b": ("unbounded recursion and slow", ()),
    r"\bthread_local\b": ("context is passed, never ambient", ()),
    r"\b(?:TODO|FIXME|XXX)\b": ("open work belongs in an issue", ()),
    r"-ffast-math|-Ofast": ("numerics are written out per file", ()),
    r"(?<![\w.])new\s+[A-Za-z_:]+\s*[({\[]": ("use make_unique", ()),
    r"\bdelete\s+[a-z_]+;": ("ownership is a type", ()),
    r"\bsystem_clock::now\b|\bsteady_clock::now\b":
        ("time is passed as a Clock", ("src/base/clock.h", "src/app/", "bench/", "src/device/cpu/thread_pool.cc",  # the spin bound
          "src/kernels/kernel_bench")),
}
TEST_ALLOWED = (r"\bgetenv\b", r"\bsystem_clock::now\b|\bsteady_clock::now\b")
# new/delete that a private constructor forces: unique_ptr(new T) keeps the ownership typed.
PRIVATE_NEW = re.compile(r"(unique_ptr|shared_ptr)<[^;]*\(\s*new\b|\(new [A-Z]\w*[({]")


def strip_comments_and_strings(text: str) -> str:
    text = re.sub(r'R"(\w*)\(.*?\)\1"', lambda m: '""' + "\n" * m.group(0).count("\n"), text, flags=re.S)
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)

    def blank(match: re.Match) -> str:
        token = match.group(0)
        if token.startswith("//") and re.search(r"\b(TODO|FIXME|XXX)\b", token):
            return token
        return '""' if token[0] in "\"'" else "\n" * token.count("\n")

    return pattern.sub(blank, text)


def is_test(name: str) -> bool:
    return name.endswith(("_test.cc", "_bench.cc", "_fuzz.cc")) or name.startswith("tests/")


def check_code(name: str, text: str) -> list[str]:
    problems = []
    if "SPDX-License-Identifier: Apache-2.0" not in text[:300]:
        problems.append(f"{name}:1: no SPDX line")
    if name.endswith((".h", ".cuh")) and "#pragma once" not in text:
        problems.append(f"{name}:1: no #pragma once")
    for number, line in enumerate(strip_comments_and_strings(text).splitlines(), 1):
        for pattern, (why, allowed) in BANNED.items():
            if not re.search(pattern, line) or name.startswith(allowed or ("\0",)):
                continue
            if is_test(name) and pattern in TEST_ALLOWED:
                continue
            if "new" in pattern and PRIVATE_NEW.search(line):
                continue
            problems.append(f"{name}:{number}: {line.strip()[:60]}: {why}")
    return problems


def main() -> int:
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True,
                           text=True).stdout.split("\n")
    problems = []
    for name in filter(None, names):
        path = ROOT / name
        if not path.is_file():
            continue
        if path.stat().st_size > 5_000_000:
            problems.append(f"{name}: larger than 5 MB")
        if path.suffix not in LIMITS:
            continue
        text = path.read_text(encoding="utf-8")
        limit = TEST_LIMIT if is_test(name) else LIMITS[path.suffix]
        lines = text.count("\n")
        if lines > limit:
            problems.append(f"{name}: {lines} lines, limit {limit}: split it")
        if path.suffix in CODE:
            problems += check_code(name, text)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
