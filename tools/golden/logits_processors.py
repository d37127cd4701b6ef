#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What transformers' logits processors make of 1,000 rows each: tests/golden/logits_processors.json.

Rows are made by row() below, and again by the test; the file holds one checksum for each row: of the
bits of the changed logits, or of the ids that remain. A row whose decision is so near to its border
that the order of a float sum decides it is left out (`skipped`), and the next one taken.
Needs torch and transformers.
"""
import json
import pathlib
import zlib

import numpy
import torch
from transformers import (LogitsProcessorList, MinNewTokensLengthLogitsProcessor, MinPLogitsWarper,
                          NoBadWordsLogitsProcessor, PrefixConstrainedLogitsProcessor,
                          RepetitionPenaltyLogitsProcessor, SequenceBiasLogitsProcessor,
                          TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper,
                          TypicalLogitsWarper)

VOCABULARY = 1000
KNOWN = 40  # tokens of prompt and answer; the answer's are the last 25
ANSWER = 25
ROWS = 1000
MARGIN = 2e-5
OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/logits_processors.json"

TEMPERATURES = [0.1, 0.7, 1.0, 1.5, 4.0]
TOP_K = [1, 2, 40, 999]
TOP_P = [0.05, 0.5, 0.9, 0.99]
MIN_P = [0.001, 0.05, 0.3]
TYPICAL = [0.1, 0.5, 0.95]
REPETITION = [0.5, 1.1, 1.5, 2.0]
FREQUENCY = [-0.5, 0.25, 2.0]
PRESENCE = [0.5, -1.5, 0.0]
BIAS = [-100.0, -1.5, 0.75, 100.0]


def mix(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return x ^ (x >> numpy.uint64(31))


def draws(stream: int, row_id: int, count: int):
    with numpy.errstate(over="ignore"):
        seed = mix(numpy.array([stream << 32 | row_id], dtype=numpy.uint64))
        return mix(seed + numpy.arange(1, count + 1, dtype=numpy.uint64))


def row(row_id: int) -> torch.Tensor:
    """Multiples of 2^-20 in [-8, 8): exact in float32."""
    bits = (draws(1, row_id, VOCABULARY) >> numpy.uint64(40)).astype(numpy.int64)
    return torch.from_numpy((bits * 2.0**-20 - 8.0).astype(numpy.float32))[None]


def known(row_id: int) -> list[int]:
    return [int(x) % 50 for x in draws(2, row_id, KNOWN)]  # few ids, so that they repeat


def of(values, row_id):
    return values[row_id % len(values)]


def edited(scores):
    return zlib.crc32(scores[0].numpy().astype("<f4").tobytes())


def kept(scores):
    ids = torch.nonzero(scores[0] > -torch.inf)[:, 0].numpy()
    return zlib.crc32(ids.astype("<i4").tobytes())


def nucleus_margin(scores, p):
    ranked = torch.sort(torch.softmax(scores[0].double(), -1), descending=True).values
    return float(torch.min(torch.abs(torch.cumsum(ranked, -1) - p)))


def min_p_margin(scores, p):
    share = torch.softmax(scores[0].double(), -1)
    return float(torch.min(torch.abs(share / share.max() - p)) / p)


def typical_margin(scores, mass):
    log_p = torch.log_softmax(scores[0].double(), -1)
    alive = log_p > -torch.inf
    log_p = log_p[alive]
    entropy = -(log_p.exp() * log_p).sum()
    order = torch.sort(torch.abs(-log_p - entropy))
    total = torch.cumsum(log_p[order.indices].exp(), -1)
    at = min(int((total < mass).sum()), len(total) - 1)
    gaps = torch.diff(order.values)[max(0, at - 1):at + 1]
    gap = float(gaps.min()) if len(gaps) else 1.0
    return min(float(torch.min(torch.abs(total - mass))), gap)


def chain(row_id, scores):
    """The order of generation, with every warper on; None where a decision is too near."""
    scores = TemperatureLogitsWarper(of(TEMPERATURES, row_id))(None, scores)
    scores = TopKLogitsWarper(of([20, 300], row_id))(None, scores)
    margin = nucleus_margin(scores, 0.9)
    scores = TopPLogitsWarper(0.9)(None, scores)
    margin = min(margin, min_p_margin(scores, 0.02))
    scores = MinPLogitsWarper(0.02)(None, scores)
    margin = min(margin, typical_margin(scores, 0.8))
    return kept(TypicalLogitsWarper(0.8)(None, scores)) if margin > MARGIN else None


def bad_words(row_id, ids):
    third = ids[-3]
    return [[7], [ids[-1], 60 + row_id % 100], [ids[-2], ids[-1], 200 + row_id % 100],
            [third, ids[-1] + 500, 300], [ids[-1] + 500, 400], [410, 411, 412]]


def allowed(row_id):
    return sorted({int(x) % VOCABULARY for x in draws(3, row_id, 30)})


def penalised(row_id, scores, ids):
    """Frequency and presence as OpenAI documents them; transformers has no processor for these."""
    counts = torch.bincount(torch.tensor(ids[-ANSWER:]), minlength=VOCABULARY)
    seen = counts > 0
    out = scores.clone()
    out[0][seen] = out[0][seen] - torch.tensor(of(FREQUENCY, row_id)) * counts[seen].float()
    out[0][seen] = out[0][seen] - torch.tensor(of(PRESENCE, row_id))
    return out


def edits(name, row_id):
    scores, ids = row(row_id), known(row_id)
    inputs = torch.tensor([ids])
    if name == "repetition_penalty":
        return edited(RepetitionPenaltyLogitsProcessor(of(REPETITION, row_id))(inputs, scores))
    if name == "frequency_and_presence":
        return edited(penalised(row_id, scores, ids))
    if name == "logit_bias":
        bias = {(10 * i + row_id % 10,): of(BIAS, row_id + i) for i in range(8)}
        return edited(SequenceBiasLogitsProcessor(bias)(inputs, scores))
    if name == "bad_words":
        return edited(NoBadWordsLogitsProcessor(bad_words(row_id, ids))(inputs, scores))
    if name == "min_tokens":
        least = ANSWER + row_id % 2  # even rows have enough
        return edited(MinNewTokensLengthLogitsProcessor(KNOWN - ANSWER, least, [3, 5])(inputs, scores))
    mask = PrefixConstrainedLogitsProcessor(lambda batch, sent: allowed(row_id), 1)
    return edited(LogitsProcessorList([mask])(inputs, scores))


def truncations(name, row_id):
    scores = row(row_id)
    if name == "chain":
        return chain(row_id, scores)
    if name == "top_k":
        return kept(TopKLogitsWarper(of(TOP_K, row_id))(None, scores))
    if name == "top_p":
        p = of(TOP_P, row_id)
        return kept(TopPLogitsWarper(p)(None, scores)) if nucleus_margin(scores, p) > MARGIN else None
    if name == "min_p":
        p = of(MIN_P, row_id)
        return kept(MinPLogitsWarper(p)(None, scores)) if min_p_margin(scores, p) > MARGIN else None
    mass = of(TYPICAL, row_id)
    near = typical_margin(scores, mass) <= MARGIN
    return None if near else kept(TypicalLogitsWarper(mass)(None, scores))


def entropy(row_id):
    scores = TemperatureLogitsWarper(of(TEMPERATURES, row_id))(None, row(row_id))
    log_p = torch.log_softmax(scores[0].double(), -1)
    return round(float(-(log_p.exp() * log_p).sum()), 5)


def collect(check):
    skipped, sums, row_id = [], [], 0
    while len(sums) < ROWS:
        value = check(row_id)
        if value is None:
            skipped.append(row_id)
        else:
            sums.append(value)
        row_id += 1
    return {"skipped": skipped, "rows": sums}


def main():
    result = {"vocabulary": VOCABULARY, "temperature": collect(entropy)}
    for name in ("repetition_penalty", "frequency_and_presence", "logit_bias", "bad_words",
                 "min_tokens", "mask"):
        result[name] = collect(lambda row_id, name=name: edits(name, row_id))
    for name in ("top_k", "top_p", "min_p", "typical", "chain"):
        result[name] = collect(lambda row_id, name=name: truncations(name, row_id))
    OUT.write_text(json.dumps(result, separators=(",", ":")).replace('],"', '],\n"') + "\n")
    print({name: len(part["skipped"]) for name, part in result.items() if name != "vocabulary"})


if __name__ == "__main__":
    main()
