// SPDX-License-Identifier: Apache-2.0
#include "api/openai/chat_request.h"

#include <gtest/gtest.h>

#include "api/api_error.h"
#include "api/openai/prompt.h"
#include "api/testing/fake_text.h"

namespace o3::api::openai {
namespace {

std::string body(const std::string& more) {
  return R"({"model":"m","messages":[{"role":"user","content":"hi"}])" +
         (more.empty() ? "" : "," + more) + "}";
}
std::string messages(const std::string& list) {
  return R"({"model":"m","messages":)" + list + "}";
}

Error refused(const std::string& text, bool strict = false) {
  auto parsed = parse_chat_request(text, {.strict = strict});
  if (!parsed.ok()) return parsed.error();
  ADD_FAILURE() << "accepted: " << text;
  return {};
}
ChatRequest accepted(const std::string& text) {
  auto parsed = parse_chat_request(text, {});
  EXPECT_TRUE(parsed.ok()) << text << ": " << (parsed.ok() ? "" : parsed.error().message);
  return parsed.ok() ? *std::move(parsed) : ChatRequest{};
}

TEST(ChatRequest, DefaultsAreOpenAis) {
  const ChatRequest request = accepted(body(""));
  EXPECT_EQ(request.model, "m");
  ASSERT_EQ(request.conversation.messages.size(), 1U);
  EXPECT_EQ(request.conversation.messages[0].role, "user");
  EXPECT_EQ(request.conversation.messages[0].content, "hi");
  EXPECT_EQ(request.sampling.temperature, 1.0F);
  EXPECT_EQ(request.sampling.top_p, 1.0F);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_FALSE(request.max_tokens || request.seed || request.stream || request.include_usage);
  EXPECT_EQ(request.format, AnswerFormat::kText);
}

TEST(ChatRequest, ReadsEveryHonouredField) {
  const ChatRequest request = accepted(
      body(R"("temperature":0,"top_p":0.5,"top_k":40,"seed":-3,"stop":["a","b"],"max_tokens":9,)"
           R"("ignore_eos":false,"max_completion_tokens":5,"stream":true,)"
           R"("stream_options":{"include_usage":true},"response_format":{"type":"text"})"));
  EXPECT_EQ(request.sampling.temperature, 0.0F);
  EXPECT_EQ(request.sampling.top_p, 0.5F);
  EXPECT_EQ(request.sampling.top_k, 40);
  EXPECT_EQ(request.seed, static_cast<uint64_t>(-3));
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.max_tokens, 5) << "max_completion_tokens wins";
  EXPECT_TRUE(request.stream && request.include_usage);
  EXPECT_EQ(request.format, AnswerFormat::kText);
  EXPECT_EQ(accepted(body(R"("stop":[],"response_format":{"type":"json_object"})")).format,
            AnswerFormat::kJsonObject);
  EXPECT_EQ(accepted(body(R"("stop":"x")")).stop, std::vector<std::string>{"x"});
  EXPECT_EQ(accepted(body(R"("max_completion_tokens":5,"max_tokens":9)")).max_tokens, 5);
  EXPECT_EQ(accepted(body(R"("top_k":-1)")).sampling.top_k, 0);
  EXPECT_TRUE(accepted(body(R"("ignore_eos":true)")).ignore_eos);
}

TEST(ChatRequest, NullMeansNotSet) {
  accepted(
      body(R"("temperature":null,"stop":null,"tools":null,"response_format":null,"seed":null,)"
           R"("stream":null,"stream_options":null,"logprobs":null,"n":null,"logit_bias":null)"));
}

TEST(ChatRequest, ContentIsTextOrTextParts) {
  const auto content = [](const std::string& value) {
    return messages(R"([{"role":"user","content":)" + value + "}]");
  };
  EXPECT_EQ(accepted(content(R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])"))
                .conversation.messages[0]
                .content,
            "a\nb");
  EXPECT_EQ(accepted(content(R"("")")).conversation.messages[0].content, "");
  EXPECT_EQ(refused(content(R"([{"type":"image_url","image_url":{"url":"x"}}])")).param,
            "messages[0].content[0].type");
  EXPECT_EQ(refused(content("7")).param, "messages[0].content");
  EXPECT_EQ(refused(content("[]")).param, "messages[0].content");
  EXPECT_EQ(refused(content("null")).param, "messages[0].content");
  EXPECT_EQ(refused(content(R"([{"type":"text"}])")).param, "messages[0].content[0].text");
  EXPECT_EQ(refused(content(R"([{"text":"x"}])")).param, "messages[0].content[0].type");
}

TEST(ChatRequest, MessagesAreChecked) {
  EXPECT_EQ(
      accepted(messages(R"([{"role":"developer","content":"x"}])")).conversation.messages[0].role,
      "system");
  // As the official client sends an answer back.
  accepted(messages(R"([{"role":"assistant","content":"x","refusal":null,"annotations":[],)"
                    R"("audio":null,"function_call":null,"tool_calls":null}])"));
  EXPECT_EQ(refused(messages("[]")).param, "messages");
  EXPECT_EQ(refused(messages(R"("hi")")).param, "messages");
  EXPECT_EQ(refused(messages(R"(["hi"])")).param, "messages[0]");
  EXPECT_EQ(refused(messages(R"([{"content":"x"}])")).param, "messages[0].role");
  EXPECT_EQ(refused(messages(R"([{"role":"user"}])")).param, "messages[0].content");
  const std::string good = R"({"role":"user","content":"x"})";
  EXPECT_EQ(refused(messages("[" + good + R"(,{"role":"robot","content":"x"}])")).param,
            "messages[1].role");
  EXPECT_EQ(refused(messages(R"([{"role":"tool","content":"x"}])")).code, Code::kUnsupported);
  EXPECT_EQ(refused(messages(R"([{"role":"user","content":"x","name":"bob"}])")).param,
            "messages[0].name");
  EXPECT_EQ(
      refused(messages(R"([{"role":"assistant","content":"x","tool_calls":[{"id":"1"}]}])")).param,
      "messages[0].tool_calls");
  EXPECT_EQ(refused(R"({"messages":[]})").param, "model");
  EXPECT_EQ(refused(R"({"model":"m"})").param, "messages");
  EXPECT_EQ(refused(R"({"model":7,"messages":[]})").param, "model");
}

struct Bad {
  const char* field;
  const char* param;
};

TEST(ChatRequest, ValuesOutOfRangeNameTheirField) {
  for (const Bad bad : {
           Bad{R"("temperature":-0.1)", "temperature"},
           Bad{R"("temperature":2.1)", "temperature"},
           Bad{R"("temperature":"1")", "temperature"},
           Bad{R"("temperature":1e400)", "temperature"},
           Bad{R"("temperature":true)", "temperature"},
           Bad{R"("top_p":0)", "top_p"},
           Bad{R"("top_p":-0)", "top_p"},
           Bad{R"("top_p":1.01)", "top_p"},
           Bad{R"("top_k":-2)", "top_k"},
           Bad{R"("top_k":1.5)", "top_k"},
           Bad{R"("top_k":99999999999)", "top_k"},
           Bad{R"("max_tokens":0)", "max_tokens"},
           Bad{R"("max_tokens":-0)", "max_tokens"},
           Bad{R"("max_tokens":-5)", "max_tokens"},
           Bad{R"("max_tokens":16.0)", "max_tokens"},
           Bad{R"("max_tokens":"16")", "max_tokens"},
           Bad{R"("max_tokens":18446744073709551615)", "max_tokens"},
           Bad{R"("max_tokens":99999999999999999999999)", "max_tokens"},
           Bad{R"("max_tokens":1e3)", "max_tokens"},
           Bad{R"("max_completion_tokens":0)", "max_completion_tokens"},
           Bad{R"("seed":9223372036854775808)", "seed"},
           Bad{R"("seed":1.0)", "seed"},
           Bad{R"("seed":"a")", "seed"},
           Bad{R"("stop":"")", "stop"},
           Bad{R"("stop":["a",""])", "stop[1]"},
           Bad{R"("stop":["a",1])", "stop[1]"},
           Bad{R"("stop":["1","2","3","4","5"])", "stop"},
           Bad{R"("stop":{"a":1})", "stop"},
           Bad{R"("ignore_eos":1)", "ignore_eos"},
           Bad{R"("n":0)", "n"},
           Bad{R"("n":65)", "n"},
           Bad{R"("min_p":1.1)", "min_p"},
           Bad{R"("typical_p":0)", "typical_p"},
           Bad{R"("repetition_penalty":0)", "repetition_penalty"},
           Bad{R"("repeat_penalty":"1")", "repeat_penalty"},
           Bad{R"("presence_penalty":2.1)", "presence_penalty"},
           Bad{R"("frequency_penalty":-2.1)", "frequency_penalty"},
           Bad{R"("min_tokens":-1)", "min_tokens"},
           Bad{R"("min_tokens":9,"max_tokens":8)", "min_tokens"},
           Bad{R"("logprobs":5)", "logprobs"},
           Bad{R"("top_logprobs":2)", "top_logprobs"},
           Bad{R"("logprobs":false,"top_logprobs":2)", "top_logprobs"},
           Bad{R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
           Bad{R"("prompt_logprobs":1,"stream":true)", "prompt_logprobs"},
           Bad{R"("logit_bias":[1])", "logit_bias"},
           Bad{R"("logit_bias":{"a":1})", "logit_bias"},
           Bad{R"("logit_bias":{"-1":1})", "logit_bias"},
           Bad{R"("logit_bias":{"1":101})", "logit_bias.1"},
           Bad{R"("logit_bias":{"1":"x"})", "logit_bias.1"},
           Bad{R"("stop_token_ids":5)", "stop_token_ids"},
           Bad{R"("stop_token_ids":[-1])", "stop_token_ids[0]"},
           Bad{R"("bad_words":"x")", "bad_words"},
           Bad{R"("bad_words":["x",""])", "bad_words[1]"},
           Bad{R"("skip_special_tokens":0)", "skip_special_tokens"},
           Bad{R"("continue_final_message":true,"add_generation_prompt":true)",
               "continue_final_message"},
           Bad{R"("chat_template_kwargs":[])", "chat_template_kwargs"},
           Bad{R"("chat_template_kwargs":{"messages":[]})", "chat_template_kwargs"},
           Bad{R"("stream":true,"stream_options":{"continuous_usage_stats":"x"})",
               "stream_options.continuous_usage_stats"},
           Bad{R"("stream":"true")", "stream"},
           Bad{R"("stream":1)", "stream"},
           Bad{R"("stream_options":{"include_usage":true})", "stream_options"},
           Bad{R"("stream":true,"stream_options":7)", "stream_options"},
           Bad{R"("stream":true,"stream_options":{"include_usage":1})",
               "stream_options.include_usage"},
           Bad{R"("response_format":"json_object")", "response_format"},
           Bad{R"("response_format":{})", "response_format"},
           Bad{R"("response_format":{"type":"xml"})", "response_format.type"},
           Bad{R"("response_format":{"type":"json_schema","json_schema":{}})",
               "response_format.type"},
           Bad{R"("response_format":{"type":"json_object","schema":{}})", "response_format"},
       }) {
    const Error error = refused(body(bad.field));
    EXPECT_EQ(error.param, bad.param) << bad.field;
    EXPECT_NE(error.message.find(bad.param), std::string::npos)
        << bad.field << ": " << error.message;
    EXPECT_EQ(api_error(error).status, 400);
  }
  EXPECT_EQ(refused(body(R"("stop":")" + std::string(513, 'x') + "\"")).param, "stop");
}

TEST(ChatRequest, KnownButUnsupportedFieldsAreRefusedByNameUnlessTheyAskForNothing) {
  for (const char* field :
       {R"("tools":[])", R"("tools":[{"type":"function"}])", R"("store":true)",
        R"("modalities":["text","audio"])", R"("audio":{})", R"("reasoning_effort":"low")",
        R"("functions":[])", R"("previous_response_id":"x")", R"("tool_choice":"auto")",
        R"("guided_json":{})", R"("prompt":"x")", R"("suffix":"x")", R"("best_of":2)",
        R"("truncate_prompt_tokens":5)", R"("return_token_ids":true)"}) {
    const std::string name(field + 1, std::string_view(field).find('"', 1) - 1);
    const Error error = refused(body(field));
    EXPECT_EQ(error.code, Code::kUnsupported) << field;
    EXPECT_EQ(error.param, name);
    EXPECT_NE(error.message.find(name), std::string::npos);
  }
  const ChatRequest request =
      accepted(body(R"("store":false,"modalities":["text"],"tool_choice":"none","suffix":null)"));
  EXPECT_EQ(request.unknown_count, 0U);
}

TEST(ChatRequest, EverySamplingFieldArrives) {
  const ChatRequest request = accepted(
      body(R"("min_p":0.25,"typical_p":0.5,"repetition_penalty":1.5,"presence_penalty":-1,)"
           R"("frequency_penalty":0.5,"min_tokens":3,"n":4,"logprobs":true,"top_logprobs":5,)"
           R"("prompt_logprobs":2,"logit_bias":{"7":-100,"12":1.5},"stop_token_ids":[5,6],)"
           R"("bad_words":["x"],"include_stop_str_in_output":true,"skip_special_tokens":false,)"
           R"("echo":true,"chat_template_kwargs":{"title":"T"},"add_generation_prompt":false)"));
  EXPECT_EQ(request.sampling.min_p, 0.25F);
  EXPECT_EQ(request.sampling.typical_p, 0.5F);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.5F);
  EXPECT_EQ(request.sampling.presence_penalty, -1.0F);
  EXPECT_EQ(request.sampling.frequency_penalty, 0.5F);
  EXPECT_EQ(request.sampling.min_tokens, 3);
  EXPECT_EQ(request.n, 4);
  EXPECT_EQ(request.logprobs, 5);
  EXPECT_EQ(request.prompt_logprobs, 2);
  ASSERT_EQ(request.sampling.bias.size(), 2U);
  EXPECT_EQ(request.sampling.bias[0].token, 12) << "in the order of the text";
  EXPECT_EQ(request.sampling.bias[1].bias, -100.0F);
  EXPECT_EQ(request.stop_token_ids, (std::vector<Token>{5, 6}));
  EXPECT_EQ(request.bad_words, std::vector<std::string>{"x"});
  EXPECT_TRUE(request.include_stop && !request.skip_special_tokens && request.echo);
  EXPECT_EQ(request.conversation.arguments["title"], "T");
  EXPECT_FALSE(request.conversation.add_generation_prompt);
  EXPECT_EQ(request.unknown_count, 0U);
  EXPECT_EQ(accepted(body(R"("repeat_penalty":1.25)")).sampling.repetition_penalty, 1.25F);
  EXPECT_FALSE(accepted(body(R"("logprobs":false,"top_logprobs":0)")).logprobs);
  EXPECT_EQ(accepted(body(R"("logprobs":true)")).logprobs, 0);
  EXPECT_FALSE(
      accepted(body(R"("continue_final_message":true)")).conversation.add_generation_prompt);
}

