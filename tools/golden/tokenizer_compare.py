#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `o3 text` with Hugging Face's `tokenizers` on strings made here, and with the .inp/.out
pairs of llama.cpp's vocabularies.

    pip install tokenizers==0.23.3 gguf==0.19.0 unicodedata2==16.0.0
    python3 tools/golden/tokenizer_compare.py --o3 build/release/o3 \\
        --json DIR_WITH_TOKENIZER_JSON... --smollm2 MODEL.gguf --gemma3 MODEL.gguf \\
        --gemma-merges ggml-vocab-gemma-4.gguf --pairs DIR_WITH_GGML_VOCAB

Ids with special tokens parsed and plain, and texts, must be equal; texts that hold U+FFFD are left
out (ill-formed bytes: o3 writes one U+FFFD per maximal subpart). Each difference is printed.
--normalizers compares tokenizers around sentencepiece's own rules and every other normalizer.
SmolLM2 and Gemma 3 have no tokenizer.json here; the reference is built from the GGUF file in its
shape. Gemma 3's merges are those of Gemma 4, whose pieces are the same.
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

import tokenizer_smollm2 as smollm2
import tokenizer_strings


def o3(program, command, tokenizer, lines, *flags):
    done = subprocess.run([program, "text", command, "--tokenizer", str(tokenizer), *flags],
                          input="".join(json.dumps(line) + "\n" for line in lines),
                          capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines), (tokenizer, done.stderr)
    return answers


def texts_for(reference, count, seed):
    added = [t.content for t in reference.get_added_tokens_decoder().values()]
    rng = random.Random(seed)
    rng.shuffle(added)
    return list(tokenizer_strings.strings(rng, [t for t in added if len(t) > 1][:400] or ["<mask>", "[CLS]"],
                                          count))


def compare(name, program, path, reference, texts):
    differences = 0

    def differ(kind, text, ours, theirs):
        nonlocal differences
        differences += 1
        if differences <= 12:
            print(f"  {name} {kind}: {text!r}\n    ours   {ours}\n    theirs {theirs}")

    lines = [{"text": text} for text in texts]
    for flags in ((), ("--plain",)):
        reference.encode_special_tokens = bool(flags)
        ours = o3(program, "encode", path, lines, *flags)
        ids = []
        for text, answer in zip(texts, ours):
            theirs = reference.encode(text, add_special_tokens=False).ids
            ids.append(theirs)
            if answer.get("ids") != theirs:
                differ("ids" + "".join(flags), text, answer, theirs)
        decoded = o3(program, "decode", path, [{"ids": i} for i in ids])
        streamed = o3(program, "decode", path, [{"ids": i} for i in ids], "--stream")
        for theirs, answer, stream in zip(ids, decoded, streamed):
            text = reference.decode(theirs, skip_special_tokens=False)
            if "\ufffd" not in text and answer.get("text") != text:
                differ("text", theirs, answer, text)
            whole = "".join(stream["pieces"]) + stream["flush"]
            if whole.lstrip(" ") != answer["text"].lstrip(" "):
                differ("stream", theirs, whole, answer["text"])
    print(f"{name}: {len(texts)} strings, {differences} differences", flush=True)
    return differences


def gguf_lists(path):
    from gguf import GGUFReader
    fields = GGUFReader(path).fields
    keys = ("tokens", "token_type", "scores", "merges")
    return {k: fields[f"tokenizer.ggml.{k}"].contents() for k in keys
            if f"tokenizer.ggml.{k}" in fields}


def smollm2_reference(path):
    lists = gguf_lists(path)
    specials = [t for t, kind in zip(lists["tokens"], lists["token_type"]) if kind == 3]
    vocabulary = {t: i for i, t in enumerate(lists["tokens"])}
    return smollm2.reference(vocabulary, [tuple(m.split(" ")) for m in lists["merges"]], specials)


def gemma3_reference(path, merges_path):
    lists = gguf_lists(path)
    texts = [t.replace(" ", "\u2581") if kind == 4 else t
             for t, kind in zip(lists["tokens"], lists["token_type"])]
    merges = []
    for merge in gguf_lists(merges_path)["merges"]:
        space = merge.index(" ", 1)
        merges.append((merge[:space], merge[space + 1:]))
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(texts)}, merges=merges,
                                     unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(),
                                           decoders.Fuse()])
    tokenizer.add_tokens([AddedToken(t, special=kind != 4, normalized=False)
                          for t, kind in zip(texts, lists["token_type"]) if kind in (2, 3, 4)])
    return tokenizer


def normalizer_jobs(folder):
    """Tokenizers whose tokens are bytes: ids show what a normalizer makes of text."""
    import charsmap
    import tokenizer_components
    found = {name: normalizers.Precompiled(charsmap.named(name))
             for name in ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf")}
    for index, normalizer in enumerate(tokenizer_components.NORMALIZERS):
        found[f"{type(normalizer).__name__}-{index}"] = normalizer
    for name, normalizer in found.items():
        description = tokenizer_components.of_bytes(normalizer)
        path = pathlib.Path(folder) / name
        path.mkdir()
        (path / "tokenizer.json").write_text(json.dumps(description), encoding="utf-8")
        yield name, path, Tokenizer.from_str(json.dumps(description))


def compare_pairs(program, folder):
    """Ids of the texts in NAME.gguf.inp are in NAME.gguf.out, one line each."""
    different = 0
    for expected in sorted(pathlib.Path(folder).glob("*.gguf.out")):
        model = expected.with_suffix("")
        texts = pathlib.Path(f"{model}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
        want = [[int(x) for x in line.split()] for line in expected.read_text().splitlines()]
        texts = texts[:len(want)]
        answers = o3(program, "encode", model, [{"text": t} for t in texts], "--plain")
        wrong = [(t, a, w) for t, a, w in zip(texts, answers, want) if a.get("ids") != w]
        different += len(wrong)
        for text, ours, theirs in wrong[:4]:
            print(f"  {text!r}\n    ours   {ours}\n    theirs {theirs}")
        print(f"{model.name}: {len(want)} texts, {len(wrong)} differences", flush=True)
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--o3", required=True)
    parser.add_argument("--json", nargs="*", default=[])
    parser.add_argument("--smollm2")
    parser.add_argument("--gemma3")
    parser.add_argument("--gemma-merges")
    parser.add_argument("--pairs")
    parser.add_argument("--normalizers", action="store_true")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    jobs = [(pathlib.Path(d).name, d, Tokenizer.from_file(f"{d}/tokenizer.json"))
            for d in options.json]
    if options.smollm2:
        jobs.append(("smollm2", options.smollm2, smollm2_reference(options.smollm2)))
    if options.gemma3:
        jobs.append(("gemma3", options.gemma3,
                     gemma3_reference(options.gemma3, options.gemma_merges)))
    with tempfile.TemporaryDirectory() as folder:
        if options.normalizers:
            jobs += normalizer_jobs(folder)
        differences = sum(compare(name, options.o3, path, reference,
                                  texts_for(reference, options.count, options.seed))
                          for name, path, reference in jobs)
    if options.pairs:
        differences += compare_pairs(options.o3, options.pairs)
    raise SystemExit(1 if differences else 0)


if __name__ == "__main__":
    main()
