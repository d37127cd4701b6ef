// SPDX-License-Identifier: Apache-2.0
#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <optional>

#include "base/testing/model_file.h"
#include "base/testing/small_stack.h"

namespace o3::text {
namespace {

using Json = nlohmann::ordered_json;

const Json& golden() {
  static const Json loaded = [] {
    std::ifstream file(O3_SOURCE_DIR "/tests/golden/chat_template/jinja2.json");
    return Json::parse(file);
  }();
  return loaded;
}

std::string text_of(const std::vector<Segment>& segments) {
  std::string text;
  for (const Segment& segment : segments) text += segment.text;
  return text;
}

// Text, or nothing when parse or render refuses; `error` then says why.
std::optional<std::string> rendered(const std::string& source, const RenderInput& input,
                                    std::string& error) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) {
    error = parsed.error().message;
    return std::nullopt;
  }
  const auto segments = parsed->render(input);
  if (!segments.ok()) {
    error = segments.error().message;
    return std::nullopt;
  }
  return text_of(*segments);
}

ChatMessage message_from(const Json& json) {
  ChatMessage message;
  message.fields = Json::object();
  for (const auto& [key, value] : json.items()) {
    if (key == "role") {
      message.role = value.get<std::string>();
    } else if (key == "content" && value.is_string()) {
      message.content = value.get<std::string>();
    } else {
      message.fields[key] = value;
    }
  }
  return message;
}

RenderInput conversation(const std::string& name) {
  const Json& json = golden()["conversations"][name];
  RenderInput input;
  for (const Json& message : json["messages"]) input.messages.push_back(message_from(message));
  input.request = json["request"];
  input.add_generation_prompt = json["add_generation_prompt"].get<bool>();
  input.variables = golden()["tokens"];
  input.local_time = std::chrono::seconds(golden()["local_time"].get<int64_t>());
  return input;
}

std::optional<std::string> expected(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<std::string>();
}

TEST(ChatTemplateGolden, ConversationsRenderAsJinja2Does) {
  for (const Json& chat : golden()["chats"]) {
    const auto name = chat["template"].get<std::string>();
    SCOPED_TRACE(name + " / " + chat["conversation"].get<std::string>());
    std::string error;
    const auto text = rendered(golden()["templates"][name].get<std::string>(),
                               conversation(chat["conversation"].get<std::string>()), error);
    EXPECT_EQ(text, expected(chat["text"])) << error;
  }
}

TEST(ChatTemplateGolden, SnippetsRenderAsJinja2Does) {
  RenderInput input;
  input.messages = {{.role = "user", .content = "Hi there"}};
  input.variables = golden()["tokens"];
  input.variables.update(golden()["variables"]);
  input.local_time = std::chrono::seconds(golden()["local_time"].get<int64_t>());
  for (const Json& snippet : golden()["snippets"]) {
    SCOPED_TRACE(snippet["source"].get<std::string>());
    std::string error;
    EXPECT_EQ(rendered(snippet["source"].get<std::string>(), input, error),
              expected(snippet["text"]))
        << error;
  }
}

// The template of the default model, read from its GGUF file.
std::optional<std::string> model_template() {
  std::ifstream file(o3::testing::model_file(), std::ios::binary);
  if (!file) return std::nullopt;
  std::string head(4u << 20, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  const std::string key = "tokenizer.chat_template";
  const size_t at = head.find(key) + key.size() + 4;
  uint64_t length = 0;
  std::memcpy(&length, head.data() + at, sizeof(length));
  return head.substr(at + sizeof(length), length);
}

TEST(ChatTemplateGolden, TheDefaultModelsTemplateRendersAsJinja2Does) {
  const auto source = model_template();
  if (!source) GTEST_SKIP() << "the default model's file is not there; ./dev fetches it";
  for (const Json& chat : golden()["smollm2"]) {
    SCOPED_TRACE(chat["conversation"].get<std::string>());
    std::string error;
    const auto text =
        rendered(*source, conversation(chat["conversation"].get<std::string>()), error);
    EXPECT_EQ(text, expected(chat["text"])) << error;
  }
}

Error refusal(const std::string& source, const RenderInput& input = {},
              const RenderLimits& limits = {}) {
  const auto parsed = ChatTemplate::parse(source);
  if (!parsed.ok()) return parsed.error();
  const auto segments = parsed->render(input, limits);
  if (!segments.ok()) return segments.error();
  ADD_FAILURE() << "rendered: " << text_of(*segments);
  return {};
}

TEST(ChatTemplate, NamesWhatItLacksWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\n{{ 1 | wordwrap }}", "line 2: the filter 'wordwrap' is not supported"},
      {"\n\n{{ 1 is prime }}", "line 3: the test 'prime' is not supported"},
      {"{% if 1 %}\n{{ 1 | urlize }}{% endif %}", "line 2: the filter 'urlize' is not supported"},
      {"{{ 1 if 1 is prime }}", "line 1: the test 'prime' is not supported"},
      {"{% if 0 %}{% for x in y %}{{ 1|pprint }}{% endfor %}{% endif %}",
       "line 1: the filter 'pprint' is not supported"},
      {"{% include 'x' %}", "line 1: the tag 'include' is not supported"},
      {"\n{{ 'a'.encode() }}", "line 2: the method 'encode' is not supported"},
      {"\n{{ '{:{}}'.format(1, 2) }}", "line 2: format: fields within a field are not supported"},
      {"{{ lipsum() }}", "line 1: the function 'lipsum' is not supported"},
      {"{{ 99999999999999999999 / 2 }}",
       "line 1: fractions of integers beyond 64 bits are not supported"},
      {"{{ 2 ** 127 }}", "line 1: arithmetic with integers beyond 128 bits is not supported"},
      {"{{ 0xFFFFFFFFFFFFFFFFFF }}",
       "line 1: integers beyond 64 bits are supported in base 10 only"},
      {"{{ '%.5d' % 1 }}", "line 1: a precision for whole numbers is not supported in %"},
      {"{{ x[1:2, 3] }}", "line 1: slices among several values in a subscript are not supported"},
  };
  for (const auto& [source, message] : cases) {
    const Error error = refusal(source);
    EXPECT_EQ(error.code, Code::kUnsupported) << source;
    EXPECT_EQ(error.message, std::string("chat template ") + message);
    EXPECT_EQ(error.param, "chat_template");
  }
}