TEST(ChatRequest, JsonObjectGoesWithStopAndIgnoreEos) {
  const ChatRequest request =
      accepted(body(R"("ignore_eos":true,"stop":"}","response_format":{"type":"json_object"})"));
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(request.format, AnswerFormat::kJsonObject);
}

TEST(ChatRequest, FieldsWithoutEffectAreAccepted) {
  const ChatRequest request = accepted(
      body(R"("user":"u","metadata":{"a":"b"},"service_tier":"auto","safety_identifier":"s",)"
           R"("prompt_cache_key":"k","store":false)"));
  EXPECT_EQ(request.unknown_count, 0U);
}

TEST(ChatRequest, UnknownFieldsAreNamedOrRefused) {
  const ChatRequest request = accepted(body(R"("zeta":1,"al\r\npha, b":{"x":1})"));
  EXPECT_EQ(request.unknown_count, 2U);
  EXPECT_EQ(request.unknown, (std::vector<std::string>{"al??pha??b", "zeta"}));
  EXPECT_EQ(refused(body(R"("zeta":1)"), true).param, "zeta");
  std::string many;
  for (int i = 0; i < 100; ++i) {
    many += (i == 0 ? "\"x" : ",\"x") + std::to_string(i) + "\":0";
  }
  EXPECT_EQ(accepted(body(many)).unknown_count, 100U);
  EXPECT_EQ(accepted(body(many)).unknown.size(), 8U);
}

