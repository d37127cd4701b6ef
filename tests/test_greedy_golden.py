# SPDX-License-Identifier: Apache-2.0
"""Greedy text against llama.cpp's (tools/golden/greedy_llama_cpp.py tells how it was made).

llama.cpp's tokens must come out. Another token is accepted only where it is a tie: one of
llama.cpp's best, its logit closer to the best one than the tolerance in the file, which is the
measured noise of 8-bit activations. The comparison then goes on behind that step, on llama.cpp's
own text, so that a tie hides nothing after it: every step is compared.
"""
import json
import subprocess

import pytest

import locate

GOLDEN = json.loads((locate.ROOT / "tests/golden/greedy_llama_cpp.json").read_text("utf-8"))


def continuation(ids: list[int], count: int) -> tuple[list[int], str]:
    done = subprocess.run(
        [locate.program(), "run", "--model", locate.model(), "--prompt-ids",
         ",".join(map(str, ids)), "--max-tokens", str(count), "--temperature", "0", "--json"],
        check=True, capture_output=True, timeout=120)
    told = json.loads(done.stdout)
    return told["token_ids"], told["finish_reason"]


def produced(ids: list[int], count: int) -> list[int]:
    """The tokens, the end-of-sequence token included where it ended the text."""
    tokens, finish = continuation(ids, count)
    return tokens + [GOLDEN["eos"]] if finish == "stop" else tokens


def ties_of(row: dict) -> list[tuple[int, float]]:
    """The (step, gap) of each accepted difference; fails on any other."""
    expected = [step["ids"][0] for step in row["steps"]]
    ties = []
    at = 0
    while at < len(expected):
        ours = produced(row["prompt_ids"] + expected[:at], len(expected) - at)
        same = 0
        while same < len(ours) and ours[same] == expected[at + same]:
            same += 1
        at += same
        if at == len(expected):
            break
        assert same < len(ours), f"ended after {at} tokens of {len(expected)}"
        step = row["steps"][at]
        logits = dict(zip(step["ids"], step["logits"]))
        where = f"step {at} of {row['prompt']!r}: {ours[same]}, where llama.cpp has {logits}"
        assert ours[same] in logits, where
        gap = step["logits"][0] - logits[ours[same]]
        assert gap < GOLDEN["tolerance"], where
        ties.append((at, gap))
        at += 1
    return ties


@pytest.mark.parametrize("row", GOLDEN["prompts"], ids=lambda row: row["prompt"][:24])
def test_same_as_llama_cpp(row):
    for step, gap in ties_of(row):
        print(f"tie at step {step}: {gap:.3f} below llama.cpp's best logit")
