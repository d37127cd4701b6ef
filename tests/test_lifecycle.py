# SPDX-License-Identifier: Apache-2.0
"""From start to stop: keys, access, drain, and what cannot start."""
import hashlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import threading
import time

import pytest

import locate
from server import KEY, LINK, Server

SERIES = [
    "o3_requests_running", "o3_requests_waiting", "o3_kv_blocks_used", "o3_kv_blocks_total",
    "o3_tokens_total{", "o3_requests_total{", "o3_time_to_first_token_seconds_bucket",
    "o3_inter_token_seconds_bucket", "o3_request_seconds_bucket",
]


def chat(max_tokens: int, stream: bool = False) -> dict:
    return {"model": locate.MODEL_NAME, "max_tokens": max_tokens, "temperature": 0,
            "stream": stream,
            "messages": [{"role": "user", "content": "Tell me a long story about a lighthouse."}]}


def launched(server: Server) -> tuple[int, str]:
    """Exit code and output of a server that must refuse to start."""
    server.launch()
    try:
        return server.wait(30), server.output
    finally:
        server.__exit__()


def test_key_is_made_once_and_kept_as_a_hash(tmp_path):
    data = tmp_path / "data"
    with Server(data) as first:
        key, token = first.key, first.page_token
        assert len(KEY.findall(first.output)) == 1
        assert first.stop() == 0
    file = data / "keys.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert key not in text and key[3:] not in text
    assert hashlib.sha256(key.encode()).hexdigest() in text
    (row,) = json.loads(text)["keys"]
    assert set(row) >= {"id", "sha256", "created", "tenant", "class", "models"}

    with Server(data) as second:
        assert KEY.search(second.output) is None
        assert second.page_token != token  # valid until the process ends
        assert second.request("GET", "/v1/models", key=key)[0] == 200
        assert second.request("GET", "/v1/models", key=token)[0] == 401
        assert second.stop() == 0


def test_page_token_opens_chat_and_models_only(server):
    token = server.page_token
    assert LINK.search(server.output).group(0).startswith(f"{server.url}/#token=")
    assert token not in server.key
    assert server.request("GET", "/v1/models", key=token)[0] == 200
    assert server.request("POST", "/v1/chat/completions", chat(2), key=token)[0] == 200
    assert server.request("GET", "/metrics", key=token)[0] in (401, 403)
    for path in (f"/v1/models?token={token}", f"/v1/models?key={server.key}"):
        assert server.request("GET", path)[0] == 401


def test_public_rows_need_no_key_and_the_rest_does(server):
    for path in ("/livez", "/readyz", "/", "/page/page.js"):
        assert server.request("GET", path)[0] == 200, path
    for path in ("/v1/models", "/metrics"):
        status, headers, body = server.request("GET", path)
        assert status == 401, path
        assert headers["WWW-Authenticate"].startswith("Bearer")
        assert json.loads(body)["error"]["message"]
    assert server.request("POST", "/v1/chat/completions", chat(2))[0] == 401
    assert server.request("GET", "/no/such/route", key=server.key)[0] == 404
    assert server.request("POST", "/livez", b"{}")[0] == 405
    assert server.request("GET", "/v1/chat/completions", key=server.key)[0] == 405


def test_metrics_hold_every_series(server):
    assert server.request("POST", "/v1/chat/completions", chat(8), key=server.key)[0] == 200
    status, headers, body = server.request("GET", "/metrics", key=server.key)
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain")
    text = body.decode()
    for series in SERIES:
        assert f"\n{series}" in text, series
    samples = server.metrics()
    assert samples["o3_kv_blocks_total"] > 0
    assert sum(v for k, v in samples.items() if k.startswith("o3_tokens_total{")) >= 8


def test_no_auth_serves_without_keys_on_loopback_and_says_so(tmp_path):
    with Server(tmp_path / "data", "--no-auth") as server:
        assert "no-auth" in server.output or "without" in server.output
        assert server.request("GET", "/v1/models")[0] == 200
        assert server.request("POST", "/v1/chat/completions", chat(2))[0] == 200
        assert server.stop() == 0


def test_no_auth_is_refused_off_loopback(tmp_path):
    code, output = launched(Server(tmp_path / "data", "--no-auth", host="0.0.0.0"))
    assert code == 2, output
    assert "error:" in output and "loopback" in output and "0.0.0.0" in output
    assert not (tmp_path / "data").joinpath("keys.json").exists()