TEST(ChatRequest, BadBodiesAreInvalidWhateverIsWrongWithThem) {
  std::string deep = R"({"model":"m","x":)";
  for (int i = 0; i < 100'000; ++i) deep += '[';
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("\"x\""),
        std::string("null"), std::string("\xff"), deep, body(R"("a":1,"a":2)"),
        std::string(R"({"model":"m","messages":[{"role":"user","content":"\ud800"}]})"),
        body(R"("model":"other")")}) {
    EXPECT_EQ(api_error(refused(text)).status, 400);
    EXPECT_TRUE(api_error(refused(text)).code.empty()) << refused(text).message;
  }
}

TEST(ChatPrompt, FitsTheContextOrSaysBothNumbers) {
  ServedModel model{.id = "octo",
                    .tokenizer = std::make_shared<testing::ByteTokenizer>(),
                    .render = testing::render_plain,
                    .context = 30};
  ChatRequest request;
  request.conversation.messages = {{"user", "0123"}};  // 20 tokens with the template
  EXPECT_EQ(build_prompt(model, request)->tokens.size(), 20U);
  EXPECT_EQ(build_prompt(model, request)->max_new_tokens, 10) << "the rest of the context";
  request.max_tokens = 10;
  EXPECT_EQ(build_prompt(model, request)->max_new_tokens, 10);
  request.max_tokens = 11;
  const Error both = build_prompt(model, request).error();
  EXPECT_EQ(both.param, "max_tokens") << "the prompt fits";
  EXPECT_EQ(api_error(both).code, "context_length_exceeded");
  EXPECT_NE(both.message.find("20 tokens and 11"), std::string::npos) << both.message;
  EXPECT_NE(both.message.find("holds 30"), std::string::npos) << both.message;
  request.max_tokens.reset();
  request.conversation.messages = {{"user", "01234567890123"}};
  const Error full = build_prompt(model, request).error();
  EXPECT_EQ(full.code, Code::kTooLong);
  EXPECT_EQ(full.param, "messages");
  EXPECT_NE(full.message.find("has 30 tokens"), std::string::npos) << full.message;
  model.context = 31;
  EXPECT_EQ(build_prompt(model, request)->max_new_tokens, 1);
}

