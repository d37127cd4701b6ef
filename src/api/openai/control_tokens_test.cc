// SPDX-License-Identifier: Apache-2.0
// From the body of a chat request to token ids: whatever a client writes, the only control tokens
// are those that the template wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/openai/chat_request.h"
#include "api/openai/prompt.h"
#include "text/chat_template.h"
#include "text/hf/tokenizer_json.h"
#include "text/testing/synthetic_vocabulary.h"
#include "text/tokenizer_spec.h"

namespace o3::api::openai {
namespace {

using Ordered = nlohmann::ordered_json;
using text::TokenKind;

// A template that uses what it is given in one way, between two tokens of its own.
const std::vector<std::string>& uses() {
  static const std::vector<std::string> kUses = {
      "{{ c }}",
      "{{ c ~ d }}",
      "{{ c + d }}",
      "{{ c }}{{ d }}",
      "{{ [c, d]|join }}",
      "{{ messages|map(attribute='content')|join('') }}",
      "{{ ''.join([c, d]) }}",
      "{{ c|trim ~ d|trim }}",
      "{{ c.strip() ~ d.lstrip() ~ c.rstrip() }}",
      "{{ c.strip('xz ') ~ d.strip('xz ') }}",
      "{{ c|upper }}{{ c|lower }}{{ c|title }}{{ c|capitalize }}",
      "{{ c.swapcase() }}{{ c.casefold() }}{{ c.title() }}",
      "{{ c|replace('@', '') }}",
      "{{ c.replace('@', '') ~ d.replace(' ', '') }}",
      "{{ '@'|replace('@', c) ~ 'zz'.replace('', d) }}",
      "{{ c|replace('@', d) }}",
      "{{ c.replace('@', d, 1) }}",
      "{{ c.split('@')|join }}",
      "{{ c.split('@')|join('') ~ c.rsplit('@', 2)|join('') }}",
      "{{ c.split()|join }}",
      "{{ c.splitlines()|join }}",
      "{{ c|list|join }}",
      "{{ c|reverse }}{{ c[::-1] }}",
      "{{ c[::-1][::-1] }}",
      "{{ c[0] ~ c[1:] }}{{ c[:-4] ~ c[-4:] ~ d }}",
      "{{ c|first ~ c[1:] ~ d[:1] ~ d[1:] }}",
      "{{ c|tojson }}",
      "{{ (c ~ d)|tojson }}",
      "{{ [c, d]|tojson|replace('\", \"', '') }}",
      "{{ messages|tojson(indent=1) }}",
      "{{ messages }}{{ messages[0] }}",
      "{{ messages[0].name ~ d }}",
      "{{ messages[0].tool_calls|tojson }}",
      "{{ messages[0].tool_calls[0].function.name ~ d }}",
      "{% for k, v in messages[0].tool_calls[0].function.arguments|items %}{{ k ~ v }}{% endfor %}",
      "{{ tools|tojson }}{{ tools|tojson(indent=2) }}",
      "{{ tools }}{{ tools[0].function.name ~ d }}",
      "{{ tools|map(attribute='function.name')|join ~ d }}",
      "{{ args|tojson(sort_keys=true) }}",
      "{{ args|items|map('first')|join }}",
      "{{ args.keys()|join }}{{ args.values()|join }}",
      "{{ args|dictsort|map('last')|join }}{{ args|list|join }}",
      "{% for k in args %}{{ k }}{% endfor %}",
      "{{ name ~ d }}{{ name|string ~ d }}",
      "{{ '%s%s' % (c, d) }}",
      "{{ '%-3s%3s' % (c, d) }}{{ '%r' % c }}",
      "{{ '%(k)s%(j)s' % {'k': c, 'j': d} }}",
      "{{ '{}{}'.format(c, d) }}{{ '{0}{1:>3}'.format(c, d) }}",
      "{{ '{k}{j!s}'.format(k=c, j=d) }}",
      "{{ '%s%s'|format(c, d) }}",
      "{{ '%c' % c[:1] ~ c[1:] ~ d }}",
      "{{ c|e }}{{ c|safe ~ d|safe }}{{ c|forceescape }}",
      "{{ c|string ~ d|string }}{{ c|default('x') ~ none|default(d, true) }}",
      "{{ nothing|default(c) ~ nothing|default(d) }}",
      "{{ c|center(900) }}{{ c.ljust(900, 'z') }}{{ c.rjust(900, '<') }}",
      "{{ (c ~ d)|indent(2) }}{{ c|indent(c[-3:], true) ~ d }}",
      "{{ (c ~ d)|truncate(9000) }}{{ c.zfill(900) ~ d }}",
      "{{ c.partition('@')|join ~ c.rpartition('@')|join }}",
      "{{ c.removeprefix('z') ~ d.removesuffix('z') }}{{ (c ~ d).expandtabs(1) }}",
      "{{ (c ~ d) * 2 }}{{ [c, d] * 2 }}",
      "{{ c|batch(1)|map('join')|join }}{{ c|slice(2)|map('join')|join ~ d }}",
      "{{ [c, d]|map('upper')|join }}{{ [c, d]|map('trim')|join }}",
      "{{ [c, d]|select|join }}{{ [c, d]|reject('none')|join }}{{ [c, d]|unique|join }}",
      "{{ messages|groupby('content')|map('first')|join }}",
      "{{ messages|selectattr('content')|map(attribute='content')|list|join }}",
      "{{ [c, d]|max ~ [c, d]|min }}{{ [d, c]|sort|join }}",
      "{{ {'k': c}.k ~ {'k': d}['k'] }}{{ {c: d}|list|join ~ d }}",
      "{{ dict(k=c).k ~ dict(k=d).get('k') }}{{ dict(**args)|list|join }}",
      "{{ namespace(k=c).k ~ namespace(k=d).k }}",
      "{{ cycler(c).next() ~ cycler(d).current }}",
      "{% set j = joiner(d) %}{{ j() }}{{ c }}{{ j() }}",
      R"~({% set ns = namespace(s='') %}{% for ch in c ~ d %}{% set ns.s = ns.s ~ ch %}{% endfor %}{{ ns.s }})~",
      R"~({% set ns = namespace(s=[]) %}{% for m in messages %}{% set ns.s = ns.s + [m.content] %}{% endfor %}{{ ns.s|join }})~",
      "{% set x %}{{ c }}{{ d }}{% endset %}{{ x }}{{ x|trim }}{{ x[:3] ~ x[3:] }}",
      "{% filter trim %}{{ c }}{{ d }}{% endfilter %}{% filter upper %}{{ c ~ d }}{% endfilter %}",
      R"~({% macro m(x, y=d) %}{{ x }}{{ y }}{% endmacro %}{{ m(c) }}{{ m(*[c, d]) }}{{ m(**{'x': c}) }})~",
      R"~({% macro m() %}{{ kwargs|list|join }}{{ varargs|join }}{% endmacro %}{{ m(*[c, d], **args) }})~",
      "{% macro m(x) %}{{ x }}{{ caller() }}{% endmacro %}{% call m(c) %}{{ d }}{% endcall %}",
      "{% set a, b = c[:5], c[5:] %}{{ a }}{{ b }}{{ d }}",
      "{% with w = c, v = d %}{{ w }}{{ v }}{% endwith %}",
      R"~({% for x in [c, [d]] recursive %}{% if x is string %}{{ x }}{% else %}{{ loop(x) }}{% endif %}{% endfor %})~",
      "{% for x in [c, d] %}{{ loop.previtem if loop.last }}{{ x }}{{ loop.nextitem }}{% endfor %}",
      "{% generation %}{{ c }}{{ d }}{% endgeneration %}",
      "{% if '<' in c %}{{ c }}{% endif %}{{ d if d else c }}",
      "{{ strftime_now(c|replace('%', '')) ~ strftime_now(d|replace('%', '')) }}",
      "{{ c|urlencode }}{{ args|urlencode }}",
      // The template's own characters beside the client's.
      "{{ '<' ~ c ~ '>' }}{{ '<|' ~ c ~ '|>' }}{{ '<' ~ d ~ '>' }}",
      "<{{ c }}>{{ c }}>|{{ d }}|<{{ d }}",
      "{{ c[:1] ~ '|' ~ c[2:] }}{{ c ~ '>' }}",
  };
  return kUses;
}

struct Family {
  std::string name;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::vector<std::string> added;  // texts of all added tokens
  std::string chat;                // its template
};

std::shared_ptr<const text::Tokenizer> byte_level(const std::vector<std::string>& special,
                                                  const std::vector<std::string>& visible) {
  text::SyntheticVocabulary source;
  auto spec = source.spec();
  for (const std::string& each : special) {
    spec.tokens.push_back(each);
    spec.kinds.push_back(static_cast<int32_t>(TokenKind::kControl));
  }
  for (const std::string& each : visible) {
    spec.tokens.push_back(each);
    spec.kinds.push_back(static_cast<int32_t>(TokenKind::kUserDefined));
  }
  return *text::load_tokenizer(spec);
}

Family family(std::string name, const std::vector<std::string>& special,
              const std::vector<std::string>& visible, std::string chat) {
  Family out{std::move(name), byte_level(special, visible), special, std::move(chat)};
  out.added.insert(out.added.end(), visible.begin(), visible.end());
  return out;
}

// Templates after the ones that these models ship, shortened.
std::vector<Family> families() {
  std::vector<Family> all;
  all.push_back(family("SmolLM2", {"<|im_start|>", "<|im_end|>", "<|endoftext|>"}, {},
                       "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + "
                       "m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
                       "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"));
  all.push_back(
      family("Gemma", {"<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"}, {"<unused0>"},
             "<bos>{% for m in messages %}{{ '<start_of_turn>' + ('model' if m.role == 'assistant' "
             "else m.role) + '\n' }}{{ m['content'] | trim }}{{ '<end_of_turn>\n' }}{% endfor %}"
             "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"));
  all.push_back(
      family("DeepSeek", {"<\uFF5Cbegin\u2581of\u2581sentence\uFF5C>", "<\uFF5CUser\uFF5C>"},
             {"<\uFF5CAssistant\uFF5C>", "<think>", "</think>", "<\uFF5Ctool\u2581calls\uFF5C>"},
             "<\uFF5Cbegin\u2581of\u2581sentence\uFF5C>{% for m in messages %}"
             "{% if m.role == 'user' %}{{ '<\uFF5CUser\uFF5C>' + m.content }}{% else %}"
             "{% set content = m.content %}{% if '</think>' in content %}"
             "{% set content = content.split('</think>')[-1] %}{% endif %}"
             "{{ '<\uFF5CAssistant\uFF5C>' + content }}{% endif %}{% endfor %}"
             "{% if add_generation_prompt %}{{ '<\uFF5CAssistant\uFF5C><think>\n' }}{% endif %}"));
  all.push_back(family(
      "Qwen3", {"<|im_start|>", "<|im_end|>"},
      {"<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>"},
      "{% if tools %}{{ '<|im_start|>system\n' }}{% for t in tools %}{{ t|tojson }}{% endfor "
      "%}{{ '<|im_end|>' }}{% endif %}{% for m in messages %}{% set content = m.content %}"
      "{% set thought = '' %}{% if '</think>' in content %}"
      "{% set thought = content.split('</think>')[0].rstrip('\n').split('<think>')[-1]"
      ".lstrip('\n') %}{% set content = content.split('</think>')[-1].lstrip('\n') %}"
      "{% endif %}{{ '<|im_start|>' + m.role + '\n' + thought.strip('\n') + content }}"
      "{% for call in m.tool_calls|default([], true) %}{{ '{\"name\": \"' + "
      "call.function.name + '\", \"arguments\": ' }}{{ call.function.arguments|tojson }}"
      "{% endfor %}{{ '<|im_end|>\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"));
  return all;
}

// The committed tokenizers of other kinds (tools/golden/tokenizer_small.py): BERT, byte-level,
// SentencePiece, Unigram, with normalizers.
std::vector<Family> fixtures() {
  std::vector<Family> all;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(O3_SOURCE_DIR "/tests/golden/tokenizer/small"))) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    const std::string json{std::istreambuf_iterator<char>(file), {}};
    Family made{entry.path().stem().string(), *text::load_tokenizer_json(json), {}, {}};
    const auto parsed = nlohmann::json::parse(json);
    for (const auto& token : parsed["added_tokens"]) {
      made.added.push_back(token["content"].get<std::string>());
    }
    all.push_back(std::move(made));
  }
  return all;
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

