# SPDX-License-Identifier: Apache-2.0
"""`o3 keys`: several keys with tenants, classes and model lists, changed while the server runs."""
import json
import subprocess
import time

import locate
from server import KEY, Server

MODEL = locate.MODEL_NAME


def keys(folder, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([locate.program(), "keys", words[0], "--data-dir", str(folder), *words[1:]],
                          capture_output=True, text=True, timeout=60, check=False)


def status(server, key: str, model: str = MODEL) -> int:
    return server.request("POST", "/v1/completions",
                          {"model": model, "prompt": "Hi", "max_tokens": 1}, key=key)[0]


def await_status(server, key: str, wanted: int) -> float:
    start = time.monotonic()
    while status(server, key) != wanted:
        assert time.monotonic() - start < 5
        time.sleep(0.05)
    return time.monotonic() - start


def test_keys_come_and_go_while_the_server_runs(tmp_path, measured):
    folder = tmp_path / "data"
    first = keys(folder, "add", "--tenant", "clinic", "--id", "ward-7")
    assert first.returncode == 0 and KEY.fullmatch(first.stdout.strip())
    assert "ward-7" in first.stderr and first.stdout.strip() not in first.stderr
    with Server(folder, "--model", f"twin={locate.model()}", "--memory", "256MiB") as server:
        assert "shown this once" not in server.output  # no key is made up beside those
        assert status(server, first.stdout.strip()) == 200
        told = json.loads(keys(folder, "add", "--json", "--class", "low", "--model", "twin").stdout)
        assert told["class"] == "low" and told["models"] == ["twin"]
        # Within a second; a model outside the key's list is as if it were not there.
        taken = await_status(server, told["key"], 404)
        measured(f"a new key is in force after {taken:.2f} s")
        assert status(server, told["key"], "twin") == 200
        assert keys(folder, "revoke", "ward-7").returncode == 0
        measured(f"a revoked key is out of force after "
                 f"{await_status(server, first.stdout.strip(), 401):.2f} s")
        (folder / "keys.json").write_text("damaged", encoding="utf-8")
        time.sleep(1.2)
        assert status(server, told["key"], "twin") == 200  # what was in force stays
        assert "stay as they were" in server.output
        assert server.stop() == 0


def test_list_shows_everything_but_the_key(tmp_path):
    folder = tmp_path / "data"
    made = [keys(folder, "add", "--tenant", tenant).stdout.strip() for tenant in ("a", "b")]
    shown = keys(folder, "list")
    assert shown.returncode == 0 and len(shown.stdout.splitlines()) == 3
    rows = [json.loads(line) for line in keys(folder, "list", "--json").stdout.splitlines()]
    assert [row["tenant"] for row in rows] == ["a", "b"]
    assert all(key not in shown.stdout for key in made)
    assert all(set(row) == {"id", "tenant", "class", "models", "created"} for row in rows)


def test_help_is_that_of_the_command():
    done = subprocess.run([locate.program(), "keys", "revoke"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 2 and "o3 keys revoke --help" in done.stderr


def test_mistakes_are_told(tmp_path):
    folder = tmp_path / "data"
    assert keys(folder, "list").returncode != 0
    assert keys(folder, "revoke", "none").returncode != 0
    assert not folder.exists()
    assert keys(folder, "add", "--id", "a").returncode == 0
    for words in (("add", "--id", "a"), ("add", "--tenant", "a b"), ("add", "--class", "best"),
                  ("revoke", "b"), ("revoke",)):
        done = keys(folder, *words)
        assert done.returncode in (2, 3, 4) and "error" in done.stderr, words


def test_tenants_do_not_share_cached_prompts(tmp_path):
    folder = tmp_path / "data"
    one, two = (keys(folder, "add", "--tenant", tenant).stdout.strip() for tenant in ("a", "b"))
    prompt = "A very long story that both of them tell. " * 20

    def cached(server, key: str) -> int:
        _, _, text = server.request("POST", "/v1/completions", {
            "model": MODEL, "prompt": prompt, "max_tokens": 1}, key=key)
        return json.loads(text)["usage"]["prompt_tokens_details"]["cached_tokens"]

    with Server(folder) as server:
        assert [cached(server, one), cached(server, two)] == [0, 0]
        assert cached(server, one) == cached(server, two) > 100
        assert server.stop() == 0
    with Server(folder, "--prefix-cache", "all") as server:
        assert cached(server, one) == 0
        assert cached(server, two) > 100
        assert server.stop() == 0