TEST(ChatPrompt, NamesTheFieldThatAsksForTooMuch) {
  const ServedModel model{.id = "octo",
                          .tokenizer = std::make_shared<testing::ByteTokenizer>(),
                          .render = testing::render_plain,
                          .context = 30};
  for (const std::string name : {"max_tokens", "max_completion_tokens"}) {
    for (const std::string count : {"29", "31", "2147483647"}) {
      std::string field = "\"";
      field.append(name).append("\":").append(count);
      const auto request = accepted(body(field));
      EXPECT_EQ(build_prompt(model, request).error().param, name) << count;
    }
  }
  auto both = accepted(body(R"("max_tokens":29,"max_completion_tokens":28)"));
  EXPECT_EQ(build_prompt(model, both).error().param, "max_completion_tokens");
  both.conversation.messages.front().content = std::string(30, 'x');
  EXPECT_EQ(build_prompt(model, both).error().param, "messages");
}

TEST(ChatPrompt, WhatCannotFitIsNotEncodedToItsEnd) {
  class StopsAtOnce final : public testing::ByteTokenizer {
   public:
    Result<text::BoundedTokens> encode_at_most(std::span<const text::Segment> /*segments*/,
                                               size_t most) const override {
      return text::BoundedTokens{.tokens = {}, .at_least = most + 1, .fits = false};
    }
  };
  const ServedModel model{.id = "octo",
                          .tokenizer = std::make_shared<StopsAtOnce>(),
                          .render = testing::render_plain,
                          .context = 30};
  ChatRequest request;
  request.conversation.messages = {{"user", std::string(1 << 20, 'x')}};
  request.max_tokens = 1;
  const Error refused = build_prompt(model, request).error();
  EXPECT_EQ(
      refused.message,
      "The prompt has at least 241 tokens; the context of octo holds 30, at least one of them "
      "for the answer.");
  EXPECT_EQ(refused.param, "messages");
}

