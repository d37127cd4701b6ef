# SPDX-License-Identifier: Apache-2.0
"""Perplexity on WikiText-2 against a separate numpy program that runs the dequantised weights with
FP32 activations: 23.2352 (window 512, stride 512, skip 256, no BOS)."""
import json
import subprocess

import pytest

import locate

REFERENCE = 23.2352


def perplexity(compute: str) -> dict:
    done = subprocess.run(
        [locate.program(), "eval", "ppl", "--model", locate.model(), "--data", locate.wikitext(),
         "--window", "512", "--stride", "512", "--skip", "256", "--compute", compute, "--json"],
        check=True, capture_output=True)
    return json.loads(done.stdout)


# The fast path rounds activations to 8 bits; llama.cpp's way of doing that costs 0.29 %.
@pytest.mark.parametrize(("compute", "tolerance"), [("fast", 0.0025), ("f32", 0.0005)])
def test_wikitext2(compute, tolerance, measured):
    told = perplexity(compute)
    assert told["tokens"] == 303_415
    assert told["windows"] == 592
    assert told["scored"] == 150_960
    assert told["compute"] == compute
    measured(f"perplexity {told['ppl']:.4f}, {100 * (told['ppl'] / REFERENCE - 1):+.3f} % of "
             f"{REFERENCE}, allowed {100 * tolerance} %")
    assert told["ppl"] == pytest.approx(REFERENCE, rel=tolerance)
