# SPDX-License-Identifier: Apache-2.0
"""Perplexity of Gemma-3-270M Q4_K_M on the first windows of WikiText-2, against transformers running
the dequantised weights in FP32 (tools/golden/perplexity_gemma3.py). docs/benchmarks.md has more
windows, and how to repeat them all."""
import json
import subprocess

import pytest

import locate

WINDOWS = 12
REFERENCE = 20.904742  # over these windows


@pytest.mark.parametrize(("compute", "tolerance"), [("f32", 0.0005), ("fast", 0.003)])
def test_first_windows(compute, tolerance, measured):
    done = subprocess.run(
        [locate.program(), "eval", "ppl", "--model", locate.model("gemma-3-270m-q4_k_m.gguf"),
         "--data", locate.wikitext(), "--window", "512", "--stride", "512", "--skip", "256",
         "--bos", "replace", "--windows", str(WINDOWS), "--compute", compute, "--json"],
        check=True, capture_output=True)
    told = json.loads(done.stdout)
    assert told["tokens"] == 295_215
    assert told["windows"] == WINDOWS
    measured(f"perplexity {told['ppl']:.4f}, {100 * (told['ppl'] / REFERENCE - 1):+.3f} % of "
             f"{REFERENCE}, allowed {100 * tolerance} %")
    assert told["ppl"] == pytest.approx(REFERENCE, rel=tolerance)