TEST(ChatTemplate, RaiseExceptionGivesItsMessageAlone) {
  const Error error = refusal(
      "{% if true %}\n{{ raise_exception('Roles must ' ~ 'alternate') }}"
      "{% endif %}");
  EXPECT_EQ(error.code, Code::kInvalid);
  EXPECT_EQ(error.message, "Roles must alternate");
  EXPECT_EQ(error.param, "messages");
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// As jinja2 has it: names are looked up in a dict.
TEST(ChatTemplate, TestsOfNamesAndIdentity) {
  std::string error;
  EXPECT_EQ(rendered("{{ 'upper' is filter }}{{ 1 is filter }}{{ none is test }}{{ (1,) is test }}",
                     {}, error),
            "TrueFalseFalseFalse");
  EXPECT_NE(refusal("{{ [1] is filter }}").message.find("unhashable type: 'list'"),
            std::string::npos);
  EXPECT_NE(refusal("{{ {} is test }}").message.find("unhashable type: 'dict'"), std::string::npos);
  EXPECT_NE(refusal("{{ ([],) is test }}").message.find("unhashable"), std::string::npos);
  EXPECT_EQ(rendered("{{ 1 is sameas(1) }}{{ 1 is sameas(true) }}{{ [] is sameas(none) }}"
                     "{{ none is sameas(none) }}{{ 1 is sameas(1.0) }}{{ 300 is sameas(301) }}",
                     {}, error),
            "TrueFalseFalseTrueFalseFalse");
  EXPECT_NE(refusal("{{ [] is sameas([]) }}").message.find("sameas"), std::string::npos);
  EXPECT_NE(refusal("{{ [] | attr(1) }}").message.find("attr"), std::string::npos);
}

std::string trusted_text(const RenderInput& input) {
  const auto parsed = ChatTemplate::parse(
      "{% for m in messages %}{{ m.role }}:{{ m.content }}{{ m.name }};{% endfor %}");
  const auto segments = parsed->render(input);
  if (!segments.ok()) return segments.error().message;
  std::string out;
  for (const Segment& segment : *segments) {
    if (segment.trusted) out += segment.text;
  }
  return out;
}

TEST(ChatTemplate, AnAssistantsContentMayBeTrusted) {
  RenderInput input;
  input.messages = {{.role = "system", .content = "<s>"},
                    {.role = "user", .content = "<u>"},
                    {.role = "assistant", .content = "<a>", .fields = {{"name", "<n>"}}},
                    {.role = "assistant", .content = "", .fields = {{"content", {"<p>"}}}},
                    {.role = "Assistant", .content = "<x>"}};
  EXPECT_EQ(trusted_text(input), ":;:;:;:[''];:;");
  input.trust_assistant = true;
  EXPECT_EQ(trusted_text(input), ":;:;:<a>;:['<p>'];:;");
}

TEST(ChatTemplate, HostileTemplatesEndInAnError) {
  constexpr int kDeep = 100'000;
  constexpr int kLong = 60'000;  // of more bytes each; a template may have 1 MiB
  const std::string sources[] = {
      "{{ " + repeated("(", kDeep) + "1" + repeated(")", kDeep) + " }}",
      "{{ " + repeated("[", kDeep) + repeated("]", kDeep) + " }}",
      "{{ " + repeated("{1:", kDeep) + "1" + repeated("}", kDeep) + " }}",
      "{{ " + repeated("not ", kDeep) + "1 }}",
      "{{ " + repeated("-", kDeep) + "1 }}",
      "{{ 1" + repeated("|abs", kDeep) + " }}",
      "{{ x" + repeated(".a", kDeep) + " }}",
      "{{ x" + repeated("[0]", kDeep) + " }}",
      "{{ x" + repeated("()", kDeep) + " }}",
      "{{ 1" + repeated(" if 1 else 1", kLong) + " }}",
      "{{ 1" + repeated(" is not none", kLong) + " }}",
      repeated("{% if 1 %}", kDeep),
      repeated("{% for x in y %}", kLong),
      "{% for " + repeated("(", kDeep) + "x in y %}",
      "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
      "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{% for x in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}",
      "{% set ns = namespace() %}{% for x in [1] recursive %}{% set ns.l = loop %}{% endfor %}{{ "
      "ns.l([1]) }}",
      "{{ '%999999999d' % 1 }}",
      "{{ '%*s' % (999999999999999999, '') }}",
      "{{ '{:>999999999}'.format(1) }}",
      "{{ '{:.999999999f}'.format(1) }}",
      "{{ ''.center(999999999999) }}{{ ''.zfill(999999999999) }}",
      "{{ '\t'.expandtabs(9223372036854775807) }}",
      "{{ [1]|batch(9223372036854775807, 0)|list }}",
      "{{ []|slice(9223372036854775807)|list }}",
      "{{ 2 ** 99999999999999999999 }}",
      "{{ 99999999999999999999 * 99999999999999999999 }}",
      "{{ dict(*range(100000)) }}",
      "{{ 'a'|truncate(-1) }}",
      R"({% set ns = namespace(x=[]) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}
         {% endfor %}{{ ns.x }})",
      "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}",
      R"({% set ns = namespace(s='x') %}{% for i in range(64) %}{% set ns.s = ns.s + ns.s %}
         {% endfor %})",
      "{{ 'x' * 1000000000000 }}",
      "{{ [0] * 1000000000000 }}",
      "{{ 'x'|replace('', 'y' * 100000)|replace('y', 'z' * 100000) }}",
      "{{ range(99999)|list * 1000 }}",
      "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
      "{{ [1]|tojson(indent=10000000000) }}",
      R"({{ ('a' * 1000000).find('a' * 500000 ~ 'b') }}{{ ('ab' * 500000).rfind('ba' * 9999) }}
         {{ ('a' * 1000000).rsplit('a' * 50000 ~ 'b') }})",
      std::string(kDeep * 20, ' ') + "{% if 1 %}",
      "{{ 1 " + repeated("+ 1", kDeep) + "+ }}",
  };
  testing::with_stack(testing::kSmallStack, [&] {
    for (const std::string& source : sources) {
      SCOPED_TRACE(source.substr(0, 60));
      EXPECT_FALSE(refusal(source, {}, {.steps = 500'000}).message.empty());
    }
  });
}

TEST(ChatTemplate, LongChainsAreNotDeep) {
  std::string error;
  const std::string sum = "{{ 1" + repeated(" + 1", 9999) + " }}";
  EXPECT_EQ(rendered(sum, {}, error), "10000") << error;
  const std::string text = "{{ 'a'" + repeated(" ~ 'a'", 999) + " }}";
  EXPECT_EQ(rendered(text, {}, error), std::string(1000, 'a')) << error;
  const std::string branches = "{% if 0 %}" + repeated("{% elif 0 %}", 9999) + "{% endif %}";
  EXPECT_EQ(rendered(branches, {}, error), "") << error;
}

TEST(ChatTemplate, LimitsAreStated) {
  RenderInput input;
  input.messages = {{.role = "user", .content = std::string(1000, 'x')}};
  const std::string source = "{{ messages[0].content }}";
  EXPECT_EQ(refusal(source, input, {.output_bytes = 999}).code, Code::kTooLong);
  EXPECT_EQ(refusal(source, input, {.steps = 50}).code, Code::kTooLong);
  EXPECT_EQ(refusal("{% if 1 %}{% if 1 %}x{% endif %}{% endif %}", {}, {.depth = 2}).code,
            Code::kTooLong);
  Json nested = "leaf";
  for (int i = 0; i < 200; ++i) nested = Json::array({nested});
  input.messages[0].fields = {{"deep", nested}};
  EXPECT_EQ(refusal(source, input).code, Code::kTooLong);
}

TEST(ChatTemplate, IllFormedUtf8IsRepaired) {
  RenderInput input;
  input.messages = {{.role = "user", .content = "a\xFF\xE4\xB8z"}};
  std::string error;
  EXPECT_EQ(rendered("{{ messages[0].content }}{{ messages[0].content|length }}", input, error),
            "a\xEF\xBF\xBD\xEF\xBF\xBDz4");
  EXPECT_EQ(ChatTemplate::parse("\xFF").error().code, Code::kInvalid);
}

}  // namespace
}  // namespace o3::text