TEST(ChatPrompt, UpToEightContextsAreCountedExactly) {
  const ServedModel model{.id = "octo",
                          .tokenizer = std::make_shared<testing::ByteTokenizer>(),
                          .render = testing::render_plain,
                          .context = 30};
  ChatRequest request;
  request.conversation.messages = {
      {"user", std::string(200, 'x')}};  // and 16 tokens of the template
  const std::string message = build_prompt(model, request).error().message;
  EXPECT_TRUE(message.starts_with("The prompt has 216 tokens; the context of octo holds 30"))
      << message;
}

TEST(ChatPrompt, HasExactlyOneBos) {
  ServedModel model{.id = "octo",
                    .tokenizer = std::make_shared<testing::ByteTokenizer>(true),
                    .render = testing::render_plain,
                    .context = 100};
  ChatRequest request;
  request.conversation.messages = {{"user", "x"}};
  const auto prompt = build_prompt(model, request);
  EXPECT_EQ(prompt->tokens.front(), testing::kBos);
  EXPECT_EQ(std::ranges::count(prompt->tokens, testing::kBos), 1);
  model.render = nullptr;
  EXPECT_EQ(build_prompt(model, request).error().code, Code::kUnsupported);
  model.render = [](const auto&) -> Result<std::vector<text::Segment>> {
    return invalid("roles must alternate");
  };
  EXPECT_EQ(build_prompt(model, request).error().message, "roles must alternate");
  EXPECT_EQ(build_prompt(model, request).error().param, "messages");
}

}  // namespace
}  // namespace o3::api::openai
