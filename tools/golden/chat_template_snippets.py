# SPDX-License-Identifier: Apache-2.0
"""Small templates, one feature each, for the golden test of chat templates."""

# Rendered with these variables besides messages = [{"role": "user", "content": "Hi there"}].
VARIABLES = {
    "s": "Hello, World", "e": "", "n": 7, "f": 2.5, "t": True, "z": None, "xs": [3, 1, 2],
    "d": {"b": 1, "a": "two", "C": [1, {"k": "v"}], "items": "shadow"},
    "people": [{"name": "Bob", "age": 30, "tags": ["x"]}, {"name": "al", "age": 25}, {"name": "Cy", "age": 30}],
    "u": "Ünïcödé ß ŉ ǰ ΑΣ", "ws": "  a  b\tc \n",
}

EXPRESSIONS = r"""
1 + 2 * 3 - 4 / 2, 1 - 2 - 3, 2 * 3 // 4
7 // 2, -7 // 2, 7 % 3, -7 % 3, 7 % -3, 7.5 // 2, -7.5 % 2, 7.0 // 0.5
2 ** 10, 2 ** -1, 2 ** 3 ** 2, (-8) ** 3, 0.5 ** 2
-n ** 2, - n, + n, -t
1 / 3, 2 / 2, 1e16, 1e15, 1e-5, 0.0001, 123456789.123, 1.5e300 * 10, 0.1 + 0.2, 5e-324, -0.0
1_000 + 0x1F + 0b101 + 0o17, 1_0.5_0, 1e3, 1E-2
1 == 1.0, 1 == t, "1" == 1, [1] == [1.0], (1,) == [1], {"a": 1} == {"a": true}
1 < 2 < 3, 1 < 3 < 2, 3 > 2 >= 2 != 1, "a" < "b", [1, 2] < [1, 3], (1,) < (1, 2)
1 in xs, 9 not in xs, "ell" in s, "a" in d, "q" not in d, "" in s, 1 in (1, 2), 2 in range(3)
t and n, e or "x", z or e or 0, not e, not not n, t and e, n and z
"yes" if t else "no", "yes" if e, ("a" if e else "b" if z else "c")
s ~ n ~ t ~ z ~ f ~ xs ~ missing, 1 ~ 2
s + "!", s * 2, 2 * "ab", "ab" * 0, "ab" * -1, xs + [4], (1,) + (2,), xs * 2
[], [1], [1, "a", none, true, 2.0], (), (1,), (1, 2), {}, {"a": 1, 2: "b", none: [], true: 0, 1.5: ()}
{"a": 1, "a": 2}, {1: "x", true: "y", 1.0: "z"}
"a'b", ["a'b", 'a"b', 'a\'"b', "tab\tnl\nbs\\", "\x00\x7f\xad\u200b\u2028\U0001F600\ue000"]
"con" "cat" 'enated', "\101\x41\u0041\U00000041", "\q\é\日\😀", '\'' "\""
d.b, d["a"], d.C[1].k, d["C"][1]["k"], d["items"], d.nope, d["nope"], d.C.0, xs.1
xs[0], xs[-1], xs[9], xs[true], s[0], s[-1], s[99], u[0], (1, 2)[1], range(5)[2]
xs[1:], xs[:-1], xs[::-1], s[1:4], s[::-1], s[::3], s[-3:], s[5:2], s[:99], u[3:8], (1, 2, 3)[1:], xs[5:], xs[none:2]
s[10:0:-2], xs[-1::-1], xs[0:3:2], s[-100:3], s[100:], s[:-100], xs[::2]
missing, missing is defined, missing is undefined, missing == missing, missing or "x", [missing], missing | default("d")
missing | length, missing | list, missing | upper, missing | join, missing | string, missing | first, missing ~ "a"
d.items(), d.keys(), d.values() | list, d.get("a"), d.get("q"), d.get("q", 5), d.get("a", 5)
xs | first, xs | last, [] | first, "" | last, s | first, d | first, d | list, s | list
xs | length, s | length, d | count, u | length, range(4) | length, () | length
xs | join, xs | join(", "), s | join("-"), people | join(", ", attribute="name"), [1, none, true] | join("|"), d | join
xs | sort, xs | sort(reverse=true), ["b", "A", "c"] | sort, ["b", "A", "c"] | sort(case_sensitive=true)
people | sort(attribute="name") | map(attribute="name") | list, people | sort(attribute="age,name") | map(attribute="name") | list
people | map(attribute="tags.0", default=" ") | list, people | map(attribute="tags", default="-") | list, ["a", "b"] | map("upper") | list
[" a ", "b "] | map("trim") | join(","), ["ab", "cb"] | map("replace", "b", "x") | list, people | map(attribute="nope") | list
people | selectattr("tags") | list, people | selectattr("age", "equalto", 30) | map(attribute="name") | join
people | rejectattr("age", "gt", 26) | map(attribute="name") | list, people | selectattr("tags", "defined") | list | length
[0, 1, "", "a", none] | select | list, [0, 1, "", "a", none] | reject | list, xs | select("odd") | list, xs | reject("in", [1, 2]) | list
xs | max, xs | min, ["b", "A"] | max, people | max(attribute="age"), [] | max, xs | sum, people | sum(attribute="age"), xs | sum(start=10)
[1, 1, "a", "A", 2] | unique | list, ["a", "A"] | unique(true) | list, people | unique(attribute="age") | map(attribute="name") | list
xs | reverse | list, s | reverse, d | dictsort(false, "key") | list if false else "skip"
{"b": 1, "A": 2, "c": 0} | dictsort, {"b": 1, "A": 2} | dictsort(true), {"b": 1, "a": 0} | dictsort(by="value"), {"b": 1, "a": 0} | dictsort(reverse=true)
d | items | list, {"x": 1} | items | list
s | upper, s | lower, s | title, s | capitalize, u | upper, u | lower, u | title, u | capitalize, u.title(), u.capitalize()
"o'neil mc-donald (x) <y> [z] {w}\tq" | title, "o'neil mc-donald x1y" | capitalize, "o'neil mc-donald x1y".title(), "aB".swapcase()
ws | trim, ws.strip() | tojson, ws.lstrip() | tojson, ws.rstrip() | tojson, "xxaxx" | trim("x"), "xyaxy".strip("yx"), "éaé".strip("é"), "a".strip("")
ws.split(), ws.split(" "), "a,b,,c".split(","), "a,b,c".split(",", 1), "a b  c ".split(none, 1), "".split(), "".split(","), "a--b".split("--")
"a b  c ".rsplit(none, 1), "a,b,c".rsplit(",", 1), "aaa".split("aa"), "aaa".rsplit("aa"), " a ".split(maxsplit=0), "a,b".split(sep=",")
"a\nb\r\nc\rd\x0be\x0cf\x1cg\x85h\u2028i".splitlines(), "a\nb\n".splitlines(true), "".splitlines(), "\n".splitlines()
"abcabc".replace("b", "X"), "abcabc".replace("b", "X", 1), "abc".replace("", "-"), "abc".replace("", "-", 2), "" | replace("", "x"), "aaa" | replace("aa", "b")
"abc" | replace("b", 1), 12321 | replace(2, "x"), s | replace("l", "L", 2), "aXbX" | replace("X", "")
"abcabc".find("c"), "abcabc".rfind("c"), "abc".find("z"), "abc".find("", 3), "abc".find("", 4), u.find("ö"), "abcabc".find("c", 3), "abcabc".index("b"), "abcabc".count("bc"), "abc".count("")
s.startswith("Hell"), s.endswith("d"), s.startswith(("x", "H")), s.startswith("ello", 1), s.endswith("lo", 0, 5), "".startswith("")
"-".join(["a", "b"]), "".join(s), ",".join({"x": 1}), "ab".join(""), s.partition(", "), s.partition("z"), "a.b.c".rpartition("."), "abc".removeprefix("ab"), "abc".removesuffix("bc")
"abc".islower(), "ABC".isupper(), "aB".islower(), "12".isupper(), "١٢".isdecimal(), "".isdecimal(), " \t".isspace(), "abc" is lower, "ABC" is upper
xs.count(1), xs.index(2), (1, 1).count(1), d.copy() == d, xs.copy()
"42" | int, "4.7" | int, " 12 " | int, "x" | int, "x" | int(5), "0x1f" | int(0, 16), "1f" | int(base=16), "0b11" | int(0, 0), 3.9 | int, -3.9 | int, true | int, none | int, [] | int(9), "1_000" | int, "-5" | int, "+5" | int, "--5" | int, "" | int, "٣" | int
"4.5" | float, "x" | float, "x" | float(1.5), "inf" | float, "-INF" | float, "nan" | float, 3 | float, "1e3" | float, " 2 " | float, none | float, "1_0.5" | float, "1__0" | float, "infinity" | float, ".5" | float, "5." | float, "0x10" | float
2.5 | round, 3.5 | round, 2.675 | round(2), 2.4 | round, 7 | round, 2.1 | round(method="ceil"), -2.1 | round(0, "floor"), 1.25 | round(1), 1234.5678 | round(3), 5 | round(2)
-5 | abs, -2.5 | abs, true | abs, n | abs
e | default("x"), e | default("x", true), z | default("x"), z | default("x", boolean=true), missing | d("y"), 0 | default(1, true)
"a\nb\n\nc" | indent, "a\nb\n\nc" | indent(2, true), "a\nb\n\nc" | indent(1, blank=true), "a\nb" | indent("> "), "" | indent(2, true), "a\n" | indent(2)
d | tojson, [1, 2.0, none, true, "é\"\\\n\u2028\x01\x7f"] | tojson, "</script>&'" | tojson, {} | tojson, [] | tojson, (1, (2,)) | tojson, 1e22 | tojson, {1: 2, none: 3, true: 4, 1.5: 5} | tojson
d | tojson(indent=2), [] | tojson(indent=2), [1, [2, {}]] | tojson(indent=1), {"a": {}} | tojson(indent="\t"), d | tojson(sort_keys=true), [1, {"a": 2}] | tojson(separators=(",", ":")), "é😀\x7f" | tojson(ensure_ascii=true), [1] | tojson(indent=0), {"b": 1, "a": 2} | tojson(true, 2, none, true)
"inf" | float | tojson, "nan" | float | tojson, "inf" | float, -("inf" | float)
s | string, 1.0 | string, none | string, xs | string, true | string
1 is odd, 2 is even, 9 is divisibleby 3, 9 is divisibleby(2), 1 is number, 1.5 is number, true is number, "1" is number, none is none, z is none
1 is integer, true is integer, 1.0 is float, 1 is float, true is boolean, 1 is boolean, true is true, 1 is true, false is false, 0 is false
s is string, 1 is string, d is mapping, xs is mapping, xs is sequence, s is sequence, d is sequence, 1 is sequence, range(3) is sequence, (1,) is iterable, 1 is iterable, s is iterable, missing is iterable
3 is gt 2, 3 is lt(2), 3 is eq 3, 3 is ne 3, 3 is ge 3, 3 is le 2, 3 is greaterthan 2, 3 is lessthan 2, 3 is equalto 3, 1 is in [1], 1 is in(xs), "a" is in "abc", none is sameas none, true is sameas true, 1 is sameas true
s is not string, missing is not defined, xs is defined and n is odd, not n is even, "upper" is filter, "nope" is filter, "odd" is test, range is callable, s is callable, s.upper is callable
range(3), range(1, 4), range(0, 10, 3), range(5, 0, -2), range(3) | list, range(0), range(2, 2) | list, range(-2) | list
dict(a=1, b=2), dict({"x": 1}, y=2), dict([("p", 1)]), namespace(a=1).a, dict()
s | upper | lower | title | replace("h", "j") | length, (s | upper)[0:3], s.upper().lower().split(", ")[1], "a" if s | length > 3 else "b"
n is number and n > 5 or false, (n), ((n)), [n, ][0], (n, )[0], n if n else z
"<a>" | safe + "<", "&" + ("<a>" | safe), ("<" | safe) ~ "<", ("<" | safe) | upper + ">", ("<a" | safe) * 2 + "'", ("a<b" | safe)[1:] + '"', ("<" | safe) is escaped, "<" is escaped
"<'>" | e, "<" | e | e, ("<" | e) + "<", 5 | e, ("a b" | safe).split(), ("x" | safe).replace("x", "<"), (", " | safe).join(["<", ">" | safe]), "<" | safe | replace("<", "&") + "<", "<" | safe | trim, "<a" | safe | title, ("<a" | safe | indent(2, true)) + "<", "<" | safe | first + "<", [("<" | safe).upper() + "<", "a" | safe == "a"]
"{}-{}".format(1, "a"), "{1}{0}{k}{{}}".format(s, none, k=xs), "{!r}{!s}".format("a", "b"), "<{}>".format(missing), ("<{}>" | safe).format("<"), "{:}".format(2.0)
strftime_now("%Y-%m-%d %H:%M:%S %B %b %A %a %d %j %p %I %y %% %e %-d %-m"), strftime_now("")
messages[0].content, messages[0]["role"], messages | length, messages[0], messages | tojson, messages[-1].content | length, messages[1] is defined
bos_token, eos_token, add_generation_prompt, tools, documents, tools is none, tools is defined, not tools
d["C"] | tojson, d.C | map("string") | list, d.values() | list | length, d.items is string, d["items"] is string, d.keys() | list | sort
"%" ~ n ~ "%", "{{ not a tag }}", '%}' ~ "#}", "{" ~ "%"
[1, 2, 3] | map("string") | join("+") ~ "=" ~ ([1, 2, 3] | sum), xs | sort | first, xs | sort | last
"%s" % 1, "%s-%s" % (1, "a"), "%5s|%-5s|" % ("ab", "cd"), "%05d|%+d|% d" % (42, 42, 42), "%x %X %o %#x" % (255, 255, 8, 255), "%.2f" % 2.005, "%e" % 12345.678, "%g" % 0.00001, "%%" % (), "%5.1f%%" % 99.55, "%(b)s and %(a)r" % d, "%r" % "é'", "%c%c" % ("x", 65), "%s" % xs, "%s" % (xs,), "%d" % 3.99, "%i" % true, "%.3s" % s, "%*d" % (5, 42), "%.*f" % (1, 2.55), "%-*s|" % (4, "a"), "%s" % missing, "%a" % "é", "x" % [], "%06.2f" % -1.5, "%s" % none, "%G" % 1e20
"%s %s" | format(1, 2), "%(x)s" | format(x=3), "%s" | format(xs), "%d%%" | format(5)
"{:>5}|{:<5}|{:^5}|{:*^6}".format(1, "a", "b", "c"), "{:05d} {:+d} {: d}".format(42, 42, 42), "{:,} {:_}".format(1234567, 1234567), "{:.2f} {:.3e} {:g} {:%}".format(2.675, 12345.678, 0.00001, 0.25), "{:x} {:X} {:#x} {:b} {:#b} {:o}".format(255, 255, 255, 5, 5, 8), "{:.2}".format("abc"), "{:>8.3}".format("abcdef"), "{0[a]} {0[C][0]} {1[1]}".format(d, xs), "{p[name]}".format(p=people[0]), "{!r:>6}".format("a"), "{:5}|{:5}".format(true, false), "{:,.2f}".format(1234567.891), "{:c}".format(97), "{:<6}|".format(2.5), "{:=+6d}".format(3), "{:é>4}".format(1), "{:.3}".format(1234.5678), "{:.3}".format(12.0), "{:.1}".format(0.5), "{:10.4}|".format(3.14159265), "{:n}".format(1234567), "{:06.1f}".format(-2.25), "{:-}".format(5), "{:e}".format(0.0), "{:.0f}".format(2.5), "{:#.0f}".format(2.5), "{:05}".format("ab"), "{:<05}".format(7), "{:s}".format("q")
range(*[1, 4]) | list, range(1, *[4]) | list, dict(**{"a": 1}), dict(b=2, **{"a": 1}), dict(*[{"x": 1}], **{"y": 2}), "{a}{b}".format(**{"a": 1, "b": 2}), "{}{}".format(*xs), "{}{k}".format(*"a", **{"k": 5}), xs | join(*["-"]), s | replace(*["l", "L"]), xs | join(**{"d": "+"})
people | groupby("age") | map("first") | list, people | groupby("age") | list, people | groupby("name", case_sensitive=true) | map(attribute="grouper") | list, (people | groupby("tags", default=[]))[0].list | length, (people | groupby("age"))[0].grouper, [1, 2, 1] | groupby(0) | list if false else 1
xs | batch(2) | list, xs | batch(2, "x") | list, range(7) | batch(3) | list, [] | batch(2) | list, range(7) | slice(3) | list, range(7) | slice(3, "f") | list, [] | slice(2) | list, range(3) | slice(5) | list
"foo bar baz qux" | truncate(9), "foo bar baz qux" | truncate(9, true), "foo bar baz qux" | truncate(11), "foo bar baz qux" | truncate(11, false, "..", 0), "foo" | truncate(5), u | truncate(5, true, "…", 0)
"a" | center(5), "ab" | center(5), n | center(4), "abc" | center(2), s.center(20) , s.center(21, "*"), "ab".center(5, "-"), "a".center(4, "-"), "a".ljust(3) ~ "|", "a".rjust(3, "é"), "abc".ljust(1), "42".zfill(5), "-42".zfill(5), "+1".zfill(4), "abc".zfill(2), "é".zfill(3)
"a\tb".expandtabs(), "a\tb\n\tc".expandtabs(4), "\t".expandtabs(0), "Straße ﬁ İ ΣΑΣ".casefold(), u.casefold(), "ŉ".casefold()
"abc1".isalnum(), "a b".isalnum(), "".isalnum(), "é日".isalpha(), "a1".isalpha(), "abc".isascii(), "é".isascii(), "".isascii(), "12".isdigit(), "²".isdigit(), "½".isdigit(), "½".isnumeric(), "一".isnumeric(), "1a".isnumeric(), "Title Case".istitle(), "Title case".istitle(), "".istitle(), "ǅ".istitle(), "a\n".isprintable(), "aé".isprintable(), "".isprintable()
1234.5 | filesizeformat, 1 | filesizeformat, 0 | filesizeformat, 999 | filesizeformat, 1000 | filesizeformat, 1048576 | filesizeformat(true), 1e25 | filesizeformat, "12000" | filesizeformat, 1500000 | filesizeformat
"a b/c?é&=" | urlencode, {"a b": 1, "c": "d/e"} | urlencode, [("x", "y z"), (1, 2)] | urlencode, 5 | urlencode
"Hello, big_world it's 日本" | wordcount, "" | wordcount, 5 | wordcount, "<" | safe | forceescape, "a" | forceescape
s | attr("upper") is callable, d | attr("nope") is defined, d | attr("b") is defined, d | attr("items") is callable
1234 | round(-2), 1250 | round(-2), 1350 | round(-2), -1250 | round(-2), 7 | round(-1), 5 | round(-1), 15 | round(-1), 1234.5 | round(-2), 99 | round(-5), 25 | round(-1)
9223372036854775807 + 1, 9223372036854775808, -9223372036854775808, -9223372036854775809, 99999999999999999999 * 3, 2 ** 64, 2 ** 100, 18446744073709551616 // 3, -18446744073709551616 % 7, 99999999999999999999 == 99999999999999999999, 99999999999999999999 > 5, 99999999999999999999 < 1.5, 99999999999999999999 | tojson, "99999999999999999999" | int, "-99999999999999999999" | int, 1e20 | int, 99999999999999999999 | float, 99999999999999999999 is integer, 99999999999999999999 is number, -99999999999999999999 | abs, 99999999999999999999 - 99999999999999999998, 4294967296 * 4294967296, [99999999999999999999], -(-9223372036854775807 - 1), 99999999999999999999 | string | length, {99999999999999999999: 1} | tojson
range(10)[2:5] | list, range(10)[::3] | list, range(10)[::-1] | list, range(10)[-1], range(5)[1:] | length
2.0.is_integer(), 2.5.is_integer(), (255).bit_length(), (0).bit_length(), {(1, 2): "t"}[1, 2]
été ~ missing_é, été is defined
s.upper, 1 if false
""".strip("\n")

