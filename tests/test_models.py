# SPDX-License-Identifier: Apache-2.0
"""Several models in one server: served side by side, loaded and unloaded while others answer."""
import json
import threading
import time

import pytest

import locate
from server import Server

FIRST = locate.MODEL_NAME


def second(name: str) -> str:
    return f"{name}={locate.model()}"


def ask(server, model: str, **more):
    body = {"model": model, "prompt": "The sea is", "max_tokens": 8, "temperature": 0, **more}
    status, _, text = server.request("POST", "/v1/completions", body, key=server.key)
    return status, json.loads(text)


def manage(server, what: str, model: str):
    status, _, text = server.request("POST", f"/models/{what}", {"model": model}, key=server.key)
    return status, json.loads(text)


def states(server) -> dict:
    status, _, text = server.request("GET", "/models", key=server.key)
    assert status == 200
    return {row["id"]: row["status"] for row in json.loads(text)["data"]}


def await_state(server, model: str, value: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while states(server)[model]["value"] != value:
        assert time.monotonic() < end, states(server)
        time.sleep(0.02)


def listed(server) -> list:
    return [row["id"] for row in
            json.loads(server.request("GET", "/v1/models", key=server.key)[2])["data"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    with Server(folder / "data", "--model", second("twin"), "--available", second("spare"),
                "--available", f"broken={folder}/none.gguf", "--alias", "both=twin",
                "--memory", "512MiB") as started:
        yield started


def test_two_models_answer_side_by_side(server):
    assert listed(server) == [FIRST, "twin", "both"]
    whole = ask(server, FIRST)[1]["choices"][0]["text"]
    answers = {}

    def run(model: str, n: int) -> None:
        answers[model, n] = ask(server, model)[1]["choices"][0]["text"]

    threads = [threading.Thread(target=run, args=(model, n))
               for model in (FIRST, "twin", "both") for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers.values()) == {whole}
    assert len(answers) == 12


def test_load_and_unload_while_another_answers(server):
    assert ask(server, "spare")[0] == 404
    before = server.metrics()["o3_kv_blocks_total"]
    chunks = []

    def stream() -> None:
        _, _, text = server.request("POST", "/v1/completions", {
            "model": FIRST, "prompt": "Count:", "max_tokens": 200, "ignore_eos": True,
            "temperature": 0, "stream": True}, key=server.key)
        chunks.append(text)

    running = threading.Thread(target=stream)
    running.start()
    assert manage(server, "load", "spare") == (200, {"success": True})
    assert manage(server, "load", "spare")[0] == 409
    await_state(server, "spare", "loaded")
    running.join()
    assert b"[DONE]" in chunks[0] and b'"error"' not in chunks[0]
    assert ask(server, "spare")[1]["choices"][0]["text"] == ask(server, FIRST)[1]["choices"][0]["text"]
    # A quarter of the memory each, for four models of the configuration.
    assert server.metrics()["o3_kv_blocks_total"] == pytest.approx(before * 1.5, abs=3)
    assert listed(server) == [FIRST, "twin", "both", "spare"]
    assert manage(server, "unload", "spare")[0] == 200
    await_state(server, "spare", "unloaded")
    assert server.metrics()["o3_kv_blocks_total"] == before
    status, told = ask(server, "spare")
    assert status == 404 and told["error"]["code"] == "model_not_found"
    assert ask(server, FIRST)[0] == 200


def test_an_answer_in_progress_ends_before_its_model_leaves(server):
    manage(server, "load", "spare")
    await_state(server, "spare", "loaded")
    answers = []
    running = threading.Thread(target=lambda: answers.append(
        ask(server, "spare", max_tokens=150, ignore_eos=True)))
    running.start()
    server.await_metric("o3_requests_running", 1, 5)
    assert manage(server, "unload", "spare")[0] == 200
    running.join()
    assert answers[0][0] == 200
    assert answers[0][1]["usage"]["completion_tokens"] == 150
    await_state(server, "spare", "unloaded")


def test_a_model_that_cannot_be_loaded_is_told(server):
    assert manage(server, "load", "broken")[0] == 200
    await_state(server, "broken", "failed")
    assert "none.gguf" in states(server)["broken"]["error"]
    assert manage(server, "load", "broken")[0] == 200  # it may be there by now
    await_state(server, "broken", "failed")
    assert manage(server, "unload", "broken")[0] == 409
    assert manage(server, "load", "stranger")[0] == 404
    assert ask(server, FIRST)[0] == 200


@pytest.mark.parametrize(("options", "told"), [
    (["--model", "a=b=c.gguf", "--available", "a=d.gguf"], "twice"),
    (["--alias", "x"], "write x=NAME"), (["--alias", "x=none"], "not configured"),
    (["--alias", f"twin={FIRST}"], "twice"), (["--available", "=x"], "--available"),
], ids=["name twice", "alias of which", "alias of none", "alias twice", "no name"])
def test_a_configuration_that_cannot_be_meant(tmp_path, options, told):
    server = Server(tmp_path / "data", "--model", second("twin"), *options).launch()
    assert server.wait() == 2
    assert told in server.output


def test_a_server_without_a_model_is_not_ready(tmp_path):
    with Server(tmp_path / "data") as server:
        assert manage(server, "unload", FIRST)[0] == 200
        await_state(server, FIRST, "unloaded")
        assert server.ready_status() == 503
        assert manage(server, "load", FIRST)[0] == 200
        await_state(server, FIRST, "loaded")
        assert server.ready_status() == 200
        assert server.stop() == 0


def test_stopping_while_a_model_loads(tmp_path):
    with Server(tmp_path / "data", "--available", second("spare")) as server:
        manage(server, "load", "spare")
        assert server.stop() == 0
