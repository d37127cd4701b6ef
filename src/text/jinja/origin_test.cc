// SPDX-License-Identifier: Apache-2.0
// The origin of every character: whatever a template does with a message's text, those characters
// come out untrusted, and the template's own come out trusted.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "text/chat_template.h"
#include "text/jinja/tainted_string.h"
#include "text/jinja/unicode.h"

namespace o3::text {
namespace {

// Messages are written in Cyrillic and Han only, templates in ASCII only, so that the origin of an
// output character can be seen.
const std::vector<std::string> kContents = {"Привет мир", "да  нет", "ЖЁЛТЫЙ лист 日本", "к", ""};

class TemplateWriter {
 public:
  explicit TemplateWriter(uint32_t seed) : random_(seed) {}

  std::string expression(int depth) {
    if (depth == 0) return text();
    switch (random_() % 15) {
      case 9:
        return "({'k': [" + expression(depth - 1) + ", 1]}|tojson(indent=" + text() + "))";
      case 10:
        return "(('{:' ~ (" + text() + ")[:1] ~ '^9}{:' ~ (" + text() + ")[:1] ~ '>7}').format(" +
               expression(depth - 1) + ", 12))";
      case 4:
        return "('<{}|{}>'.format(" + expression(depth - 1) + ", " + text() + "))";
      case 5:
        return "('%s<%5s>%%' % (" + expression(depth - 1) + ", " + text() + "))";
      case 6:
        return "('{:*^9}|{!r:>7}|{k:.2}'.format(" + text() + ", " + text() +
               ", k=" + expression(depth - 1) + "))";
      case 7:
        return "('%(k)-9s%(k)r' % dict(**{'k': " + expression(depth - 1) + "}))";
      case 8:
        return "('{}{}'.format(*[" + expression(depth - 1) + ", " + text() + "]))";
      case 0:
        return "(" + expression(depth - 1) + " ~ " + expression(depth - 1) + ")";
      case 1:
        return "(" + expression(depth - 1) + " + " + text() + ")";
      case 2:
        return "(" + expression(depth - 1) + " if " + text() + " else " + expression(depth - 1) +
               ")";
      case 3:
        return "([" + expression(depth - 1) + ", " + text() + "]|join('-'))";
      default:
        return "(" + expression(depth - 1) + pick(steps_) + ")";
    }
  }

  std::string block(int depth) {
    const std::string inner = depth == 0 ? "{{ " + expression(2) + " }}" : block(depth - 1);
    const std::string value = expression(2);
    switch (random_() % 11) {
      case 7:
        return "{% for c in [" + value + ", ['q', " + value +
               "]] recursive %}{% if c is string %}({{ c }}){% else "
               "%}{{ loop(c)|upper }}{% endif %}{% endfor %}" +
               inner;
      case 8:
        return "{% macro k() %}{{ kwargs }}{{ varargs }}{% endmacro %}{{ k(*[" + value +
               "], **{'a': " + value + "}) }}{{ k(**names) }}" + inner;
      case 9:
        return "{% for g in conv|groupby('content') %}{{ g.grouper }}{{ "
               "g.list|map(attribute='content')|list }}{{ g.list|length }}"
               "{% endfor %}" +
               inner;
      case 0:
        return "{% for c in " + value + " %}[{{ c }}]{% endfor %}" + inner;
      case 1:
        return "{% set x = " + value + " %}{{ x }}" + inner + "{{ x }}";
      case 2:
        return "{% set x %}<" + inner + ">{% endset %}{{ x }}{{ x|upper }}";
      case 3:
        return "{% filter upper %}a" + inner + "{% endfilter %}";
      case 4:
        return "{% macro m(a) %}({{ a }}{{ caller() }}){% endmacro %}{% call m(" + value + ") %}" +
               inner + "{% endcall %}";
      case 5:
        return "{% set ns = namespace(v=" + value + ") %}{% set ns.v = ns.v ~ 'n' %}{{ ns.v }}" +
               inner;
      case 6:
        return "{% with w = {'k': [" + value +
               "]} %}{{ w.k[0] }}{{ w }}{{ w|tojson }}{% endwith %}" + inner;
      default:
        return inner + "{{ " + value + " }}";
    }
  }