def test_port_in_use(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, output = launched(Server(tmp_path / "data", port=port))
    assert code == 4, output
    assert "error:" in output and str(port) in output and "--port" in output
    # What is made once is shown, even if the start fails behind it.
    key = KEY.search(output).group(0)
    with Server(tmp_path / "data") as server:
        assert KEY.search(server.output) is None
        assert server.request("GET", "/v1/models", key=key)[0] == 200
        assert server.stop() == 0


def test_missing_model(tmp_path):
    locate.model()
    code, output = launched(Server(tmp_path / "data", model="/no/such/model.gguf"))
    assert code == 3, output
    assert "error:" in output and "/no/such/model.gguf" in output
    assert not (tmp_path / "data/keys.json").exists()


@pytest.mark.parametrize("options", [
    ["--port", "99999"], ["--memory", "1XB"], ["--log-level", "loud"], ["--device", "abacus"],
    ["--max-running", "0"], ["--model", "=x"], ["--model", "a b=x"],
    ["--memory", "1"], ["--config", ""], ["--no-such-option"]], ids=" ".join)
def test_wrong_usage_is_told_from_bad_input(tmp_path, options):
    code, output = launched(Server(tmp_path / "data", *options))
    assert code == 2, output
    assert options[0].lstrip("-").replace("-", "_")[:5] in output.replace("-", "_"), output


def test_the_log_may_lose_its_reader(tmp_path):
    """As with `o3 serve 2>&1 | tee log` and Ctrl-C, which ends tee first: the drain goes on."""
    with Server(tmp_path / "data") as server:
        key = server.key
        server.stop()
    reader, writer = os.pipe()
    with Server(tmp_path / "data", port=server.port) as server:
        pass
    process = subprocess.Popen(server.command, stdout=writer, stderr=writer,
                               stdin=subprocess.DEVNULL)
    os.close(writer)
    try:
        end = time.monotonic() + 30
        while server.ready_status() != 200:
            assert time.monotonic() < end
            time.sleep(0.05)
        os.close(reader)
        answers = []
        asking = threading.Thread(target=lambda: answers.append(server.request(
            "POST", "/v1/chat/completions", chat(300) | {"ignore_eos": True}, key=key)))
        asking.start()
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        asking.join(60)
        assert answers[0][0] == 200
        assert json.loads(answers[0][2])["usage"]["completion_tokens"] == 300
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("output", ["/dev/full", None], ids=["full", "closed"])
def test_a_key_that_cannot_be_shown_is_not_made(tmp_path, output):
    server = Server(tmp_path / "data")
    shell = f'exec "$@" {">" + output if output else ">&-"}'
    done = subprocess.run(["sh", "-c", shell, "sh", *server.command], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 4, done.stderr
    assert "standard output" in done.stderr
    assert not (tmp_path / "data/keys.json").exists()


def test_a_bare_path_names_the_model_after_its_file(tmp_path):
    path = pathlib.Path(locate.model())
    server = Server(tmp_path / "data")
    server.command[server.command.index("--model") + 1] = str(path)
    with server:
        assert json.loads(server.request("GET", "/v1/models", key=server.key)[2])["data"][0]["id"] == path.stem
        assert server.stop() == 0


def test_the_browser_is_started_free_of_the_server(tmp_path):
    """It inherits neither the listening socket nor blocked signals, and its page is tidied away."""
    told = tmp_path / "told"
    stub = tmp_path / "bin/xdg-open"
    stub.parent.mkdir()
    stub.write_text(f"#!/bin/sh\n{{ cat \"$1\"; grep SigBlk /proc/self/status; ls -l /proc/$$/fd; }} >{told}.new\n"
                    f"mv {told}.new {told}\nexec sleep 60\n")
    stub.chmod(0o755)
    environment = {"PATH": f"{stub.parent}:/usr/bin:/bin", "DISPLAY": ":9", "TMPDIR": str(tmp_path),
                   "HOME": str(tmp_path)}
    with Server(tmp_path / "data", "--open", environment=environment) as server:
        end = time.monotonic() + 10
        while not told.exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        text = told.read_text()
        assert server.link in text
        blocked = int(re.search(r"SigBlk:\s+([0-9a-f]+)", text).group(1), 16)
        assert blocked & (1 << signal.SIGINT - 1 | 1 << signal.SIGTERM - 1) == 0
        assert "socket:" not in text
        assert len(list(tmp_path.glob("o3-*.html"))) == 1
        assert server.stop() == 0
    assert list(tmp_path.glob("o3-*.html")) == []
    with Server(tmp_path / "data", port=server.port) as again:  # while the stub still runs
        assert again.stop() == 0


def test_a_file_that_is_no_model(tmp_path):
    locate.model()
    junk = tmp_path / "junk.gguf"
    junk.write_bytes(b"GGUF" + b"\xff" * 100)
    code, output = launched(Server(tmp_path / "data", model=str(junk)))
    assert code == 3, output
    assert "error:" in output


def test_sigterm_lets_a_stream_finish(tmp_path):
    with Server(tmp_path / "data", "--drain-timeout", "10m") as server:  # however busy the machine
        connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
        connection.request("POST", "/v1/chat/completions", json.dumps(chat(400, stream=True)),
                           {"Authorization": f"Bearer {server.key}",
                            "Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 200
        lines = [response.readline() for _ in range(10)]
        server.terminate()
        # Not ready comes first, while the stream goes on.
        end = time.monotonic() + 2
        statuses = []
        while time.monotonic() < end and 503 not in statuses:
            statuses.append(server.ready_status())
        assert 503 in statuses, statuses
        assert server.process.poll() is None
        lines += response.readlines()
        connection.close()
        frames = [line[6:].strip() for line in lines if line.startswith(b"data: ")]
        assert frames[-1] == b"[DONE]"
        finish = [json.loads(f)["choices"][0]["finish_reason"] for f in frames[:-1]]
        assert finish[-1] in ("length", "stop")
        assert len(frames) > 100  # it went on well after the signal
        assert server.wait(10) == 0, server.output


def test_sigterm_when_idle_is_quick(tmp_path):
    with Server(tmp_path / "data") as server:
        start = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - start < 3


def test_a_stray_word_is_no_second_value(tmp_path):
    code, output = launched(Server(tmp_path / "data", "--log-level", "info", "stray.gguf"))
    assert code == 2, output
    assert "stray.gguf" in output


def test_a_later_start_says_where_the_keys_are(tmp_path):
    for told in ("shown this once", "API keys: 1 in"):
        with Server(tmp_path / "data") as server:
            assert told in server.output
            assert server.stop() == 0