FRAGMENTS = [
    "{{ 'line \\\nends' }}", "{{ '{}{0}'.format(1) }}", "{{ '{}'.format() }}", "{{ '{a}'.format(1) }}", "{{ '}'.format() }}", "{{ '{'.format() }}",
    "{% if false %}{{ 1 | nope }}{% endif %}x", "{{ (1 | nope) if false else 2 }}", "{% if false %}{% for a in xs %}{{ a | nope }}{% endfor %}{% endif %}", "{% if 'nope' is filter and 1 | nope %}{% else %}y{% endif %}", "{% if true %}{% if false %}{{ 1 is nope }}{% endif %}{% endif %}z", "{% if false %}{% set q %}{{ 1 | nope }}{% endset %}{% endif %}",
    "{% for x in xs %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in xs %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {{ loop.cycle('a', 'b') }} {{ loop.changed(x > 1) }};{% endfor %}",
    "{% for x in [] %}x{% else %}empty{% endfor %}", "{% for x in xs if x > 1 %}{{ x }}{{ loop.index }}/{{ loop.length }}{{ loop.last }} {% else %}none{% endfor %}",
    "{% for x in xs if x > 9 %}{{ x }}{% else %}none{% endfor %}", "{% for k, v in {'a': 1, 'b': [2]}.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for (a, (b, c)) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}", "{% for k in {'a': 1, 'b': 2} %}{{ k }}{% endfor %}", "{% for c in 'aé日' %}[{{ c }}]{% endfor %}",
    "{% for x in missing %}x{% else %}undefined is empty{% endfor %}", "{% for x in none %}{% endfor %}", "{% for x in 3 %}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    "{% for x in xs %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "{% for x in xs %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% else %}else{% endfor %}",
    "{% for x in xs %}{% break %}{% else %}else{% endfor %}", "{% for a in [1, 2] %}{% for b in [3, 4] %}{{ loop.index }}{% if b == 3 %}{% continue %}{% endif %}{{ a }}{{ b }} {% endfor %}{{ loop.index }};{% endfor %}",
    "{% break %}", "{% for x in [1] %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "{% for i in [1, 2] %}{% if i == 1 %}{% set q = 5 %}{% endif %}{{ q }};{% endfor %}{{ q }}",
    "{% set ns = namespace(x=1, y=[]) %}{% for i in xs %}{% set ns.x = ns.x + i %}{% set ns.y = ns.y + [i] %}{% endfor %}{{ ns.x }} {{ ns.y }} {{ ns }}", "{% set ns = namespace() %}{{ ns.a }}{% set ns.a = 1 %}{{ ns['a'] }}",
    "{% set d.b = 2 %}", "{% set q.b = 2 %}", "{% set ns = namespace({'p': 1}, q=2) %}{{ ns.p + ns.q }}{% set ns.p, z = 5, 6 %}{{ ns.p }}{{ z }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a, b = 1 %}", "{% set a = 1, 2 %}{{ a }}",
    "{% set x %}  body {{ n }}\n{% endset %}[{{ x }}]", "{% set x | upper | trim %}  body {{ n }}\n{% endset %}[{{ x }}]", "{% set x %}{% set y = 1 %}{{ y }}{% endset %}{{ x }}{{ y }}",
    "{% if n > 5 %}a{% elif n > 3 %}b{% else %}c{% endif %}{% if e %}x{% elif z %}y{% elif t %}w{% endif %}{% if not t %}{% endif %}", "{% if true %}{% set k = 1 %}{% endif %}{{ k }}",
    "{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=5, a=4) }} {{ m() }}", "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, k=4) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(q=2) }}", "{% macro f(n) %}{{ n }}{% if n > 0 %},{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
    "{% macro m(x) %}<{{ caller(x) }}|{{ caller(2) }}>{% endmacro %}{% call(y) m(1) %}{{ y }}{{ n }}{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}  body {% endcall %}{{ m is callable }}",
    "{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}", "{% macro m() %}{{ g }}{% endmacro %}{% set g = 3 %}{{ m() }}", "{% macro m() %}{% set g = 4 %}{{ g }}{% endmacro %}{% set g = 3 %}{{ m() }}{{ g }}", "{% macro m(s) %}{{ s }}{% endmacro %}{{ m('a') | upper ~ m('b') }}{{ m.name }}",
    "{% filter upper %}a{{ s }}b{% endfilter %}", "{% filter replace('a', 'b') | upper %}aXa{% endfilter %}", "{% with %}{% set w = 1 %}{{ w }}{% endwith %}{{ w }}", "{% with a=1, b=n %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% set a = 9 %}{% with a=1, b=a %}{{ a }}{{ b }}{% endwith %}",
    "{% raw %}{{ x }}{% if %}{% endraw %}", "a {%- raw -%}  {{ x }}  {%- endraw -%}  b", "{% raw %}\n a\n{% endraw %}\nb", "{%raw%}{#{%endraw%}", "{% raw %}never ends",
    "a {# c #} b", "a\n  {# c #}\nb", "a {#- c -#} b", "{# {{ x }} {% y #}z", "{# never ends", "{#- #}a", "a{#-#} b", "a\n{#+ x +#}\nb",
    "  {% if t %}\n  a\n  {% endif %}\n  b\n", "\n{% if t %}\n\n{% endif %}\n", "x  {% if t %}  y  {% endif %}  z", "  {%+ if t %}\n  a\n  {%+ endif +%}\nb", "a\n  {{- n -}}  \n b", "a {{ n }}\nb\n", "\t{% set q = 1 %}\t\n\t{{ q }}\t{% set q = 2 %}\n",
    "{%- if t -%}\n  a\n{%- endif -%}\n\n b", "a\r\nb\rc\n", "\u3000{% if t %}x{% endif %}", "a\u00a0{%- if t -%}\u2003x{% endif %}", "a\n\n", "\n", "", "  {% if t %}x{% endif %}  ", "{% if t %}a{% endif %}\n\n{% if t %}b{% endif %}\n",
    "{{ 'a' -}}\n b {{- 'c' }}", "{{ {'a': {'b': 1}}['a'] }}{{ {'a': {'b': 1}} }}", "{{ '}}' }}{{ \"%}\" }}", "{{\n  n\n  +\n  1\n}}", "{% if\n t\n%}a{% endif %}", "{ {n} } {a} {", "{{ n }}}", "{{{ n }}", "{%", "{{", "{{ n", "{{ n }", "{{ }}", "{{ n n }}", "{{ 'a }}", "{{ n ! }}", "{{ (n }}", "{{ n) }}", "{{ [n) }}",
    "{% nope %}", "{% endif %}", "{% if t %}", "{% for %}", "{% for x %}{% endfor %}", "{% for x in xs %}", "{% if t %}{% endfor %}", "{% set %}", "{% set 1 = 2 %}", "{% set true = 2 %}", "{% else %}", "{% if t %}{% else %}{% else %}{% endif %}", "{{ n | nope }}", "{{ n is nope }}", "{{ n. }}", "{{ n | }}", "{{ n is }}", "{{ 1 is 2 }}", "{{ f(1, a=2, 3) }}",
    "{{ missing.a }}", "{{ missing['a'] }}", "{{ missing() }}", "{{ missing + 1 }}", "{{ missing < 1 }}", "{{ d.nope.x }}", "{{ z.x }}", "{{ z.x.y }}", "{{ n.x }}", "{{ n() }}", "{{ xs.nope() }}", "{{ s + 1 }}", "{{ 1 + s }}", "{{ s - s }}", "{{ xs + (1,) }}", "{{ 1 / 0 }}", "{{ 1 % 0 }}", "{{ 1 // 0.0 }}", "{{ z < 1 }}", "{{ s < 1 }}", "{{ 1 in 5 }}", "{{ 1 in s }}", "{{ {[]: 1} }}", "{{ d[[]] }}", "{{ xs | join(1) }}", "{{ [missing] | tojson }}", "{{ missing | tojson }}", "{{ range | tojson }}",
    "{{ xs.append(4) }}{{ xs }}", "{{ d.update({}) }}", "{{ d.pop('a') }}", "{{ xs.append is defined }}", "{{ s.__class__ }}", "{{ s.__class__.__mro__ }}", "{{ raise_exception('stop ' ~ n) }}", "{{ range(1000000) }}", "{{ range(0) }}", "{{ range(1, 2, 0) }}", "{{ range('a') }}", "{{ '%s' | upper }}", "{{ xs | first | upper }}", "{{ 5 | trim }}", "{{ none | upper }}", "{{ xs | last + 1 }}", "{{ xs | map('nope') | list }}", "{{ xs | length() }}", "{{ xs | length(1) }}", "{{ s | replace('a') }}", "{{ s | indent(width=2) }}", "{{ s.split(1) }}", "{{ s.split('') }}", "{{ xs | sort(attribute='x') }}", "{{ [1, 'a'] | sort }}", "{{ 'abc'.index('z') }}", "{{ xs.index(99) }}", "{{ 'inf' | float | int }}", "{{ 'nan' | float | int }}", "{{ 9 is divisibleby 0 }}", "{{ 'a' is odd }}",
    "{% for x in xs | map('string') %}{{ loop.length }}{{ x }}{% endfor %}", "{% set g = xs | map('string') %}{{ g | list }}{{ g | list }}", "{{ xs | map('string') | length }}", "{% for x in xs | reverse %}{{ x }}{{ loop.revindex }}{% endfor %}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() }}{{ c.next() }}", "{% set j = joiner('; ') %}{% for x in xs %}{{ j() }}{{ x }}{% endfor %}{% set k = joiner() %}{{ k() }}{{ k() }}",
    "{% for x in xs %}{% set loop = 1 %}{% endfor %}", "{% for loop in xs %}{% endfor %}", "{{ loop }}", "{% for x in [1] %}{% for y in [1] %}{% endfor %}{{ loop.index }}{% endfor %}{{ loop is defined }}", "{% for x in [[1, 2], [3]] %}{% for y in x %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}", "{% for x in xs if loop.index %}{% endfor %}",
    "{% set ns = namespace(stop=false) %}{% for x in xs if not ns.stop %}{{ x }}{% set ns.stop = true %}{% endfor %}", "{% set ns = namespace(stop=false) %}{% for x in xs if not ns.stop %}{{ x }}{{ loop.last }}{% set ns.stop = true %}{% endfor %}", "{% set ns = namespace(stop=false) %}{% for x in xs if not ns.stop %}{{ x }}{{ loop.length }}{% set ns.stop = true %}{% endfor %}",
    "{% print n %}", "{% print n, s %}", "{% if t: %}colon{% endif %}", "{% set a = [1, 2] %}{% set b = a %}{{ b }}", "{% generation %}x{% set i = 1 %}{% endgeneration %}{{ i }}", "{% set messages = messages[1:] %}{{ messages }}", "{{ messages[0].content.split(' ')[0] ~ '|' ~ messages[0].content[::-1] }}",
    "{% set x = 'a' if t else 'b' %}{% set y = x ~ x %}{{ y }}{% set x = y | length %}{{ x }}", "{{ not_a_function is defined and not_a_function() }}", "{{ (1, 2) | list }}{{ 'ab' | list }}{{ {'a': 1} | list }}", "{% for i in range(3) %}{{ i }}{% if not loop.last %}, {% endif %}{% endfor %}", "{%- set x -%} a {%- endset -%}{{ x }}", "{{ {'a': 1}.a }}{{ {'get': 1}.get is callable }}{{ {'get': 1}['get'] }}",
    "{% for p in [{'n': 1, 'c': [{'n': 2, 'c': []}, {'n': 3, 'c': [{'n': 4, 'c': []}]}]}, {'n': 5, 'c': []}] recursive %}{{ loop.depth }}{{ loop.depth0 }}:{{ p.n }}({{ loop(p.c) }}){% if not loop.last %},{% endif %}{% else %}-{% endfor %}",
    "{% for x in [[1, [2]], 3] recursive %}{% if x is number %}{{ x }}{% else %}[{{ loop(x) }}]{% endif %}{% endfor %}", "{% for x in [1] %}{{ loop([2]) }}{% endfor %}", "{% for x in [1] recursive %}{{ loop(5) }}{% endfor %}", "{% for x in [1] recursive %}{{ loop() }}{% endfor %}", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "{% for x in [1, [2, 3]] if x recursive %}{% if x is iterable %}{{ loop(x) }}{% else %}{{ x }}{{ loop.index }}{{ loop.length }}{% endif %}{% endfor %}", "{% for x in [[1, 2], [3]] recursive %}{% for y in x %}{{ loop.index }}{{ y }}{% endfor %}{{ loop.index }}{% endfor %}", "{% for x in [[1, 2, 3]] recursive %}{% if x is number %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% else %}{{ loop(x) ~ '!' }}{% endif %}{% endfor %}",
    "{% set q = 1 %}{% for x in [[5]] recursive %}{% set q = q + 1 %}{{ q }}{% if x is iterable %}{{ loop(x) }}{% endif %}{% endfor %}", "{% for x in [[1]] recursive %}{% set outer = loop %}{% for y in [1] %}{% if x is iterable %}{{ outer(x) }}{% else %}{{ x }}{% endif %}{% endfor %}{% endfor %}", "{% for x in xs %}{{ loop is callable }}{% endfor %}",
    "{% macro m(a, b=2) %}{{ a }}{{ b }}{{ kwargs }}{{ varargs }}{% endmacro %}{{ m(*[1, 3, 4], **{'k': 5}) }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(**{'a': 1}) }}{{ m(*'x') }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, **{'a': 1}) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(**{'b': 1}) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(**[1]) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*5) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(**{1: 2}) }}", "{% macro m(a) %}{{ kwargs }}{% endmacro %}{{ m(k=1, **{'k': 2}) }}",
    "{% macro m() %}{{ caller(*[1, 2], **{'z': 3}) }}{% endmacro %}{% call(x, y, z=0) m() %}{{ x }}{{ y }}{{ z }}{% endcall %}", "{% set été = 3 %}{{ été + 1 }}", "{{ ٣ }}", "{{ {'a': 1}[1, 2] }}", "{{ xs[1, 2] }}", "{{ xs[1:2, 3] }}", "{{ xs[1,] }}",
    "{{ '%d' % 'x' }}", "{{ '%s %s' % 1 }}", "{{ '%s' % (1, 2) }}", "{{ '%q' % 1 }}", "{{ '%' % 1 }}", "{{ '%(a)s' % 1 }}", "{{ '%(a)s' % {} }}", "{{ '%x' % 1.5 }}", "{{ '%s' | format(1, 2) }}", "{{ '%s' | format(1, a=2) }}", "{{ '{:d}'.format('x') }}", "{{ '{:q}'.format(1) }}", "{{ '{:>5}'.format(none) }}", "{{ '{:>5}'.format(xs) }}", "{{ '{:.2d}'.format(1) }}", "{{ '{0[zz]}'.format(d) }}", "{{ '{0.nope}'.format(d) }}", "{{ '{!x}'.format(1) }}", "{{ '{:+}'.format('a') }}", "{{ '{:,}'.format('a') }}", "{{ '{:x}'.format(1.5) }}", "{{ '{'.format(1) }}", "{{ '{!}'.format(1) }}", "{{ '{0[}'.format(xs) }}", "{{ '{0[a}'.format(d) }}",
    "{% set ns = namespace(_a=1) %}", "{% set ns = namespace() %}{% set ns._a = 1 %}", "{{ 'abc' | truncate(1) }}", "{{ xs | slice(0) | list }}", "{{ people | groupby('nope') }}", "{{ d | groupby }}", "{{ xs | batch }}", "{{ 1 | truncate }}", "{% for g in people | groupby('age') %}{{ g.grouper }}:{{ g.list | length }}{% for k, v in [g] %}{{ k }}{% endfor %};{% endfor %}", "{% for row in range(5) | batch(2) %}{{ row | join('-') }};{% endfor %}",
    "{{ ('%s<' | safe) % '<' }}", "{{ ('<%s>' | safe) % ('&' | safe) }}", "{{ ('<' | safe).center(5, '*') }}", "{{ loop is defined }}{% for x in [1] %}{{ loop.nope is defined }}{% endfor %}",
    "a{%- if t %} b {%- endif +%}  c", "{%+ if t -%}  x  {%+ endif %}\n\ny", "  {{+ n }}", "{{- n +}}", "x {#- c #}  \n y", "x\n {#+ c +#} \n y", "{% raw -%}  a  {%- endraw %} b", "{%- raw +%} a {% endraw -%}\n b", "x\n\n  {%- set a = 1 -%}\n\n  y", "{% if t %}\r\n a\r\n{% endif %}\r\nb", "\u2028{%- if t %}x{% endif %}", "{% if t -%}\u00a0\u3000x{% endif %}",
    "{{ ((((((((((1)))))))))) }}{{ [[[[[]]]]] }}", "{{ 1.5.x }}", "{{ - 1 | abs }}{{ -1 | abs }}{{ (-1) | abs }}", "{{ 2 * 3 ~ 4 + 5 }}", "{{ 1 + 2 ~ 3 }}", "{{ not 1 == 2 }}", "{{ 'a' in 'abc' == true }}", "{{ 1 if 0 else 2 if 0 else 3 }}", "{{ n is not none and n is number }}", "{{ s is string | upper }}", "{{ s | length > 3 and 1 }}", "{{ 'x' ~ s | upper }}", "{{ 10 is divisibleby 5 and true }}", "{{ a.b is defined }}", "{{ d.q is defined }}{{ d.q.r is defined }}",
]

SNIPPETS = ["{{ [" + line + "] }}{{ (" + line + ") | first }}" if not line.startswith(("d.items(), ", "s.upper, ", "range(3), ")) else "{{ " + line + " }}" for line in EXPRESSIONS.split("\n")
           ] + FRAGMENTS