 private:
  std::string pick(const std::vector<std::string>& from) { return from[random_() % from.size()]; }

  std::string text() {
    switch (random_() % 5) {
      case 0:
        return "'abc d'";
      case 1:
        return "bos_token";
      case 2:
        return "(conv|map(attribute='content')|join(';'))";
      default:
        return "conv[" + std::to_string(random_() % kContents.size()) + "].content";
    }
  }

  // Each keeps text as text.
  const std::vector<std::string> steps_ = {"|upper",
                                           "|e",
                                           "|safe + '<'",
                                           "|lower",
                                           "|title",
                                           "|capitalize",
                                           "|trim",
                                           "|string",
                                           "|safe",
                                           "|tojson",
                                           "|reverse",
                                           "|default('d', true)",
                                           "|indent(2, true)",
                                           "|replace('a', '<b>')",
                                           "|replace(conv[3].content, 'z')",
                                           "|replace('b', conv[0].content)",
                                           "|replace('', '.')",
                                           "|list|join(',')",
                                           "|list|string",
                                           "|first|default('q')",
                                           "|last|default('q')",
                                           "|list|sort|join",
                                           "|list|unique|join",
                                           "|trim('aП')",
                                           "[1:]",
                                           "[:-1]",
                                           "[::-1]",
                                           "[::2]",
                                           "[2:5]",
                                           "[0:1]",
                                           ".upper()",
                                           ".lower()",
                                           ".title()",
                                           ".capitalize()",
                                           ".swapcase()",
                                           ".strip()",
                                           ".lstrip()",
                                           ".rstrip()",
                                           ".strip('b')",
                                           ".split()|join('_')",
                                           ".split(' ')|join(bos_token)",
                                           ".rsplit('a', 1)|join('+')",
                                           ".splitlines()|join('/')",
                                           ".split(conv[3].content)|join('|')",
                                           ".replace('c', 'C', 1)",
                                           ".replace('', '^', 2)",
                                           ".partition(' ')|join('*')",
                                           ".rpartition('a')|string",
                                           ".removeprefix('a')",
                                           ".removesuffix(conv[3].content)",
                                           ".join(['x', 'y'])",
                                           " * 2",
                                           "|list|map('upper')|join",
                                           "|list|select('string')|join",
                                           "|list|max|default('m')",
                                           "|center(12)",
                                           ".center(9, '*')",
                                           ".ljust(9, conv[3].content or '-')",
                                           ".rjust(8)",
                                           ".zfill(7)",
                                           ".casefold()",
                                           ".expandtabs(2)",
                                           "|truncate(6, true, '!', 0)",
                                           "|truncate(9, false, conv[3].content)",
                                           "|batch(2)|map('join')|join('/')",
                                           "|batch(3, conv[3].content)|map('join')|join('/')",
                                           "|slice(2, 'z')|map('join')|join('+')",
                                           "|list|groupby(0)|map(attribute=1)|map('join')|join",
                                           "|forceescape",
                                           "|indent(conv[0].content, true)",
                                           "|indent(conv[3].content, true, true)",
                                           "|list|tojson(indent=conv[3].content)",
                                           "|list|tojson(indent=3)",
                                           "|list|tojson(separators=(conv[0].content, '='))",
                                           "|list|tojson(separators=[';', conv[1].content])",
                                           "|tojson(false, conv[2].content, ['', ''])",
                                           "|list|join(conv[2].content)",
                                           "|replace(' ', conv[1].content, 1)",
                                           "|replace('', conv[3].content)",
                                           "|default(conv[0].content, true)",
                                           "|center(13)",
                                           ".center(10, conv[3].content or '-')",
                                           ".rjust(10, conv[2].content[0])",
                                           ".ljust(11, '+')",
                                           ".replace('', conv[3].content)",
                                           ".strip(conv[0].content)",
                                           "|truncate(8, true, conv[3].content, 0)",
                                           "|slice(3, conv[3].content)|map('join')|join('+')",
                                           "|batch(4, conv[0].content)|map('join')|join('/')",
                                           "|list|map('center', 5)|join",
                                           "|format"};

