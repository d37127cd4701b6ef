# SPDX-License-Identifier: Apache-2.0
"""Precompiled normalization rules as sentencepiece makes them."""
import pathlib
import tempfile

import sentencepiece

# Small, and odd where it counts: rules of one and several characters, rules that begin grapheme
# clusters with more in them, of four-byte characters, to nothing, and to more than they replace.
RULES = [("A", "a"), ("\t", " "), ("\r", " "), ("\n", " "), ("\r\n", "|"), ("\u00e9", "e"),
         ("e\u0301", "E"), ("o", "0"), ("\u3000", " "), ("\u2126", "\u03a9"), ("\ufb01", "fi"),
         ("\uff21", "a"), ("\U0001d400", "a"), ("\u00ad", ""), ("\u200d", ""), ("\u0915", "ka"),
         ("\uac00", "ga"), ("\u1100", "g"), ("\u00a9", "(c)"), ("\u2764", "<3"), ("\u0301", "'"),
         ("\u0600", "#"), ("\u2581", " "), ("\ufdfa", "long long long replacement")]


def fields(data):
    """(number, bytes) of the length-delimited fields of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 2:
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size
        elif kind == 0:
            varint()
        else:
            at += 8 if kind == 1 else 4


def of_normalizer(normalizer):
    model = normalizer.serialized_model_proto()
    spec = next(value for number, value in fields(model) if number == 3)  # normalizer_spec
    return next(value for number, value in fields(spec) if number == 2)  # precompiled_charsmap


def small():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rules.tsv"
        path.write_text("".join(" ".join(f"{ord(c):04X}" for c in source) + "\t" +
                                " ".join(f"{ord(c):04X}" for c in target) + "\n"
                                for source, target in RULES), encoding="ascii")
        return of_normalizer(sentencepiece.SentencePieceNormalizer(rule_tsv=str(path)))


def named(name):
    """nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf"""
    return of_normalizer(sentencepiece.SentencePieceNormalizer(rule_name=name))
