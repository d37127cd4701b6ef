# SPDX-License-Identifier: Apache-2.0
"""`o3 text render`: conversations through a chat template, JSON lines in and out."""
import json
import shutil
import struct
import subprocess

import pytest

import locate
from server import Server


def run(*options, lines=(), data=None):
    text = data if data is not None else "".join(json.dumps(line) + "\n" for line in lines).encode()
    return subprocess.run([locate.program(), "text", "render", *options], input=text, capture_output=True,
                          timeout=60, check=False)


def answers(*options, lines=(), data=None):
    done = run(*options, lines=lines, data=data)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


@pytest.fixture
def template(tmp_path):
    def write(source):
        path = tmp_path / "template.jinja"
        path.write_text(source, encoding="utf-8", newline="")
        return str(path)
    return write


def texts(path, *lines, options=()):
    return [answer.get("text") for answer in answers("--template", path, *options, lines=lines)]


SHOW = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<go>{% endif %}"


def test_lines_are_answered_in_order(template):
    lines = [{"messages": [{"role": "user", "content": f"n{i}"}], "add_generation_prompt": i % 2 == 1} for i in range(50)]
    want = [f"<user>n{i}" + ("<go>" if i % 2 else "") for i in range(50)]
    assert texts(template(SHOW), *lines) == want


def test_messages_arrive_as_they_are(template):
    path = template("{{ messages }}|{{ messages[0].content is defined }}")
    assert texts(path, {"messages": [{"b": 1, "a": [None, True, 2.0, "é"]}]}, {"messages": [{"content": None, "role": 3}]}) == [
        "[{'b': 1, 'a': [None, True, 2.0, 'é']}]|False", "[{'content': None, 'role': 3}]|True"]


def test_tools_are_defined_and_none_unless_given(template):
    path = template("{{ tools is defined }} {{ tools is none }} {{ tools | tojson }}")
    line = {"messages": []}
    assert texts(path, line, {**line, "tools": None}, {**line, "tools": []}, {**line, "tools": [{"name": "é<"}]}) == [
        "True True null", "True True null", "True False []", 'True False [{"name": "é<"}]']


def test_tokens_of_a_template_file_come_from_variables_only(template):
    path = template("[{{ bos_token }}]{{ bos_token is defined }}{{ x | default('-') }}")
    assert texts(path, {"messages": []}, {"messages": [], "variables": {"bos_token": "<s>", "x": [1]}},
                 {"messages": [], "variables": None}) == ["[]False-", "[<s>]True[1]", "[]False-"]


def test_whole_numbers_of_any_size(template):
    path = template("{{ messages[0].n }} {{ messages[0].n + 1 }} {{ messages[0] | tojson }}")
    for n in (2**63 - 1, 2**63, 2**64, -2**63 - 1, 10**30):
        assert texts(path, {"messages": [{"n": n}]}) == [f'{n} {n + 1} {{"n": {n}}}']
    long = 10**300 + 7
    assert texts(template("{{ messages[0] }}"), {"messages": [long]}) == [str(long)]


def test_now_is_the_time_that_templates_see(template):
    path = template("{{ strftime_now('%Y-%m-%d %H:%M:%S %A %j') }}")
    assert texts(path, {"messages": []}, options=("--now", "2024-02-29T23:59:58")) == ["2024-02-29 23:59:58 Thursday 060"]
    assert len(texts(path, {"messages": []})[0]) > 20


@pytest.mark.parametrize("now", ["2024-02-30T00:00:00", "2024-02-29", "2024-02-29 23:59:58", "2024-02-29T24:00:00",
                                 "2024-02-29T23:59:58Z", "-024-02-29T23:59:58", "2024-13-01T00:00:00", "x"])
def test_times_that_are_none(template, now):
    done = run("--template", template("x"), "--now", now)
    assert done.returncode == 2 and b"--now" in done.stderr and not done.stdout


def test_lines_that_cannot_be_handled_are_answered_by_errors(template):
    path = template("{% if not messages %}{{ raise_exception('No messages!') }}{% endif %}{{ messages[0].content + 'x' }}")
    good = b'{"messages": [{"content": "a"}]}\n'
    bad = [b"\n", b"not json\n", b"[]\n", b"{}\n", b'{"messages": []}\n', b'{"messages": [{}]}\n', b'{"messages": [1], "variables": 3}\n',
           b'{"messages": [1], "add_generation_prompt": "yes"}\n', b'{"messages": [{"content": 1}]}\n', b'{"messages": [1], "variables": {"tools": []}}\n',
           b'{"messages": [{"content": "\xff"}]}\n', b'{"messages": [{"content": "a"}]} x\n', b'{"messages": [1e999]}\n', b"[" * 100000 + b"\n"]
    got = answers("--template", path, data=b"".join(line + good for line in bad) + good.strip())
    assert len(got) == 2 * len(bad) + 1
    assert got[1::2] == [{"text": "ax"}] * len(bad)
    assert all(list(answer) == ["error"] and answer["error"] for answer in got[0:-1:2])
    assert got[-1] == {"text": "ax"}
    assert got[8] == {"error": "No messages!"}


