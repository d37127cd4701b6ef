#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the template fuzzer (fuzz/corpus/template) from the golden test's templates."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools" / "golden"))
from chat_template_cases import TEMPLATES
from chat_template_snippets import EXPRESSIONS, FRAGMENTS

MESSAGES = b"be kind\xff" + "Hello naïve ΑΣ <|im_end|> {{ x }} <think>a</think>b\n c".encode() + b"\xfflast"


def seed(name, template):
    """The first byte n says that n/255 of the rest is the template: pad until that is exact."""
    raw = template.encode()
    for padding in range(5000):
        total = len(raw) + len(MESSAGES) + padding
        n = -(-len(raw) * 255 // total)
        if n <= 255 and total * n // 255 == len(raw):
            data = bytes([n]) + raw + MESSAGES + b" " * padding
            (ROOT / "fuzz" / "corpus" / "template" / name).write_bytes(data)
            return
    raise SystemExit(f"no padding fits {name}")


def main():
    for name, template in TEMPLATES.items():
        seed(name, template)
    seed("macros", "".join(f for f in FRAGMENTS if "macro" in f and "break" not in f and "**[" not in f
                           and "*5" not in f and "**{1" not in f)[:1500])
    refused = ("set loop", "for loop", "in none", "in 3", "loop(5)", "loop()", "loop([1]) }}", "loop([2]) }}")
    seed("loops", "".join(f for f in FRAGMENTS if f.startswith("{% for") and "endfor" in f
                          and not any(r in f for r in refused))[:2000])
    expressions = EXPRESSIONS.split("\n")
    for i in range(0, len(expressions), 20):
        seed(f"expressions{i // 20}", "\n".join("{{ [" + e + "] }}" for e in expressions[i:i + 20]))
    names = [f"v{i}" for i in range(60)]
    seed("variables", "".join("{%set " + n + "=1%}" for n in names) + "{% set n = namespace(" +
         ",".join(f"{n}=2" for n in names) + ") %}{% macro m(" + ",".join(names) + ") %}{{ v59 }}{{ kwargs }}{% endmacro %}"
         "{% for i in range(9) %}{% for j in messages %}{% set n.v59 = j.content %}{{ v59 }}{{ n.v59 }}{% endfor %}{% endfor %}"
         "{{ m(" + ",".join(f"{n}=3" for n in reversed(names)) + ", z=4) }}")
    seed("padding", "{% for m in messages %}{{ [m]|tojson(indent=m.content) }}{{ ('{:' ~ m.content[:1] ~ '^9}').format('a') }}"
         "{{ ('%' ~ m.content) % 1 if m.content == '5d' }}{{ m.content|indent(m.content, true) }}"
         "{{ 'ab'.zfill(-9223372036854775807 - 1) }}{{ 'ab'.center(9, m.content[:1]) }}{% endfor %}")


if __name__ == "__main__":
    main()
