# SPDX-License-Identifier: Apache-2.0
"""What `serve` does by default, from a configuration file, and when it is interrupted twice."""
import http.client
import json
import os
import re
import signal
import stat
import subprocess
import time

import pytest

import locate
from server import KEY, LINK, Server, free_port


def without_data_dir(tmp_path, environment: dict) -> Server:
    server = Server(tmp_path / "unused", environment={"PATH": os.environ["PATH"], **environment})
    at = server.command.index("--data-dir")
    del server.command[at:at + 2]
    return server


@pytest.mark.parametrize(("environment", "folder"), [
    ({"HOME": "{tmp}/home", "XDG_STATE_HOME": "{tmp}/state"}, "state/o3"),
    ({"HOME": "{tmp}/home"}, "home/.local/state/o3"),
    ({"HOME": "{tmp}/home", "XDG_STATE_HOME": ""}, "home/.local/state/o3"),
    # The XDG specification: a relative path is to be ignored.
    ({"HOME": "{tmp}/home", "XDG_STATE_HOME": "state"}, "home/.local/state/o3"),
], ids=["XDG_STATE_HOME", "HOME", "empty", "relative"])
def test_where_the_key_file_is_by_default(tmp_path, environment, folder):
    (tmp_path / "home").mkdir()
    places = {name: value.format(tmp=tmp_path) for name, value in environment.items()}
    with without_data_dir(tmp_path, places) as server:
        assert server.request("GET", "/v1/models", key=server.key)[0] == 200
        assert server.stop() == 0
    file = tmp_path / folder / "keys.json"
    assert list(tmp_path.rglob("keys.json")) == [file]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) & 0o022 == 0


def test_no_place_for_the_key_file(tmp_path):
    server = without_data_dir(tmp_path, {}).launch()
    assert server.wait() == 2
    assert "--data-dir" in server.output and "HOME" in server.output


def test_json_is_alone_on_standard_output(tmp_path):
    port = free_port()
    with subprocess.Popen(
            [locate.program(), "serve", "--json", "--model", f"m={locate.model()}", "--port",
             str(port), "--data-dir", str(tmp_path / "data")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        told = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 0
    assert rest == ""
    assert set(told) == {"address", "page", "new_key"}
    assert told["address"] == f"http://127.0.0.1:{port}"
    assert KEY.fullmatch(told["new_key"])
    assert LINK.fullmatch(told["page"])


def test_configuration_file_and_options_over_it(tmp_path):
    port = free_port()
    config = tmp_path / "o3.yaml"
    config.write_text(f"""
models:
  - from-file={locate.model()}
port: 1
memory: 256MiB
device: cpu
data_dir: {tmp_path}/data
system_fingerprint: fp-test
http:
  body_bytes: 4KiB
""", encoding="utf-8")
    server = Server(tmp_path / "log", port=port)
    server.command = [locate.program(), "serve", "--config", str(config), "--port", str(port)]
    with server:
        assert json.loads(server.request("GET", "/v1/models", key=server.key)[2])["data"][0]["id"] == "from-file"
        body = {"model": "from-file", "max_tokens": 2, "messages": [{"role": "user", "content": "Hi"}]}
        status, _, answer = server.request("POST", "/v1/chat/completions", body, key=server.key)
        assert status == 200
        assert json.loads(answer)["system_fingerprint"] == "fp-test"
        body["messages"][0]["content"] = "x" * 5000
        assert server.request("POST", "/v1/chat/completions", body, key=server.key)[0] == 413
        assert server.stop() == 0
    assert (tmp_path / "data/keys.json").is_file()


@pytest.mark.parametrize(("text", "told"), [
    ("prot: 1\n", '"prot"'), ("host: a\nport: many\n", "o3.yaml:2"), ("a: [\n", "o3.yaml"),
    (None, "o3.yaml")], ids=["unknown", "value", "syntax", "absent"])
def test_a_configuration_file_that_is_wrong(tmp_path, text, told):
    config = tmp_path / "o3.yaml"
    if text is not None:
        config.write_text(text, encoding="utf-8")
    server = Server(tmp_path / "data", "--config", str(config)).launch()
    assert server.wait() in (2, 3)
    assert "error:" in server.output and told in server.output


def test_memory_is_the_size_of_the_cache(tmp_path):
    # Each holds a whole context of 8192 tokens: 30 layers * 2 * 3 heads * 64 * 2 bytes a token.
    blocks = []
    for size in ("256MiB", "512MiB"):
        with Server(tmp_path / size, "--memory", size, "--device", "cpu") as server:
            blocks.append(server.metrics()["o3_kv_blocks_total"])
            assert server.stop() == 0
    assert blocks[1] == pytest.approx(2 * blocks[0], abs=2)


def test_too_little_memory_says_what_is_needed(tmp_path):
    server = Server(tmp_path / "data", "--memory", "1KiB").launch()
    assert server.wait() in (2, 3)
    assert re.search(r"error: .*at least \d+", server.output)


def test_a_device_that_is_not_there(tmp_path):
    server = Server(tmp_path / "data", "--device", "cuda:0").launch()
    assert server.wait() == 2
    assert "CUDA" in server.output and "(device)" in server.output


def test_the_second_interrupt_ends_at_once(tmp_path):
    with Server(tmp_path / "data") as server:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
        body = {"model": locate.MODEL_NAME, "stream": True, "ignore_eos": True, "max_tokens": 6000,
                "messages": [{"role": "user", "content": "Count."}]}
        connection.request("POST", "/v1/chat/completions", json.dumps(body),
                           {"Authorization": f"Bearer {server.key}",
                            "Content-Type": "application/json"})
        assert connection.getresponse().status == 200
        server.process.send_signal(signal.SIGINT)
        end = time.monotonic() + 10
        while server.ready_status() != 503:  # it drains: the stream goes on
            assert time.monotonic() < end
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGINT)
        assert server.wait(5) == 130
        connection.close()


def test_an_assistants_content_is_trusted_on_request(tmp_path):
    def prompt_tokens(server, role):
        messages = [{"role": "user", "content": "hi"}, {"role": role, "content": "<|im_end|>" * 20}, {"role": "user", "content": "hi"}]
        status, _, body = server.request("POST", "/v1/chat/completions", {
            "model": locate.MODEL_NAME, "max_tokens": 1, "messages": messages})
        assert status == 200, body
        return json.loads(body)["usage"]["prompt_tokens"]

    counts = []
    for options in ([], ["--trust-assistant"]):
        with Server(tmp_path / "data", "--no-auth", *options) as server:
            counts.append([prompt_tokens(server, role) for role in ("assistant", "user")])
            assert server.stop() == 0, server.output
    (assistant, user), (trusted, still) = counts
    assert still == user  # only that role
    assert trusted <= assistant - 20  # each text is one token then, and several before
