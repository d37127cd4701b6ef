# SPDX-License-Identifier: Apache-2.0
"""`o3 plan` beside what a run really takes, and the refusal of what cannot fit."""
import json
import os
import re
import subprocess

import pytest

import locate
from server import Server


def plan(*words: str) -> tuple:
    done = subprocess.run([locate.program(), "plan", "--model", locate.model(), "--json", *words],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def peak_bytes(*words: str) -> int:
    """The largest resident size of a command, as the system counted it."""
    process = subprocess.Popen([locate.program(), *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


@pytest.mark.parametrize(("sequences", "context"), [(1, 2048), (8, 2048)])
def test_the_plan_is_within_five_percent_of_the_peak(sequences, context, measured):
    _, told = plan("--sequences", str(sequences), "--context", str(context))
    peak = peak_bytes("bench", "--model", locate.model(), "--batch", str(sequences),
                      "--prefill", str(context - 8), "--decode", "8", "--repeats", "1")
    measured(f"{sequences} x {context}: planned {told['total_bytes'] >> 20} MiB, "
             f"peak {peak >> 20} MiB, {told['total_bytes'] / peak - 1:+.1%}")
    assert told["total_bytes"] == pytest.approx(peak, rel=0.05)


def test_what_does_not_fit_is_told_with_what_would():
    code, told = plan("--sequences", "50", "--memory-mib", "2000")
    assert code == 1 and not told["fits"]
    assert 1 <= told["most_sequences"] < 50
    assert 64 <= told["longest_context"] < 8192
    code, less = plan("--sequences", str(told["most_sequences"]), "--memory-mib", "2000")
    assert code == 0 and less["fits"]
    assert plan("--sequences", str(told["most_sequences"] + 1), "--memory-mib", "2000")[0] == 1
    code, none = plan("--memory-mib", "20")
    assert code == 1 and none["most_sequences"] is None and none["longest_context"] is None


def test_what_the_device_cannot_do_is_refused():
    done = subprocess.run([locate.program(), "plan", "--model", locate.model(), "--kv", "bf16"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3 and "BF16" in done.stderr


def test_a_server_refuses_a_cache_that_cannot_fit(tmp_path):
    server = Server(tmp_path / "data", "--memory", "900GiB").launch()
    assert server.wait() == 4
    most = re.search(r"error: .*it can have (\d+)MiB at most", server.output)
    assert most, server.output
