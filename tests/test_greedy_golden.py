# SPDX-License-Identifier: Apache-2.0
"""Greedy text against llama.cpp's (tools/golden/greedy_llama_cpp.py tells how it was made).

The best token of each step must come out: by llama.cpp's logits for the fast path, by its `exact`
ones (the same weights and the cache as F32, no activation rounded) for the FP32 path. Another token is accepted
only where it is a tie: one of llama.cpp's best, its logit closer to the best one than the
tolerance. The comparison then goes on behind that step, on llama.cpp's own text, so that a tie
hides nothing after it: every step is compared.
"""
import dataclasses
import json
import math
import subprocess

import pytest

import locate

GOLDEN = json.loads((locate.ROOT / "tests/golden/greedy_llama_cpp.json").read_text("utf-8"))
PROMPTS = GOLDEN["prompts"]
STEPS_FP32 = 24  # of each prompt's 64; this path is slow


@dataclasses.dataclass(frozen=True)
class Tie:
    prompt: str
    step: int
    gap: float  # of logits


def run(ids: list[int], count: int, options: list[str]) -> list[int]:
    """The tokens, the end-of-sequence token included where it ended the text."""
    done = subprocess.run(
        [locate.program(), "run", "--model", locate.model(), "--prompt-ids",
         ",".join(map(str, ids)), "--max-tokens", str(count), "--temperature", "0", "--json",
         *options], check=False, capture_output=True, timeout=120, text=True)
    if "this machine cannot run isa" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return told["token_ids"] + [GOLDEN["eos"]] * (told["finish_reason"] == "stop")


def tie_of(row: dict, at: int, token: int, exact: bool, tolerance: float) -> Tie | None:
    """None where the token is the best one; fails where it is neither best nor tied."""
    step = row["steps"][at]
    best = step["exact"] if exact else step
    logits = dict(zip(best["ids"], best["logits"]))
    where = f"step {at} of {row['prompt']!r}: {token}, where llama.cpp has {logits}"
    assert token in logits, where
    gap = best["logits"][0] - logits[token]
    assert gap < tolerance, where
    return None if token == best["ids"][0] else Tie(row["prompt"], at, gap)


def ties_of(row: dict, options: list[str] = (), steps: int = 64, exact: bool = False,
            tolerance: float = GOLDEN["tolerance"]) -> list[Tie]:
    """The accepted differences of the first steps; fails on any other."""
    text = [step["ids"][0] for step in row["steps"][:steps]]
    ties = []
    at = 0
    while at < len(text):
        ours = run(row["prompt_ids"] + text[:at], len(text) - at, options)
        assert ours
        for token in ours:
            ties.append(tie_of(row, at, token, exact, tolerance))
            at += 1
            if token != text[at - 1]:
                break  # from here on it is another text
    return [tie for tie in ties if tie]


def tell(measured, compared: int, ties: list[Tie]) -> None:
    widest = max((tie.gap for tie in ties), default=0)
    measured(f"{len(ties)} ties in {compared} steps, the widest {widest:.3f}: "
             + ", ".join(f"{tie.prompt[:12]!r}+{tie.step} {tie.gap:.3f}" for tie in ties))


def most_ties() -> float:
    """Three standard deviations above the ties to be expected of two programs that each err by the
    measured noise: at a step with the gap g between its best tokens, P(noise > g)."""
    noise = 2**0.5 * GOLDEN["noise_of_top2_gap"]["rms"]
    chances = [0.5 * math.erfc((step["logits"][0] - step["logits"][1]) / noise / 2**0.5)
               for row in PROMPTS for step in row["steps"]]
    return sum(chances) + 3 * sum(p * (1 - p) for p in chances) ** 0.5


def test_fast_path(measured):
    ties = [tie for row in PROMPTS for tie in ties_of(row)]
    tell(measured, sum(len(row["steps"]) for row in PROMPTS), ties)
    assert len(ties) <= most_ties()


def test_fp32_path(measured):
    # Both compute in FP32 and differ in the order of sums: by about 1e-4 of logits around 20.
    ties = [tie for row in PROMPTS
            for tie in ties_of(row, ["--compute", "f32"], STEPS_FP32, True, 0.002)]
    tell(measured, sum(len(row["steps"][:STEPS_FP32]) for row in PROMPTS), ties)


@pytest.mark.parametrize(("options", "prompts", "steps"), [
    (["--isa", "generic"], 4, 6),  # 20 tokens a second at best
    (["--isa", "avx2"], 4, 48),
    (["--isa", "avx512"], 4, 48),
    (["--kv", "f32"], 4, 48),
], ids=lambda value: "-".join(value) if isinstance(value, list) else None)
def test_other_configurations(options, prompts, steps, measured):
    rows = PROMPTS[::len(PROMPTS) // prompts][:prompts]
    ties = [tie for row in rows for tie in ties_of(row, options, steps)]
    tell(measured, sum(len(row["steps"][:steps]) for row in rows), ties)