def test_hostile_templates_end_quickly(template):
    for source in ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
                   "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
                   "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{{ 'x' * 10 ** 15 }}", "{{ range(10 ** 12) }}",
                   "{{ '{:>999999999}'.format(1) }}", "{{ '%999999999d' % 1 }}", "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}"):
        assert list(answers("--template", template(source), lines=[{"messages": []}])[0]) == ["error"], source


def test_a_broken_template_is_refused_at_once(template, tmp_path):
    done = run("--template", template("a\n{% if %}"), lines=[{"messages": []}])
    assert done.returncode == 3 and b"line 2" in done.stderr and not done.stdout
    assert run("--template", str(tmp_path / "nothing")).returncode == 3
    assert run("--tokenizer", str(tmp_path)).returncode == 3


def test_one_source_of_the_template_is_asked_for(template):
    assert run().returncode == 2
    assert run("--template", template("x"), "--tokenizer", "y").returncode == 2


def test_a_model_directory(tmp_path):
    config = {"bos_token": {"__type": "AddedToken", "content": "<s>", "lstrip": False}, "eos_token": "</s>", "unk_token": None,
              "chat_template": "{{ bos_token }}{{ messages[0] }}{{ eos_token }}{{ unk_token is defined }}"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "special_tokens_map.json").write_text('{"eos_token": "<other>", "pad_token": "<pad>"}', encoding="utf-8")
    options = ("--tokenizer", str(tmp_path))
    assert answers(*options, lines=[{"messages": ["hi"]}, {"messages": ["hi"], "variables": {"bos_token": "<b>"}}]) == [
        {"text": "<s>hi</s>False"}, {"text": "<b>hi</s>False"}]
    config["chat_template"] = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools {{ pad_token }}"}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    assert answers(*options, lines=[{"messages": []}, {"messages": [], "tools": []}]) == [{"text": "plain"}, {"text": "tools <pad>"}]
    (tmp_path / "chat_template.jinja").write_text("file {{ eos_token }}", encoding="utf-8")
    assert answers(*options, lines=[{"messages": []}]) == [{"text": "file </s>"}]


def gguf(path, metadata):
    def text(value):
        return struct.pack("<Q", len(value.encode())) + value.encode()

    def entry(key, value):
        if isinstance(value, str):
            return text(key) + struct.pack("<I", 8) + text(value)
        if isinstance(value, list):
            return text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
        return text(key) + struct.pack("<II", 4, value)

    body = b"".join(entry(*item) for item in metadata.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(metadata)) + body)


def test_a_gguf_file(tmp_path):
    path = tmp_path / "model.gguf"
    gguf(path, {"general.architecture": "llama", "tokenizer.chat_template": "{{ bos_token }}{{ messages[0] }}{{ eos_token }}{{ pad_token is defined }}",
                "tokenizer.chat_template.tool_use": "with tools", "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>"],
                "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.padding_token_id": 7})
    assert answers("--tokenizer", str(path), lines=[{"messages": ["x"]}, {"messages": ["x"], "tools": [{}]}]) == [
        {"text": "<s>x</s>False"}, {"text": "with tools"}]
    gguf(path, {"general.architecture": "llama"})
    done = run("--tokenizer", str(path), lines=[{"messages": []}])
    assert done.returncode == 3 and b"no chat template" in done.stderr


def test_the_server_has_the_same_template_for_tools(tmp_path):
    """A directory with named templates: `o3 text render` and `o3 serve` choose the same one."""
    model = tmp_path / "model"
    shutil.copytree(locate.ROOT / "tests/golden/model/tiny_llama3", model)
    characters = [chr(code) for code in range(97, 123)] + list(" :\n")
    (model / "tokenizer.json").write_text(json.dumps({"added_tokens": [], "model": {
        "type": "BPE", "vocab": {text: id for id, text in enumerate(characters)}, "merges": []}}), encoding="utf-8")
    (model / "tokenizer_config.json").write_text(json.dumps({"chat_template": [
        {"name": "default", "template": "plain: {{ messages[0].content }}"},
        {"name": "tool_use", "template": "{{ tools|length }} tools: {{ messages[0].content }}"}]}), encoding="utf-8")
    lines = [{"messages": [{"role": "user", "content": "hi"}], "tools": tools} for tools in (None, [], [{"name": "f"}])]
    want = ["plain: hi", "0 tools: hi", "1 tools: hi"]
    assert answers("--tokenizer", str(model), lines=lines) == [{"text": text} for text in want]
    with Server(tmp_path / "data", model=str(model)) as server:
        got = []
        for line in lines:
            body = {"messages": line["messages"], "chat_template_kwargs": {"tools": line["tools"]}}
            status, _, answer = server.request("POST", "/apply-template", body, key=server.key)
            assert status == 200, answer
            got.append(json.loads(answer)["prompt"])
        assert got == want
        assert server.stop() == 0, server.output
