# SPDX-License-Identifier: Apache-2.0
"""Strings that tokenizers must agree on: scripts of the world, emoji, white space, controls, code,
texts of special tokens whole, cut and nested."""
import unicodedata2

SCRIPTS = [  # first and last code point
    (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x17F), (0x180, 0x24F), (0x250, 0x2AF), (0x370, 0x3FF),
    (0x400, 0x52F), (0x531, 0x58A), (0x591, 0x5F4), (0x600, 0x6FF), (0x700, 0x74F),
    (0x780, 0x7B1), (0x900, 0x97F), (0x980, 0x9FE), (0xA01, 0xA76), (0xA81, 0xAFF),
    (0xB01, 0xB77), (0xB82, 0xBFA), (0xC00, 0xC7F), (0xC80, 0xCF3), (0xD00, 0xD7F),
    (0xD81, 0xDF4), (0xE01, 0xE5B), (0xE81, 0xEDF), (0xF00, 0xFDA), (0x1000, 0x109F),
    (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x137C), (0x13A0, 0x13FD), (0x1400, 0x167F),
    (0x1780, 0x17F9), (0x1800, 0x18AA), (0x1E00, 0x1EFF), (0x1F00, 0x1FFE), (0x2C00, 0x2C5F),
    (0x2D00, 0x2D2D), (0x3041, 0x309F), (0x30A0, 0x30FF), (0x3105, 0x312F), (0x4E00, 0x9FFF),
    (0xA000, 0xA48C), (0xAC00, 0xD7A3), (0xF900, 0xFA6D), (0xFB00, 0xFB4F), (0xFE70, 0xFEFC),
    (0xFF01, 0xFFEE), (0x10000, 0x100FA), (0x10300, 0x1034A), (0x10400, 0x1044F),
    (0x12000, 0x12399), (0x13000, 0x1342F), (0x1D400, 0x1D7FF), (0x1E900, 0x1E95F),
    (0x20000, 0x2A6DF), (0x30000, 0x3134A),
]
SPACES = [" ", "\t", "\n", "\v", "\f", "\r", "\x85", "\xa0", "\u1680", "\u2000", "\u2003",
          "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"]
NOT_SPACES = ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u180e", "\x1c", "\x1f"]
EMOJI = ["😀", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷", "🇯🇵", "1️⃣", "#️⃣", "❤️", "☃", "🫠", "🧑🏿‍🚀", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"]
NUMBERS = "0123456789٠١٢٣०१२০১๓໔²³¹¼½¾Ⅷⅻ①⑩㊿㉈〇〡𝟘𝟡፩፲"
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡¿«»“”‘’…—–·•€£¥©®™§¶†‡°±×÷√∞≠≤≥∑∫←→⇒█▒"
CODE = [
    "def f(x):\n    return x**2  # square\n", "if (a && !b) {\n\t\treturn -1;\n}\n",
    "for (int i=0;i<n;++i) sum += v[i];", "SELECT * FROM t WHERE id = 42 AND name LIKE '%x%';",
    "<div class=\"a b\">&nbsp;</div>", "{\"key\": [1, 2.50, null, true], \"e\": {}}",
    "https://example.org/a/b?q=1&r=%20#frag", "std::vector<std::unique_ptr<T>> v{};",
    "$ git commit -m 'it\\'s done' && echo $?", "x = [[i*j for i in range(10)] for j in range(10)]",
    "\\begin{equation} \\alpha_{i}^{2} \\end{equation}", "0x1F 0b1010 1e-9 3.14159 1_000_000",
    "#!/usr/bin/env bash\nset -euo pipefail\n", "user@example.com, C:\\Users\\x\\file.txt",
]
WORDS = ("the of and to in is was for that with as on by at from are this be were which an or "
         "have its Octopus optimized tokenization internationally straightforward I'm you're "
         "we've they'll he'd it's don't DON'T I'M 'tis o'clock rock'n'roll naïve café résumé "
         "über Straße groß ﬁne e\u0301cole ångström привет мир γειά σου שלום مرحبا नमस्ते "
         "สวัสดี こんにちは 世界 안녕하세요 XMLHttpRequest camelCase snake_case SCREAMING_CASE").split()


def assigned(code):
    return unicodedata2.category(chr(code)) not in ("Cn", "Cs")


def script_word(rng):
    first, last = rng.choice(SCRIPTS)
    letters = [c for c in (rng.randint(first, last) for _ in range(rng.randint(1, 9)))
               if assigned(c)]
    return "".join(map(chr, letters))


def anything(rng):
    while True:
        code = rng.choice([rng.randint(0, 0x7F), rng.randint(0x80, 0xFFFF),
                           rng.randint(0x10000, 0x1FFFF), rng.randint(0x20000, 0x10FFFF)])
        if assigned(code) or (0x40000 <= code < 0xE0000 and rng.random() < 0.05):
            return chr(code)


def special(rng, specials):
    text = rng.choice(specials)
    way = rng.randint(0, 4)
    if way == 1:  # cut
        at = rng.randint(1, len(text) - 1)
        return text[:at] if rng.random() < 0.5 else text[at:]
    if way == 2:  # one inside the other
        at = rng.randint(1, len(text) - 1)
        return text[:at] + rng.choice(specials) + text[at:]
    if way == 3:  # one character changed
        at = rng.randrange(len(text))
        return text[:at] + rng.choice(" |<>_xX1") + text[at + 1:]
    return text


def piece(rng, specials):
    return rng.choice([
        lambda: rng.choice(WORDS),
        lambda: rng.choice(WORDS),
        lambda: script_word(rng),
        lambda: script_word(rng),
        lambda: "".join(rng.choice(SPACES) for _ in range(rng.randint(1, 4))),
        lambda: " " * rng.randint(1, 9),
        lambda: "\n" * rng.randint(1, 3),
        lambda: rng.choice(NOT_SPACES),
        lambda: "".join(rng.choice(NUMBERS) for _ in range(rng.randint(1, 5))),
        lambda: str(rng.randint(0, 10**rng.randint(1, 12))),
        lambda: "".join(rng.choice(PUNCTUATION) for _ in range(rng.randint(1, 5))),
        lambda: rng.choice(["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "''s", "'", "’s"]),
        lambda: rng.choice(EMOJI),
        lambda: rng.choice(CODE)[:rng.randint(3, 60)],
        lambda: special(rng, specials),
        lambda: chr(rng.choice([*range(0x20), *range(0x7F, 0xA0)])),
        lambda: "".join(anything(rng) for _ in range(rng.randint(1, 4))),
        lambda: rng.choice(["a", "ab", "-", "=", "é", "の", "ha", " x", "\t"]) * rng.randint(5, 60),
    ])()


def strings(rng, specials, count):
    yield from ["", " ", "  ", "\n", "a", " a", "a ", "\u00e9", *specials, *CODE, *EMOJI]
    yield from [chr(c) for c in range(0x100)]
    yield from [s + " " + s for s in SPACES + NOT_SPACES]
    for _ in range(count):
        joiner = rng.choice(["", "", " "])
        yield joiner.join(piece(rng, specials) for _ in range(rng.randint(1, 8)))
