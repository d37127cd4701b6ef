#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What CTest runs of several presets measured, skipped and failed: test_summary.py PRESET=JUNIT.xml...

CTest counts programs; the tests inside a program that passed although some of them were skipped are
found in its output. The last line is "N passed, N failed"; the exit code is 1 if a test failed, or
if there was none at all.
"""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

GTEST_SKIP = re.compile(r"^\S+:\d+: Skipped\n(.*?)\n+\[  SKIPPED \]", re.M | re.S)
PYTEST_SKIP = re.compile(r"^SKIPPED \[(\d+)\] \S+: (.*)", re.M)
MEASURED = re.compile(r"^.*?measured: (.*)", re.M)


class Summary:
    def __init__(self):
        self.outcomes = collections.Counter()
        self.skipped = collections.Counter()  # by (preset, program, reason)
        self.lines = []

    def add(self, preset: str, case: ElementTree.Element) -> None:
        name = case.get("name")
        status = case.get("status")
        output = case.findtext("system-out") or ""
        outcome = {"run": "passed", "disabled": "skipped"}.get(status, "failed")
        if status == "notrun" and "SKIP" in (case.find("skipped").get("message") or ""):
            outcome = "skipped"
        self.outcomes[outcome] += 1
        if outcome == "failed":
            self.lines.append(f"failed: {preset} {name}")
        for reason in GTEST_SKIP.findall(output):
            self.skipped[preset, name, reason] += 1
        for count, reason in PYTEST_SKIP.findall(output):
            self.skipped[preset, name, reason] += int(count)
        self.lines += [f"measured: {preset} {name}: {what}" for what in MEASURED.findall(output)]

    def show(self) -> None:
        print()
        for line in self.lines:
            print(line)
        for (preset, name, reason), count in self.skipped.items():
            print(f"skipped: {preset} {name}: {count} test{'s' * (count > 1)}: {reason}")
        print(f"{self.outcomes['skipped']} skipped as a whole")
        print(f"{self.outcomes['passed']} passed, {self.outcomes['failed']} failed", flush=True)


def main() -> int:
    summary = Summary()
    for argument in sys.argv[1:]:
        preset, _, path = argument.partition("=")
        if pathlib.Path(path).is_file():
            for case in ElementTree.parse(path).iter("testcase"):
                summary.add(preset, case)
    summary.show()
    if not summary.outcomes:
        print("error: no test was selected", file=sys.stderr)
    return 1 if summary.outcomes["failed"] or not summary.outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