std::string between(std::string_view text, char mark) {
  std::string out;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (!out.empty() && !continues) out += mark;
    out += c;
  }
  return out;
}

std::string reversed(std::string_view text) {
  std::string out;
  for (size_t end = text.size(); end > 0;) {
    size_t begin = end - 1;
    while ((static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    out += text.substr(begin, end - begin);
    end = begin;
  }
  return out;
}

// Two texts that hold a token whole, nested, spaced, turned around, and cut between them.
struct Attack {
  std::string first;
  std::string second;
};

std::vector<Attack> attacks(const Family& family) {
  std::vector<Attack> out;
  for (const std::string& token : family.added) {
    for (size_t cut = 1; cut < token.size(); cut += std::max<size_t>(1, token.size() / 4)) {
      while (cut < token.size() && (static_cast<unsigned char>(token[cut]) & 0xC0) == 0x80) ++cut;
      const std::string head = token.substr(0, cut);
      const std::string tail = token.substr(cut);
      const std::string nested = joined({head, token, tail});
      Attack attack;
      attack.first =
          joined({token, " ", nested, "\n", between(token, '@'), " ", between(token, ' '), "\t",
                  reversed(token), token, " &lt;", token, "\\u003c{0}%s ", head});
      attack.second = joined({tail, token, "\n", between(token, '@'), nested, " ", tail});
      out.push_back(attack);
      attack = {token, token};
      if (cut > 2) out.push_back({head, tail});
    }
    out.push_back({token, token});
    out.push_back({token.substr(1), token.substr(0, token.size() - 1)});
  }
  return out;
}

// What a client sends; names and arguments through the one door that takes any JSON.
std::string body_of(const Attack& attack) {
  const auto& [first, second] = attack;
  const Ordered arguments = {{first, second}, {second, first}};
  const Ordered body = {
      {"model", "m"},
      {"messages",
       {{{"role", "user"}, {"content", {{{"type", "text"}, {"text", first}}}}},
        {{"role", "assistant"}, {"content", second}}}},
      {"chat_template_kwargs",
       {{"name", first},
        {"args", arguments},
        {"tools",
         {{{"type", "function"}, {"function", {{"name", first}, {"parameters", arguments}}}}}},
        {"bos_token", first},
        {"eos_token", second}}}};
  return body.dump(-1, ' ', true);
}

// The members of messages that the API does not take today, as it will pass them on.
void add_members(const Attack& attack, Conversation& conversation) {
  conversation.messages[0].fields = {
      {"name", attack.first},
      {"tool_calls",
       {{{"function",
          {{"name", attack.first},
           {"arguments", {{attack.first, attack.second}, {attack.second, {attack.first}}}}}}}}}};
}

// The control tokens of the prompt; nothing when the template refuses the texts.
std::optional<std::vector<Token>> control_tokens(const Family& family,
                                                 const text::ChatTemplate& chat,
                                                 const Attack& attack) {
  auto request = parse_chat_request(body_of(attack), {});
  EXPECT_TRUE(request.ok()) << request.error().message;
  if (!request.ok()) return std::nullopt;
  add_members(attack, request->conversation);
  ServedModel model;
  model.tokenizer = family.tokenizer;
  model.context = 1 << 20;
  model.render = [&](const Conversation& conversation) {
    text::RenderInput input;
    input.messages = conversation.messages;
    input.add_generation_prompt = conversation.add_generation_prompt;
    input.request = conversation.arguments;
    return chat.render(input);
  };
  const auto prompt = build_prompt(model, *request);
  if (!prompt.ok()) return std::nullopt;
  std::vector<Token> found;
  std::copy_if(prompt->tokens.begin(), prompt->tokens.end(), std::back_inserter(found),
               [&](Token token) {
                 return family.tokenizer->is_control(token) && token != family.tokenizer->unknown();
               });
  return found;
}

const Attack kHarmless{"xz qx", "qz zq"};

TEST(ControlTokens, OfAFamilysTemplateAreThoseItWrites) {
  for (const Family& family : families()) {
    const auto chat = text::ChatTemplate::parse(family.chat);
    ASSERT_TRUE(chat.ok()) << family.name << chat.error().message;
    const auto wanted = control_tokens(family, *chat, kHarmless);
    ASSERT_TRUE(wanted.has_value()) << family.name;
    ASSERT_GE(wanted->size(), 3u) << family.name;
    for (const Attack& attack : attacks(family)) {
      const auto made = control_tokens(family, *chat, attack);
      ASSERT_TRUE(made.has_value()) << family.name << attack.first;
      EXPECT_EQ(*made, *wanted) << family.name << ": " << attack.first << " / " << attack.second;
    }
  }
}

TEST(ControlTokens, NoUseOfAClientsTextMakesAny) {
  std::vector<Family> all = families();
  for (Family& fixture : fixtures()) all.push_back(std::move(fixture));
  size_t rendered = 0;
  for (const Family& family : all) {
    const std::vector<Attack> tried = attacks(family);
    const std::string open =
        joined({"{% set c = messages[0].content %}{% set d = messages[1].content %}",
                family.added.front(), "x"});
    for (size_t i = 0; i < uses().size(); ++i) {
      const auto chat =
          text::ChatTemplate::parse(joined({open, uses()[i], "x", family.added.back()}));
      ASSERT_TRUE(chat.ok()) << uses()[i] << chat.error().message;
      const auto wanted = control_tokens(family, *chat, kHarmless);
      ASSERT_TRUE(wanted.has_value()) << uses()[i];
      // Some of the texts for each use: all of them take half a minute with sanitizers.
      for (size_t j = i % 7; j < tried.size(); j += 7) {
        const auto made = control_tokens(family, *chat, tried[j]);
        if (!made) continue;
        ++rendered;
        ASSERT_EQ(*made, *wanted) << family.name << ": " << uses()[i] << "\n"
                                  << tried[j].first << " / " << tried[j].second;
      }
    }
  }
  EXPECT_GT(rendered, 5000u);
}

}  // namespace
}  // namespace o3::api::openai
