# SPDX-License-Identifier: Apache-2.0
"""The commands beside `serve`: their JSON, their exit codes, and where they write what."""
import json
import os
import struct
import subprocess

import pytest

import locate


def o3(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess:
    return subprocess.run([locate.program(), *arguments], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=timeout, check=False)


def as_json(*arguments: str, timeout: float = 120) -> dict:
    done = o3(*arguments, "--json", timeout=timeout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # exactly one JSON value on standard output


def test_run():
    told = as_json("run", "--model", locate.model(), "--prompt", "The capital of France is",
                   "--raw", "--max-tokens", "8", "--temperature", "0")
    assert told["prompt_token_ids"] == [504, 3575, 282, 4649, 314]
    assert told["token_ids"][0] == 7042
    assert told["text"].startswith(" Paris")
    assert told["finish_reason"] == "length"
    assert told["usage"] == {"prompt_tokens": 5, "completion_tokens": 8, "total_tokens": 13}
    assert told["time_to_first_token_s"] > 0
    assert told["tokens_per_s"] > 0


def test_run_with_ids_equals_run_with_text():
    common = ["run", "--model", locate.model(), "--max-tokens", "12", "--temperature", "0"]
    by_text = as_json(*common, "--raw", "--prompt", "The capital of France is")
    by_ids = as_json(*common, "--prompt-ids", "504,3575,282,4649,314")
    assert by_ids["token_ids"] == by_text["token_ids"]


def test_run_uses_the_chat_template():
    told = as_json("run", "--model", locate.model(), "--prompt", "Say hello.", "--max-tokens", "16",
                   "--temperature", "0")
    assert told["prompt_token_ids"][0] == 1  # <|im_start|>
    assert "<|im_" not in told["text"]


def test_run_repeats_with_a_seed():
    common = ["run", "--model", locate.model(), "--prompt", "Tell me a story.", "--max-tokens", "16",
              "--temperature", "1", "--seed"]
    assert as_json(*common, "5")["token_ids"] == as_json(*common, "5")["token_ids"]
    assert as_json(*common, "5")["token_ids"] != as_json(*common, "6")["token_ids"]


def test_run_writes_plain_text():
    done = o3("run", "--model", locate.model(), "--raw", "--prompt", "The capital of France is",
              "--max-tokens", "4", "--temperature", "0")
    assert done.returncode == 0
    assert "Paris" in done.stdout and "{" not in done.stdout


@pytest.mark.parametrize("command", [
    ["model", "inspect"], ["model", "inspect", "--json"],
    ["run", "--prompt", "x", "--max-tokens", "1"], ["run", "--prompt", "x", "--max-tokens", "1", "--json"],
    ["bench", "--prefill", "8", "--decode", "1", "--repeats", "1"]], ids=" ".join)
def test_a_result_that_cannot_be_written_is_a_failure(command):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([locate.program(), *command, "--model", locate.model()], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == 4
    assert "standard output" in done.stderr


@pytest.mark.parametrize("options", [
    ["--prompt-ids", ""], ["--prompt-ids", "1,,2"], ["--prompt-ids", "1,x"], ["--prompt-ids", "-1"],
    ["--prompt", ""], ["--seed", ""], ["--seed", "-1"], ["--seed", "18446744073709551616"],
    ["--temperature", "nan"], ["--temperature", ""], ["--top-p", "inf"], ["--top-k", ""],
    ["--max-tokens", "1e3"], ["--threads", "0"]], ids=" ".join)
def test_numbers_are_read_whole_or_not_at_all(options):
    prompt = [] if options[0].startswith("--prompt") else ["--prompt", "x"]
    done = o3("run", "--model", "/no/such/file", *prompt, *options)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert options[0] in done.stderr


def test_ppl_reads_pipes_and_says_why_it_cannot_read(tmp_path):
    text = tmp_path / "text"
    text.write_text("The sea was calm. " * 40)
    shape = ["--window", "32", "--stride", "32", "--skip", "16"]
    by_name = as_json("eval", "ppl", "--model", locate.model(), "--data", str(text), *shape)
    with open(text, "rb") as pipe:
        done = subprocess.run(["sh", "-c", 'cat | "$@"', "sh", locate.program(), "eval", "ppl", "--json",
                               "--model", locate.model(), "--data", "/dev/stdin", *shape],
                              stdin=pipe, capture_output=True, text=True, timeout=120, check=False)
    assert json.loads(done.stdout) == by_name
    for path, why in ((tmp_path, "directory"), (tmp_path / "none", "No such file")):
        done = o3("eval", "ppl", "--model", locate.model(), "--data", str(path))
        assert done.returncode == 3 and why in done.stderr, done.stderr


def test_bench():
    told = as_json("bench", "--model", locate.model(), "--prefill", "64", "--decode", "16",
                   timeout=300)
    for key in ("prefill_tokens_per_s", "decode_tokens_per_s", "read_gb_per_s"):
        assert told[key] > 0, key
    assert told["batch"] == 1
    assert told["threads"] >= 1
    assert told["isa"]
    # All weights but the 98 MB file's metadata; the embedding is tied, so it is read too.
    assert 80e6 < told["model_bytes"] < 110e6


def test_bench_generic_isa_is_told():
    told = as_json("bench", "--model", locate.model(), "--prefill", "16", "--decode", "4", "--isa",
                   "generic", "--threads", "1", timeout=300)
    assert told["isa"] == "generic"
    assert told["threads"] == 1


def test_eval_ppl(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("The harbour wakes before the town does. Boats leave while it is dark, and the "
                    "gulls follow them out past the breakwater. " * 12, encoding="utf-8")
    told = as_json("eval", "ppl", "--model", locate.model(), "--data", str(text), "--window", "64",
                   "--stride", "64", "--skip", "32")
    assert told["windows"] == told["tokens"] // 64
    assert told["scored"] == told["windows"] * (64 - 1 - 32)
    assert (told["window"], told["stride"], told["skip"]) == (64, 64, 32)
    assert told["bos"] == "none"
    assert told["compute"] == "fast"
    assert told["ppl"] == pytest.approx(2.718281828459045 ** told["nll"], rel=1e-6)
    assert 1 < told["ppl"] < 60  # a text that repeats itself is easy

    exact = as_json("eval", "ppl", "--model", locate.model(), "--data", str(text), "--window", "64",
                    "--stride", "64", "--skip", "32", "--compute", "f32")
    assert exact["compute"] == "f32"
    assert exact["ppl"] == pytest.approx(told["ppl"], rel=0.05)


def test_model_inspect():
    told = as_json("model", "inspect", "--model", locate.model())
    text = json.dumps(told)
    assert "llama" in text
    assert "token_embd.weight" in text
    assert len(told["tensors"]) == 272


def test_help_is_on_stdout():
    for arguments in (["--help"], ["serve", "--help"], ["run", "--help"], ["bench", "--help"],
                      ["eval", "--help"], ["model", "--help"]):
        done = o3(*arguments)
        assert done.returncode == 0, arguments
        assert "--help" in done.stdout, arguments


def test_the_program_is_hardened():
    told = subprocess.run(["readelf", "-W", "--file-header", "--program-headers", "--dynamic",
                           "--dyn-syms", locate.program()], capture_output=True, text=True,
                          check=True).stdout
    assert "DYN (Position-Independent Executable" in told
    assert "GNU_RELRO" in told and "BIND_NOW" in told
    assert "GNU_STACK" in told and " RWE " not in told
    assert "__stack_chk_fail" in told
    assert "__vsnprintf_chk" in told or "__memcpy_chk" in told or "__read_chk" in told


@pytest.mark.parametrize(("code", "arguments"), [
    (2, []),
    (2, ["no-such-command"]),
    (2, ["run", "--no-such-option"]),
    (2, ["run", "--model", "MODEL", "--prompt", "x", "--temperature", "-1"]),
    (2, ["run", "--model", "MODEL", "--prompt", "x", "--max-tokens", "0"]),
    (3, ["run", "--model", "/no/such/file.gguf", "--prompt", "x"]),
    (3, ["model", "inspect", "--model", "/no/such/file.gguf"]),
    (3, ["bench", "--model", "/no/such/file.gguf"]),
    (3, ["eval", "ppl", "--model", "MODEL", "--data", "/no/such/text"]),
    (3, ["run", "--model", "MODEL", "--prompt-ids", "999999"]),
])
def test_errors_are_on_stderr_with_their_code(code, arguments):
    arguments = [locate.model() if a == "MODEL" else a for a in arguments]
    done = o3(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.strip()


def test_eval_logits(tmp_path):
    model = locate.ROOT / "tests/golden/model/tiny_gemma3.gguf"  # it has no tokenizer
    cases = json.loads(model.with_suffix(".json").read_text())["cases"]
    data, out = tmp_path / "ids.jsonl", tmp_path / "logits.npy"
    data.write_text("".join(json.dumps(case["ids"]) + "\n" for case in cases))
    rows = sum(len(case["ids"]) for case in cases)
    told = as_json("eval", "logits", "--model", str(model), "--data", str(data), "--out", str(out),
                   "--compute", "f32")
    assert told == {"lines": len(cases), "rows": rows, "vocabulary": 64, "out": str(out)}
    raw = out.read_bytes()
    assert f"'shape': ({rows}, 64)".encode() in raw[:128]
    values = struct.unpack(f"<{rows * 64}f", raw[-rows * 64 * 4:])
    last = cases[-1]["logits"][-1]  # of the last id
    assert values[-64:] == pytest.approx(last, rel=1e-3, abs=1e-4)


def test_eval_logits_never_writes_over_its_ids(tmp_path):
    model = locate.ROOT / "tests/golden/model/tiny_gemma3.gguf"
    data = tmp_path / "ids.jsonl"
    data.write_text("[1]\n")
    (tmp_path / "link").symlink_to(data)
    for out in data, tmp_path / "link":
        done = o3("eval", "logits", "--model", str(model), "--data", str(data), "--out", str(out))
        assert done.returncode != 0 and "--out" in done.stderr
    assert data.read_text() == "[1]\n"


def test_eval_logits_names_the_bad_line(tmp_path):
    model = locate.ROOT / "tests/golden/model/tiny_gemma3.gguf"
    data, out = tmp_path / "ids.jsonl", tmp_path / "logits.npy"
    data.write_text("[1]\n[64]\n")
    done = o3("eval", "logits", "--model", str(model), "--data", str(data), "--out", str(out))
    assert done.returncode != 0
    assert "line 2 has id 64" in done.stderr
    assert not out.exists()


def test_data_files_are_bounded(tmp_path):
    """A pipe nobody writes to and a device without end do not hang; standard input is taken."""
    model = str(locate.ROOT / "tests/golden/model/tiny_gemma3.gguf")
    os.mkfifo(tmp_path / "pipe")
    for data in tmp_path / "pipe", "/dev/zero", tmp_path:
        done = o3("eval", "logits", "--model", model, "--data", str(data), "--out",
                  str(tmp_path / "l.npy"))
        assert done.returncode == 3 and ("regular file" in done.stderr or "directory" in done.stderr)
    done = subprocess.run([locate.program(), "eval", "logits", "--model", model, "--data", "-", "--out",
                           tmp_path / "l.npy"], input=b"[1]\n[2,3]\n", capture_output=True, timeout=60,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"3 rows of 64 logits, of 2 lines\n"


def test_a_link_that_leads_nowhere_is_told(tmp_path):
    (tmp_path / "m.gguf").symlink_to("nowhere")
    done = o3("model", "inspect", str(tmp_path / "m.gguf"))
    assert done.returncode == 3
    assert "is a link to nowhere, which is not there" in done.stderr
