#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders every given template with `o3 text render` and with jinja2 in Hugging Face's environment.

Usage: chat_template_compare.py --o3 build/release/o3 PATH...
PATH: a .jinja file, a directory of them, or a tokenizer_config.json. Needs transformers and jinja2
3.1.6. Same text or a refusal by both is demanded; the exit status is 1 where they differ.
"""
import argparse
import collections
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

from transformers.utils import chat_template_utils

from chat_template_cases import CONVERSATIONS
from chat_template_more import FULL_TOOL, MORE

NOW = datetime.datetime(2025, 3, 9, 14, 5, 7)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


def lines():
    """(name, line) of every conversation, and of each once more with tools and the other prompt."""
    for name, line in plain_lines():
        yield name, line
        more = {**line, "add_generation_prompt": not line["add_generation_prompt"],
                "variables": {"functions": "[]", "datetime": "today", **line["variables"]}}
        if not more.get("tools"):
            more["tools"] = [FULL_TOOL]
        yield name + " and more", more


def plain_lines():
    for name, (messages, variables, prompt) in CONVERSATIONS.items():
        own = dict(variables)
        tools = own.pop("tools", None)
        yield name, {"messages": messages, "tools": tools, "add_generation_prompt": prompt,
                     "variables": {**TOKENS, **own}}
    for name, line in MORE.items():
        yield name, {"add_generation_prompt": True, **line, "variables": {**TOKENS, **line.get("variables", {})}}


def templates(paths):
    for path in map(pathlib.Path, paths):
        for file in sorted(path.glob("*.jinja")) if path.is_dir() else [path]:
            text = file.read_text(encoding="utf-8")
            if file.suffix != ".json":
                yield file.name, text
                continue
            found = json.loads(text).get("chat_template")
            named = found if isinstance(found, list) else [{"name": "default", "template": found}]
            for entry in named:
                if entry["template"] is not None:
                    yield f"{file.parent.name}/{entry['name']}", entry["template"]


def reference(source, line):
    """The text, or None and why."""
    try:
        compiled = chat_template_utils._compile_jinja_template(source)
        text = compiled.render(
            messages=line["messages"], tools=line.get("tools"), documents=None,
            add_generation_prompt=line["add_generation_prompt"], strftime_now=NOW.strftime, **line["variables"])
        text.encode()
        return (None, "an address is printed") if " at 0x" in text else (text, "")
    except Exception as problem:  # whatever jinja2 or Python says: it refused
        return None, f"{type(problem).__name__}: {problem}"


def rendered(program, source, cases):
    with tempfile.NamedTemporaryFile("w", suffix=".jinja", encoding="utf-8", newline="") as file:
        file.write(source)
        file.flush()
        text = "".join(json.dumps(line, ensure_ascii=i % 2 == 0) + "\n" for i, (_, line) in enumerate(cases))
        done = subprocess.run(
            [program, "text", "render", "--template", file.name, "--now", NOW.isoformat()],
            input=text.encode(), capture_output=True, check=False)
    answers = [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]
    if done.returncode != 0:  # refused at once
        return [{"error": done.stderr.decode().strip()}] * len(cases)
    assert len(answers) == len(cases), f"{len(answers)} answers to {len(cases)} lines"
    return answers


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--o3", required=True)
    arguments.add_argument("--verbose", action="store_true")
    arguments.add_argument("paths", nargs="+")
    given = arguments.parse_args()
    cases = list(lines())
    counts = collections.Counter()
    refused = collections.Counter()
    for name, source in templates(given.paths):
        counts["templates"] += 1
        for (case, line), answer in zip(cases, rendered(given.o3, source, cases)):
            counts["pairs"] += 1
            want, why = reference(source, line)
            got = answer.get("text")
            if want is None and got is None:
                counts["both refuse"] += 1
                refused[answer["error"][:60] + " / " + why[:60]] += 1
            elif want == got:
                counts["same text"] += 1
            else:
                counts["differences"] += 1
                print(f"{name} / {case}:\n  want {want!r:.3000} {why}\n  got  {got!r:.3000} {answer.get('error', '')}")
    counts["conversations"] = len(cases)
    print(json.dumps(dict(counts)))
    if given.verbose:
        for text, count in refused.most_common():
            print(count, text)
    return 1 if counts["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
