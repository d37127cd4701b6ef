# SPDX-License-Identifier: Apache-2.0
"""`o3 text encode` and `decode`: JSON lines in and out, one for each, in order."""
import json
import pathlib
import signal
import subprocess

import pytest

import locate

HELLO = "Hello, w\u00f6rld <|im_end|> \U0001f600"


def run(*options, lines=(), data=None):
    text = data if data is not None else "".join(json.dumps(line) + "\n" for line in lines).encode()
    return subprocess.run([locate.program(), "text", *options], input=text, capture_output=True, timeout=60, check=False)


def answers(*options, lines=(), data=None):
    done = run(*options, lines=lines, data=data)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.decode("ascii").splitlines()]


def description(**parts):
    """Bytes as tokens, a special and a merely added one, BOS and EOS around a text."""
    alphabet = [chr(c) for c in [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100), *range(0x100, 0x144)]]
    vocab = {text: i for i, text in enumerate(["<s>", "</s>", *sorted(alphabet)])}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    template = {"type": "TemplateProcessing", "pair": [],
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                           {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for i, t in enumerate(["<s>", "</s>"])}}
    return {"version": "1.0", "added_tokens": [
        {"id": 0, "content": "<s>", "special": True, **special}, {"id": 1, "content": "</s>", "special": True, **special},
        {"id": len(vocab), "content": "<think>", "special": False, **special}],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}, "post_processor": template,
        "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": vocab, "merges": []}, **parts}


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(description()), encoding="utf-8")
    return str(tmp_path)


THINK = 2 + 256


def test_encode_adds_no_bos_or_eos_and_parses_added_tokens(directory):
    ids = [answer["ids"] for answer in answers("encode", "--tokenizer", directory, lines=[
        {"text": "a"}, {"text": "<s>a</s>"}, {"text": "<think>"}, {"text": ""}])]
    a = ids[0][0]
    assert ids == [[a], [0, a, 1], [THINK], []]


def test_plain_takes_special_tokens_as_text_and_parses_the_others(directory):
    parsed, plain = (answers("encode", "--tokenizer", directory, *flags, lines=[{"text": "<s><think>"}])[0]["ids"]
                     for flags in ((), ("--plain",)))
    assert parsed == [0, THINK]
    assert len(plain) == 4 and plain[-1] == THINK and not {0, 1} & set(plain)


def test_decode_shows_special_tokens_and_gives_the_text_back(directory):
    lines = [{"text": text} for text in ["<s>a <think>b</s>", HELLO, " two  spaces ", "\n\t\u2028"]]
    encoded = answers("encode", "--tokenizer", directory, lines=lines)
    assert answers("decode", "--tokenizer", directory, lines=encoded) == lines


def test_a_stream_has_one_piece_for_each_id_and_never_half_a_character(directory):
    ids = answers("encode", "--tokenizer", directory, lines=[{"text": " \u00e9\U0001f600x"}])[0]["ids"]
    assert answers("decode", "--tokenizer", directory, "--stream", lines=[{"ids": ids}, {"ids": ids[:-2]}, {"ids": []}]) == [
        {"pieces": [" ", "", "\u00e9", "", "", "", "\U0001f600", "x"], "flush": ""},
        {"pieces": [" ", "", "\u00e9", "", "", ""], "flush": "\ufffd"}, {"pieces": [], "flush": ""}]


