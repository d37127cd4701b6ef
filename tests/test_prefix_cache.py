# SPDX-License-Identifier: Apache-2.0
"""Beginnings that the KV cache knows, as clients and operators see them."""
import json

import pytest

import locate
from server import Server

STORY = "Once upon a time there was a lighthouse keeper who counted every ship. " * 12
COMPUTED = 'o3_tokens_total{kind="prompt"}'
CACHED = 'o3_tokens_total{kind="cached"}'


def ask(server, question: str, **more):
    body = {"model": locate.MODEL_NAME, "temperature": 0, "max_tokens": 8,
            "messages": [{"role": "system", "content": STORY},
                         {"role": "user", "content": question}], **more}
    status, _, text = server.request("POST", "/v1/chat/completions", body, key=server.key)
    assert status == 200, text
    answer = json.loads(text)
    usage = answer["usage"]
    return (answer["choices"][0]["message"]["content"], usage["prompt_tokens"],
            usage["prompt_tokens_details"]["cached_tokens"])


def test_a_known_beginning_is_told_and_changes_nothing(tmp_path):
    with Server(tmp_path / "data") as server:
        first, prompt, cached = ask(server, "How many?")
        assert cached == 0
        assert ask(server, "How many?", cache_prompt=False) == (first, prompt, 0)
        before = server.metrics()
        again, _, cached = ask(server, "How many?")
        assert again == first
        assert prompt - 40 < cached < prompt
        after = server.metrics()
        assert after[CACHED] - before.get(CACHED, 0) == cached
        assert after[COMPUTED] - before[COMPUTED] == prompt - cached
        assert after["o3_kv_blocks_cached"] > 0 and after["o3_kv_blocks_used"] == 0
        # Another question has the story in common.
        other, _, cached = ask(server, "Where did he live, and since when?")
        assert 100 < cached < prompt - 16
        assert ask(server, "How many?", cache_salt="mine") == (first, prompt, 0)
        assert ask(server, "How many?", cache_salt="mine")[2] > 100
        assert server.stop() == 0
    with Server(tmp_path / "off", "--prefix-cache", "off") as server:
        assert ask(server, "How many?") == (first, prompt, 0)
        assert ask(server, "How many?") == (first, prompt, 0)
        assert ask(server, "Where did he live, and since when?")[0] == other
        assert server.metrics()["o3_kv_blocks_cached"] == 0
        assert server.stop() == 0


@pytest.mark.parametrize(("option", "value"), [
    ("prefix-cache", "on"), ("prefix-cache", "TENANT"), ("prefix-cache", ""), ("kv", "int3"),
    ("compute", "f16"), ("weights", "int8")])
def test_options_take_their_words_only(tmp_path, option, value):
    server = Server(tmp_path / "data", f"--{option}", value).launch()
    assert server.wait() == 2
    assert option.replace("-", "_") in server.output