  std::mt19937 random_;
};

// The conversation from the client, or (trusted) from the operator.
RenderInput input(bool trusted) {
  auto conv = nlohmann::ordered_json::array();
  for (const std::string& content : kContents) conv.push_back({{"content", content}});
  RenderInput in;
  in.variables = {{"bos_token", "<s>"}};
  (trusted ? in.variables : in.request)["conv"] = conv;
  (trusted ? in.variables : in.request)["names"] = {{"имя", "кто"}, {"日", "本"}};
  return in;
}

std::string text_of(const std::vector<Segment>& segments) {
  std::string text;
  for (const Segment& segment : segments) text += segment.text;
  return text;
}

TEST(Origin, EveryCharacterKeepsItsOwnThroughRandomTemplates) {
  int rendered = 0;
  size_t checked = 0;
  for (uint32_t seed = 0; seed < 900; ++seed) {
    // The steps hold one Cyrillic letter as a set of characters; it never reaches the output.
    const std::string source = TemplateWriter(seed).block(2);
    const auto parsed = ChatTemplate::parse(source);
    ASSERT_TRUE(parsed.ok()) << source << "\n" << parsed.error().message;
    const auto segments = parsed->render(input(false));
    const auto untracked = parsed->render(input(true));
    ASSERT_EQ(segments.ok(), untracked.ok()) << source;
    if (!segments.ok()) continue;
    ++rendered;
    ASSERT_EQ(text_of(*segments), text_of(*untracked)) << source;
    for (const Segment& segment : *segments) {
      for (size_t pos = 0; pos < segment.text.size();) {
        const char32_t c = jinja::next_code_point(segment.text, pos);
        // A blank may be from either side.
        ASSERT_TRUE(c == ' ' || segment.trusted == (c < 0x80)) << source << "\n" << segment.text;
        ++checked;
      }
    }
  }
  EXPECT_GT(rendered, 700);
  EXPECT_GT(checked, 20'000u);
}

std::string marked(const std::string& source, const RenderInput& in) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) return parsed.error().message;
  const auto segments = parsed->render(in);
  if (!segments.ok()) return segments.error().message;
  std::string out;
  for (const Segment& s : *segments) out += s.trusted ? s.text : "[" + s.text + "]";
  return out;
}

TEST(Origin, SegmentsAreCutAtEveryChangeOfOrigin) {
  RenderInput in;
  in.messages = {{"user", "a<|im_end|>b"}};
  in.variables = {{"bos_token", "<s>"}};
  in.request = {{"tools", {{{"n", 12}, {"ok", true}, {"none", nullptr}, {"f", 0.5}}}}};
  EXPECT_EQ(marked("{{ bos_token }}{{ messages[0].role }}:{{ messages[0].content }}!", in),
            "<s>[user]:[a<|im_end|>b]!");
  EXPECT_EQ(marked("{{ messages[0].content[1:5] + 'im_end|>' }}", in), "[<|im]im_end|>");
  EXPECT_EQ(marked("{{ messages[0].content.split('|')|join('|') }}", in), "[a<]|[im_end]|[>b]");
  EXPECT_EQ(marked("{{ messages[0].content|replace('im', 'IM') }}", in), "[a<|]IM[_end|>b]");
  EXPECT_EQ(marked("{{ messages[0].content|upper|length }}", in), "12");
  EXPECT_EQ(marked("{{ messages[0]|tojson }}", in),
            "{\"[role]\": \"[user]\", \"[content]\": \"[a<|im_end|>b]\"}");
  EXPECT_EQ(marked("{{ tools|tojson }}{{ tools[0].n + 1 }}{{ 1 }}", in),
            "[{\"[n]\": [12], \"[ok]\": [true], \"[none]\": [null], \"[f]\": [0.5]}][13]1");
}

TEST(Origin, NamesThatAMappingGivesKeepTheirOrigin) {
  RenderInput in;
  in.messages = {{"user", "hi"}};
  EXPECT_EQ(marked("{{ dict(a=1, **messages[0]) }}", in),
            "{'a': 1, '[role]': '[user]', '[content]': '[hi]'}");
  EXPECT_EQ(
      marked("{% macro m() %}{{ kwargs|list|join }}{% endmacro %}{{ m(b=1, **messages[0]) }}", in),
      "b[rolecontent]");
  EXPECT_EQ(marked("{{ namespace(**messages[0]) }}", in),
            "<Namespace {'[role]': '[user]', '[content]': '[hi]'}>");
  EXPECT_EQ(marked("{{ messages|map('items')|map('list')|list }}", in),
            "[[('[role]', '[user]'), ('[content]', '[hi]')]]");
}

TEST(Origin, FormatsKeepTheOriginOfBothSides) {
  RenderInput in;
  in.messages = {{"user", "[%s|%5d]{:*>4}"}};
  in.request = {{"n", 7}, {"w", "<x>"}};
  EXPECT_EQ(marked("{{ '%s<%04d>%c' % (w, n, 'é') }}", in), "[<x>]<000[7]>é");
  EXPECT_EQ(marked("{{ messages[0].content[:8] % ('a', 1) }}", in), "[[]a[|    1]]");
  EXPECT_EQ(marked("{{ messages[0].content[8:].format('b') }}", in), "[***]b");
  EXPECT_EQ(marked("{{ '{:>5}{:<5}'.format(w, n) }}", in), "  [<x>7]    ");
  EXPECT_EQ(marked("{{ w|urlencode }}{{ 'a b'|urlencode }}", in), "[%3Cx%3E]a%20b");
  EXPECT_EQ(marked("{{ '%c' % n }}", in), "[\a]");
  EXPECT_EQ(marked("{{ '%c' % (w|length + 57) }}{{ '{:c}'.format(60) }}", in), "[<<]");
}

TEST(Origin, IndentationOfJsonKeepsItsOwn) {
  RenderInput in;
  in.messages = {{"user", "<x>"}};
  const std::string x = "{% set x = messages[0].content %}";
  EXPECT_EQ(marked(x + "{{ [1, [2]]|tojson(indent=x) }}", in),
            "[\n[<x>]1,\n[<x>][\n[<x><x>]2\n[<x>]]\n]");
  EXPECT_EQ(marked(x + "{{ [1, 2]|tojson(indent='.' ~ x) }}", in), "[\n.[<x>]1,\n.[<x>]2\n]");
  EXPECT_EQ(marked(x + "{{ {'a': 1, 'b': 2}|tojson(separators=(x, x)) }}", in),
            "{\"a\"[<x>]1[<x>]\"b\"[<x>]2}");
  EXPECT_EQ(marked(x + "{{ 'a\nb'|indent(x, true) }}", in), "[<x>]a\n[<x>]b");
}

TEST(Origin, LineEndsKeepTheirOwnThroughIndent) {
  RenderInput in;
  in.messages = {{"user", "a\r\nb\u2028c"}};
  EXPECT_EQ(marked("{{ (messages[0].content ~ '\nd')|indent(1) }}", in), "[a\n] [b\n] [c]\n d");
  EXPECT_EQ(marked("{{ ('a\n' ~ messages[0].content)|indent(1) }}", in), "a\n [a\n] [b\n] [c]");
  EXPECT_EQ(
      marked("{{ 'a\n\n'|indent(1) }}|{{ ''|indent(1, true) }}|{{ 'a\n'|indent(2, true, true) }}",
             in),
      "a\n\n| |  a\n  ");
}

TEST(Origin, FormatSpecificationsFromContentAddContent) {
  RenderInput in;
  in.messages = {{"user", "<"}};
  in.request = {{"s", "*>5"}, {"c", "05d"}, {"r", "r"}, {"p", "%"}};
  const std::string x = "{% set x = messages[0].content %}";
  EXPECT_EQ(marked(x + "{{ ('{:' ~ x ~ '>4}').format('ab') }}", in), "[<<]ab");
  EXPECT_EQ(marked(x + "{{ ('{:' ~ x ~ '>4}').format(12) }}", in), "[<<]12");
  EXPECT_EQ(marked(x + "{{ ('{:' ~ x ~ '=+5}').format(12) }}", in), "+[<<]12");
  EXPECT_EQ(marked("{{ ('{:' ~ s ~ '}').format('ab') }}", in), "[***]ab");
  EXPECT_EQ(marked("{{ ('{:' ~ s ~ '}').format(12) }}", in), "[***12]");
  EXPECT_EQ(marked("{{ ('{:-' ~ s[1:] ~ '}').format('ab') }}", in), "---ab");
  EXPECT_EQ(marked("{{ ('{:' ~ c ~ '}').format(12) }}", in), "[00012]");
  EXPECT_EQ(marked("{{ ('%' ~ c) % 12 }}", in), "[00012]");
  EXPECT_EQ(marked("{{ (p ~ '05d') % 12 }}", in), "[00012]");
  EXPECT_EQ(marked("{{ ('{!' ~ r ~ '}').format('ab') }}{{ ('%' ~ r) % 'ab' }}", in), "['ab''ab']");
  EXPECT_EQ(marked("{{ ('%' ~ p) % () }}", in), "[%]");
}

TEST(Origin, WholeNumbersBeyond64BitsStayContent) {
  RenderInput in;
  in.raw_messages = nlohmann::ordered_json::array({18446744073709551615u, "99999999999999999999"});
  EXPECT_EQ(marked("{{ messages[0] }}|{{ messages[0] + 1 }}|{{ -(messages[1]|int) }}|"
                   "{{ messages|tojson }}|{{ 2 ** 64 }}",
                   in),
            "[18446744073709551615]|[18446744073709551616]|[-99999999999999999999]|"
            "[[18446744073709551615], \"[99999999999999999999]\"]|18446744073709551616");
}

TEST(Origin, NumbersReadFromContentStayContent) {
  RenderInput in;
  in.messages = {{"user", "42"}};
  EXPECT_EQ(marked("{{ messages[0].content|int }}|{{ messages[0].content|float * 2 }}|"
                   "{{ -(messages[0].content|int) }}",
                   in),
            "[42]|[84.0]|[-42]");
}

TEST(Origin, TheClientCannotReplaceTheOperatorsVariables) {
  RenderInput in;
  in.variables = {{"bos_token", "<s>"}};
  in.request = {{"bos_token", "<evil>"}, {"messages", "x"}, {"add_generation_prompt", "y"}};
  EXPECT_EQ(marked("{{ bos_token }}{{ messages }}{{ add_generation_prompt }}", in), "<s>[]True");
}

TEST(TaintedString, MergesSplitsAndFindsOrigins) {
  using jinja::Origin;
  using jinja::TaintedString;
  TaintedString text("ab", Origin::kTemplate);
  text.append("cd", Origin::kContent);
  text.append("ef", Origin::kContent);
  text.append("", Origin::kContent);
  text.append("gh", Origin::kTemplate);
  ASSERT_EQ(text.content_ranges().size(), 1u);
  EXPECT_EQ(text.origin_at(1), Origin::kTemplate);
  EXPECT_EQ(text.origin_at(2), Origin::kContent);
  EXPECT_EQ(text.origin_at(5), Origin::kContent);
  EXPECT_EQ(text.origin_at(6), Origin::kTemplate);
  const TaintedString middle = text.slice(1, 4);
  EXPECT_EQ(middle.text(), "bcd");
  EXPECT_EQ(middle.origin_at(0), Origin::kTemplate);
  EXPECT_EQ(middle.origin_at(1), Origin::kContent);
  TaintedString twice = middle;
  twice.append_slice(text, 3, 7);
  EXPECT_EQ(twice.text(), "bcddefg");
  ASSERT_EQ(twice.content_ranges().size(), 1u);
  EXPECT_EQ(twice.content_ranges()[0].end, 6u);
}

}  // namespace
}  // namespace o3::text