def test_a_stream_keeps_the_leading_space(tmp_path):
    vocab = {"<unk>": 0, "\u2581": 1, "\u2581a": 2, "b": 3}
    spec = {"model": {"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": []}, "decoder": {
        "type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
                                         {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    line = {"ids": [2, 3, 2]}
    assert answers("decode", "--tokenizer", str(path), lines=[line]) == [{"text": "ab a"}]
    assert answers("decode", "--tokenizer", str(path), "--stream", lines=[line]) == [{"pieces": [" a", "b", " a"], "flush": ""}]


def test_ill_formed_bytes_become_one_replacement_for_each_maximal_subpart(directory):
    byte = {}
    for text in ("\u00e9", "\U0001f600", "\u07ff", "x"):
        ids = answers("encode", "--tokenizer", directory, lines=[{"text": text}])[0]["ids"]
        byte.update(zip(text.encode(), ids))
    x = byte[ord("x")]
    line = {"ids": [byte[0xF0], byte[0x9F], x, byte[0xC3], byte[0xC3], byte[0xA9], byte[0xA9], x]}
    text = "\ufffdx\ufffd\u00e9\ufffdx"
    assert answers("decode", "--tokenizer", directory, lines=[line]) == [{"text": text}]
    stream = answers("decode", "--tokenizer", directory, "--stream", lines=[line])[0]
    assert "".join(stream["pieces"]) + stream["flush"] == text and len(stream["pieces"]) == len(line["ids"])


@pytest.mark.parametrize("command, good, bad", [
    ("encode", b'{"text": "a"}', [b"", b"x", b"[]", b"{}", b"null", b'{"text": 1}', b'{"text": null}', b'{"text": "\\ud800"}',
                                  b'{"text": "\xff"}', b'{"text": "a"} {}', b"[" * 100000]),
    ("decode", b'{"ids": [3]}', [b"", b"x", b'{"ids": 3}', b'{"ids": [-1]}', b'{"ids": [1.5]}', b'{"ids": ["3"]}', b'{"ids": [259]}',
                                 b'{"ids": [99999999999999999999]}', b'{"ids": [[3]]}', b'{"ids": [null]}', b'{"ids": [3]']),
])
def test_a_line_that_cannot_be_handled_gives_an_error_and_the_run_goes_on(directory, command, good, bad):
    data = b"".join(line + b"\n" + good + b"\n" for line in bad) + good  # the last line may lack its end
    got = answers(command, "--tokenizer", directory, data=data)
    assert len(got) == 2 * len(bad) + 1
    for answer in got[0:-1:2]:
        assert list(answer) == ["error"] and answer["error"]
    assert all("error" not in answer for answer in [*got[1::2], got[-1]])


def test_answers_are_in_order_however_many(directory):
    lines = [{"text": f"line {i}"} for i in range(3000)]
    encoded = answers("encode", "--tokenizer", directory, lines=lines)
    assert answers("decode", "--tokenizer", directory, lines=encoded) == lines


def test_the_default_models_file_is_a_tokenizer_too():
    encoded = answers("encode", "--tokenizer", locate.model(), lines=[{"text": HELLO}])
    assert answers("decode", "--tokenizer", locate.model(), lines=encoded) == [{"text": HELLO}]
    plain = answers("encode", "--tokenizer", locate.model(), "--plain", lines=[{"text": HELLO}])
    assert len(plain[0]["ids"]) > len(encoded[0]["ids"])


def test_truncation_and_padding_of_the_file_are_not_applied(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(description(truncation={"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0})),
                    encoding="utf-8")
    assert len(answers("encode", "--tokenizer", str(path), lines=[{"text": "abc"}])[0]["ids"]) == 3


@pytest.mark.parametrize("content, word", [("{", b"JSON"), ("{}", b"no model"), ('{"model": {"type": "X", "vocab": {"a": 0}}}', b"WordLevel")])
def test_a_file_that_is_no_tokenizer_is_refused_at_once(tmp_path, content, word):
    path = tmp_path / "tokenizer.json"
    path.write_text(content, encoding="utf-8")
    done = run("encode", "--tokenizer", str(path), lines=[{"text": "a"}])
    assert done.returncode == 3 and word in done.stderr and not done.stdout


def test_options():
    assert run("encode").returncode == 2
    assert run("encode", "--tokenizer", "x", "--stream").returncode == 2
    assert run("decode", "--tokenizer", "x", "--plain").returncode == 2
    assert run("decode", "--tokenizer", str(pathlib.Path("/no/such/file"))).returncode == 3


def test_lines_and_texts_beyond_a_bound_are_refused_one_by_one(directory, tmp_path):
    """100 MB in one line, ids by the million, and ids that would stand for gigabytes."""
    good = b'{"ids": [3]}\n'
    million = {"ids": [5, 259 - 1] * 500_000}
    data = good + b'{"ids": [' + b"3," * 50_000_000 + b"3]}\n" + good + json.dumps(million).encode() + b"\n" + good
    got = answers("decode", "--tokenizer", directory, data=data)
    assert [list(answer) for answer in got] == [["text"], ["error"], ["text"], ["text"], ["text"]]
    assert "64 MiB" in got[1]["error"] and len(got[3]["text"]) == 500_000 * len("a<think>")
    long = tmp_path / "long.json"
    long.write_text(json.dumps({"model": {"type": "WordLevel", "unk_token": "x", "vocab": {"x": 0, "y" * 1_000_000: 1}}}), encoding="utf-8")
    line = json.dumps({"ids": [1] * 1000}).encode() + b"\n"
    for flags in ((), ("--stream",)):
        got = answers("decode", "--tokenizer", str(long), *flags, data=line + b'{"ids": [0]}')
        assert "64 MiB" in got[0]["error"] and "error" not in got[1]


def test_ids_that_are_no_tokens(directory):
    for ids in ("-1", "-0.0", "1.0", "1e0", "259", "2147483648", "4294967299", "9223372036854775808", "18446744073709551615",
                "-9223372036854775808", "true", "{}", '"1"', "NaN", "01", "0x1"):
        got = answers("decode", "--tokenizer", directory, data=b'{"ids": [0, ' + ids.encode() + b"]}\n")
        assert list(got[0]) == ["error"] and got[0]["error"], ids


@pytest.mark.parametrize("ignored", [False, True])
def test_a_reader_that_goes_away_ends_the_run(directory, ignored):
    """As for other commands: quietly by SIGPIPE, or by an error where the caller ignores that signal."""
    def prepare():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignored else signal.SIG_DFL)

    with subprocess.Popen([locate.program(), "text", "decode", "--tokenizer", directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=prepare, restore_signals=False) as child:
        child.stdin.write(b'{"ids": [3]}\n')
        child.stdin.flush()
        assert child.stdout.readline()
        child.stdout.close()
        try:
            child.stdin.write(b'{"ids": [3]}\n' * 100_000)
            child.stdin.close()
        except BrokenPipeError:
            pass
        told = child.stderr.read()
        assert child.wait(30) == (4 if ignored else -signal.SIGPIPE)
        assert told.count(b"\n") == (1 if ignored else 0), told
