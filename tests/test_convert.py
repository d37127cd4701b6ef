# SPDX-License-Identifier: Apache-2.0
"""`o3 model convert` of the real model: what is written can be used like what it was made from."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

import locate


def o3(*arguments, **more) -> subprocess.CompletedProcess:
    return subprocess.run([locate.program(), *map(str, arguments)], capture_output=True, timeout=300,
                          check=False, **more)


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("converted")
    directory, back = folder / "SmolLM2.hf", folder / "back.gguf"
    done = o3("model", "convert", "--model", locate.model(), "--out", directory, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["format"], told["tensors"], told["widened"]) == ("safetensors", 272, 211)
    assert b"211 quantised tensors became BF16" in done.stderr
    done = o3("model", "convert", "--model", directory, "--out", back)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["SmolLM2.hf", "back.gguf"]
    return directory, back


def test_tokenizers_are_the_same(converted):
    line = json.dumps({"text": "<|im_start|>user\nDéjà vu 123 🦑\t<|im_end|>"}).encode()
    ids = [o3("text", "encode", "--tokenizer", path, input=line).stdout
           for path in (locate.model(), *converted)]
    assert ids[0] and ids[0] == ids[1] == ids[2]


def test_answers_are_the_same(converted):
    told = []
    for path in converted:
        done = o3("run", "--model", path, "--prompt", "Name three colours.", "--max-tokens", "16",
                  "--compute", "f32", "--json")
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout))
    assert told[0]["prompt_token_ids"] == told[1]["prompt_token_ids"]
    assert told[0]["token_ids"] == told[1]["token_ids"]
    original = json.loads(o3("run", "--model", locate.model(), "--prompt", "Name three colours.",
                             "--max-tokens", "1", "--json").stdout)
    assert told[0]["prompt_token_ids"] == original["prompt_token_ids"]


def test_inspect_tells_the_memory(converted):
    told = [json.loads(o3("model", "inspect", "--model", path, "--json").stdout)
            for path in converted]
    assert told[0]["format"] == "safetensors" and told[1]["format"] == "GGUF"
    assert told[0]["memory"] == told[1]["memory"]
    assert told[0]["memory"]["kv_bytes_per_token"] == 30 * 2 * 3 * 64 * 2


def test_what_is_there_is_kept(converted):
    directory, back = converted
    before = back.stat().st_mtime_ns
    done = o3("model", "convert", "--model", directory, "--out", back)
    assert done.returncode != 0
    assert b"--force" in done.stderr
    assert back.stat().st_mtime_ns == before
    assert o3("model", "convert", "--model", directory, "--out", back, "--force").returncode == 0


def tiny(name: str) -> str:
    return str(locate.ROOT / "tests/golden/model" / name)


def test_force_removes_nothing_but_models(tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "thesis.tex").write_text("x")
    done = o3("model", "convert", "--model", tiny("tiny_llama.gguf"), "--out", folder, "--force")
    assert done.returncode != 0 and b"config.json" in done.stderr
    assert (folder / "thesis.tex").read_text() == "x"
    target = tmp_path / "model"
    for force in [], ["--force"]:
        done = o3("model", "convert", "--model", tiny("tiny_llama.gguf"), "--out", target, *force)
        assert done.returncode == 0, done.stderr


def test_out_neither_holds_the_model_nor_lies_in_it(tmp_path):
    inner = tmp_path / "models" / "mine" / "m.gguf"
    inner.parent.mkdir(parents=True)
    shutil.copy(tiny("tiny_llama.gguf"), inner)
    (tmp_path / "link").symlink_to(tmp_path / "models")
    for out in tmp_path / "models", f"{tmp_path}/models/", tmp_path / "link", inner.parent, inner:
        done = o3("model", "convert", "--model", inner, "--out", out, "--force")
        assert done.returncode != 0 and b"--out" in done.stderr, out
    directory = tmp_path / "directory"
    assert o3("model", "convert", "--model", inner, "--out", directory).returncode == 0
    for out in directory / "model.safetensors", directory / "new.gguf", directory:
        done = o3("model", "convert", "--model", directory, "--out", out, "--force")
        assert done.returncode != 0 and b"--out" in done.stderr, out
    assert o3("model", "inspect", directory).returncode == 0
    assert inner.read_bytes() == open(tiny("tiny_llama.gguf"), "rb").read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(tmp_path, number):
    command = subprocess.Popen([locate.program(), "model", "synth", "--out", tmp_path / "m.gguf"],
                               stderr=subprocess.PIPE)
    while not list(tmp_path.iterdir()):
        time.sleep(0.01)
    command.send_signal(number)
    stderr = command.communicate(timeout=60)[1]
    assert command.returncode == 130, stderr
    assert not list(tmp_path.iterdir())


def test_what_a_killed_run_left_is_removed(tmp_path):
    command = subprocess.Popen([locate.program(), "model", "synth", "--out", tmp_path / "m.gguf"])
    while not list(tmp_path.iterdir()):
        time.sleep(0.01)
    command.kill()
    command.wait()
    assert [path.suffix for path in tmp_path.iterdir()] == [".partial"]
    done = o3("model", "convert", "--model", tiny("tiny_qwen3"), "--out", tmp_path / "m.gguf")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m.gguf"]


def test_a_link_is_not_replaced(tmp_path):
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1/config.json").write_text("{}")
    (tmp_path / "current").symlink_to("v1")
    done = o3("model", "convert", "--model", tiny("tiny_llama.gguf"), "--out", tmp_path / "current",
              "--force")
    assert done.returncode == 3 and b"is a link" in done.stderr
    assert (tmp_path / "current").is_symlink() and (tmp_path / "v1/config.json").read_text() == "{}"


def test_a_model_cut_short_in_use_is_told(tmp_path):
    """Its pages are read when they are needed, the last ones late."""
    model = tmp_path / "m.gguf"
    shutil.copy(locate.model(), model)
    out = tmp_path / "out"
    command = subprocess.Popen([locate.program(), "model", "convert", "--model", model, "--out", out],
                               stderr=subprocess.PIPE)
    while not list(tmp_path.glob("out.*.partial/*.safetensors*")):
        time.sleep(0.001)
    os.truncate(model, 100_000)
    stderr = command.communicate(timeout=60)[1]
    assert command.returncode == 4 and b"became shorter" in stderr
    assert not out.exists()


def test_transformers_loads_it(converted):
    python = os.environ.get("O3_TRANSFORMERS_PYTHON")
    if not python:
        pytest.skip("O3_TRANSFORMERS_PYTHON names no Python that has transformers and torch")
    script = locate.ROOT / "tools/golden/check_directory.py"
    done = subprocess.run([python, script, converted[0], "--o3", locate.program()],
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout


def test_llama_cpp_loads_it(converted):
    python = os.environ.get("O3_LLAMA_CPP_PYTHON")
    if not python:
        pytest.skip("O3_LLAMA_CPP_PYTHON names no Python that has llama-cpp-python and numpy")
    script = locate.ROOT / "tools/golden/check_llama_cpp.py"
    done = subprocess.run([python, script, converted[1], "--o3", locate.program()],
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
