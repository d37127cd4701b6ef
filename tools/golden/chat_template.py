#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders templates with the real jinja2, set up as Hugging Face transformers sets it up.

Usage: python3 tools/golden/chat_template.py MODEL.gguf > tests/golden/chat_template/jinja2.json
MODEL is SmolLM2-135M-Instruct: its template is read from there, only what it renders is written.
Needs jinja2 (made with 3.1.6 on Python 3.11, Unicode 14). A result of null means that jinja2 refused.
"""
import datetime
import json
import struct
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox
import jinja2.utils

from chat_template_cases import CONVERSATIONS, TEMPLATES
from chat_template_snippets import SNIPPETS, VARIABLES

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
NOW = datetime.datetime(2025, 3, 9, 14, 5, 7)


class Generation(jinja2.ext.Extension):
    """The tag that marks what the model wrote; it prints its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class Namespace(jinja2.utils.Namespace):
    """Hugging Face keeps names with a leading underscore out of namespaces."""

    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        for name in dict(*args, **kwargs):
            Namespace.check(name)
        jinja2.utils.Namespace.__init__(self, *args, **kwargs)

    def __setitem__(self, name, value):
        Namespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(name)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    env.globals["namespace"] = Namespace
    return env


def render(source, messages, variables, add_generation_prompt):
    try:
        text = environment().from_string(source).render(
            messages=messages, add_generation_prompt=add_generation_prompt,
            **{"tools": None, "documents": None, **TOKENS, **variables})
        text.encode()
        return None if " at 0x" in text else text
    except Exception:  # whatever jinja2 or Python says: it refused
        return None


def template_of(path):
    """tokenizer.chat_template of a GGUF file: key, type (8: string), 64-bit length, text."""
    with open(path, "rb") as file:
        head = file.read(16 << 20)
    key = b"tokenizer.chat_template"
    at = head.index(key) + len(key) + 4
    (length,) = struct.unpack_from("<Q", head, at)
    return head[at + 8:at + 8 + length].decode()


def main():
    model_template = template_of(sys.argv[1])
    smollm2 = [{"conversation": name, "text": render(model_template, m, v, p)}
               for name, (m, v, p) in CONVERSATIONS.items()]
    chats = []
    for name, source in TEMPLATES.items():
        for conversation, (messages, variables, prompt) in CONVERSATIONS.items():
            chats.append({"template": name, "conversation": conversation,
                          "text": render(source, messages, variables, prompt)})
    hello = [{"role": "user", "content": "Hi there"}]
    snippets = [{"source": s, "text": render(s, hello, VARIABLES, True)} for s in SNIPPETS]
    json.dump({
        "jinja2": jinja2.__version__, "local_time": int((NOW - datetime.datetime(1970, 1, 1)).total_seconds()),
        "tokens": TOKENS, "templates": TEMPLATES,
        "conversations": {k: {"messages": m, "request": v, "add_generation_prompt": p}
                          for k, (m, v, p) in CONVERSATIONS.items()},
        "chats": chats, "smollm2": smollm2, "variables": VARIABLES, "snippets": snippets,
    }, sys.stdout, ensure_ascii=True, indent=0)


if __name__ == "__main__":
    main()
