// SPDX-License-Identifier: Apache-2.0
#include "api/openai/completion_request.h"

#include <gtest/gtest.h>

#include "api/api_error.h"
#include "api/openai/prompt.h"
#include "api/testing/fake_text.h"

namespace o3::api::openai {
namespace {

std::string body(const std::string& prompt, const std::string& more = "") {
  return R"({"model":"m","prompt":)" + prompt + more + "}";
}
CompletionRequest accepted(const std::string& text) {
  auto request = parse_completion_request(text, {});
  EXPECT_TRUE(request.ok()) << text << ": " << request.error().message;
  return *std::move(request);
}
Error refused(const std::string& text) {
  const auto request = parse_completion_request(text, {});
  EXPECT_FALSE(request.ok()) << text;
  return request.ok() ? Error{} : request.error();
}

TEST(CompletionRequest, ThePromptHasFourForms) {
  EXPECT_EQ(accepted(body(R"("x")")).prompts, std::vector<PromptText>{"x"});
  EXPECT_EQ(accepted(body(R"(["x","y"])")).prompts, (std::vector<PromptText>{"x", "y"}));
  EXPECT_EQ(accepted(body("[1,2]")).prompts, (std::vector<PromptText>{std::vector<Token>{1, 2}}));
  EXPECT_EQ(accepted(body("[[1],[2,3]]")).prompts,
            (std::vector<PromptText>{std::vector<Token>{1}, std::vector<Token>{2, 3}}));
  EXPECT_EQ(accepted(body(R"("x")")).max_tokens, 16);
  EXPECT_EQ(accepted(body(R"("x")", R"(,"min_tokens":30)")).max_tokens, 30);
  for (const char* bad : {"[]", "7", "null", "{}", "[[]]", "[1,\"x\"]", "[1.5]", "[-1]", "[[-1]]",
                          "[[[1]]]", "[99999999999]", "true"}) {
    EXPECT_TRUE(refused(body(bad)).param.starts_with("prompt")) << bad;
  }
  EXPECT_EQ(refused(R"({"model":"m"})").param, "prompt");
  EXPECT_EQ(refused(R"({"prompt":"x"})").param, "model");
}

TEST(CompletionRequest, ItsOwnFieldsAreChecked) {
  const auto request =
      accepted(body(R"("x")", R"(,"echo":true,"n":2,"best_of":3,"logprobs":4,"max_tokens":0)"));
  EXPECT_TRUE(request.echo);
  EXPECT_EQ(request.best_of, 3);
  EXPECT_EQ(request.logprobs, 4);
  EXPECT_EQ(request.max_tokens, 0);
  struct Bad {
    const char* more;
    const char* param;
  };
  for (const Bad& bad : {
           Bad{R"(,"max_tokens":0)", "max_tokens"},
           Bad{R"(,"best_of":1,"n":2)", "best_of"},
           Bad{R"(,"best_of":2,"stream":true)", "best_of"},
           Bad{R"(,"logprobs":true)", "logprobs"},
           Bad{R"(,"logprobs":21)", "logprobs"},
           Bad{R"(,"suffix":7)", "suffix"},
           Bad{R"(,"suffix":"x","echo":true)", "echo"},
           Bad{R"(,"messages":[])", "messages"},
           Bad{R"(,"top_logprobs":1)", "top_logprobs"},
           Bad{R"(,"chat_template_kwargs":{})", "chat_template_kwargs"},
       }) {
    EXPECT_EQ(refused(body(R"("x")", bad.more)).param, bad.param) << bad.more;
  }
  std::string many = "[\"x\"";
  for (int i = 0; i < 64; ++i) many += ",\"x\"";
  EXPECT_EQ(refused(body(many + "]")).param, "prompt");
  EXPECT_EQ(refused(body(R"(["a","b"])", R"(,"n":33)")).param, "n");
  EXPECT_EQ(refused(body(R"(["a","b"])", R"(,"best_of":33)")).param, "best_of");
}

TEST(CompletionPrompt, IsTextOrTokensAndFitsTheContext) {
  ServedModel model{.id = "octo",
                    .tokenizer = std::make_shared<testing::ByteTokenizer>(true),
                    .render = {},
                    .context = 30};
  const auto request = accepted(body(R"("abc")"));
  const auto built = build_prompt(model, request, request.prompts[0]);
  EXPECT_EQ(built->tokens, (std::vector<Token>{testing::kBos, 'a', 'b', 'c'}));
  EXPECT_EQ(built->max_new_tokens, 16);
  EXPECT_EQ(built->echo, "");
  const auto plain = accepted(body(R"("abc")", R"(,"add_special_tokens":false,"echo":true)"));
  EXPECT_EQ(build_prompt(model, plain, plain.prompts[0])->tokens, testing::tokens_of("abc"));
  EXPECT_EQ(build_prompt(model, plain, plain.prompts[0])->echo, "abc");
  const auto ids = accepted(body("[65,66]", R"(,"echo":true)"));
  EXPECT_EQ(build_prompt(model, ids, ids.prompts[0])->tokens, (std::vector<Token>{65, 66}));
  EXPECT_EQ(build_prompt(model, ids, ids.prompts[0])->echo, "AB");
  const auto far = accepted(body("[65,300]"));
  EXPECT_EQ(build_prompt(model, far, far.prompts[0]).error().param, "prompt");
  const auto longer = accepted(body(R"("0123456789")", R"(,"max_tokens":20)"));
  EXPECT_EQ(build_prompt(model, longer, longer.prompts[0]).error().code, Code::kTooLong);
  const auto empty = accepted(body(R"("")", R"(,"add_special_tokens":false)"));
  EXPECT_EQ(build_prompt(model, empty, empty.prompts[0]).error().param, "prompt");
}

TEST(CompletionPrompt, ASuffixNeedsInfillTokens) {
  ServedModel model{.id = "octo",
                    .tokenizer = std::make_shared<testing::ByteTokenizer>(),
                    .render = {},
                    .context = 60};
  const auto request = accepted(body(R"("ab")", R"(,"suffix":"c")"));
  const Error error = build_prompt(model, request, request.prompts[0]).error();
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_EQ(error.param, "suffix");
  model.infill = Infill{.prefix = 250, .suffix = 251, .middle = 252};
  EXPECT_EQ(build_prompt(model, request, request.prompts[0])->tokens,
            (std::vector<Token>{250, 'a', 'b', 251, 'c', 252}));
}

TEST(ChatPrompt, AFinalMessageIsContinued) {
  ServedModel model{.id = "octo",
                    .tokenizer = std::make_shared<testing::ByteTokenizer>(),
                    .render = testing::render_plain,
                    .context = 100};
  ChatRequest request;
  request.continue_final = true;
  request.conversation.add_generation_prompt = false;
  request.conversation.messages = {{"user", "hi"}, {"assistant", "Well, "}};
  EXPECT_EQ(build_prompt(model, request)->tokens, testing::tokens_of("user:hi\nassistant:Well, "));
  request.conversation.messages.back().content = " \n";
  EXPECT_EQ(build_prompt(model, request).error().param, "messages");
  request.conversation.messages.back().content = "x";
  model.render = [](const auto&) -> Result<std::vector<text::Segment>> {
    return std::vector<text::Segment>{{"nothing", true}};
  };
  EXPECT_EQ(build_prompt(model, request).error().param, "continue_final_message");
}

// What the template writes behind a message may hold its text too.
TEST(ChatPrompt, AFinalMessageIsContinuedWhereItStands) {
  ServedModel model{.id = "octo",
                    .tokenizer = std::make_shared<testing::ByteTokenizer>(),
                    .render = {},
                    .context = 100};
  bool trusted = false;
  model.render = [&](const Conversation& conversation) -> Result<std::vector<text::Segment>> {
    return std::vector<text::Segment>{{"<|im_start|>", true},
                                      {conversation.messages.back().content, trusted},
                                      {"<|im_end|>", true}};
  };
  ChatRequest request;
  request.continue_final = true;
  request.conversation.add_generation_prompt = false;
  for (const char* content : {"im", "end", "|", "<|im_end|>", "a", "i\n "}) {
    request.conversation.messages = {{"assistant", content}};
    EXPECT_EQ(build_prompt(model, request)->tokens,
              testing::tokens_of(std::string("<|im_start|>") + content));
  }
  trusted = true;  // as if the model had just written it
  request.conversation.messages = {{"assistant", "Well"}};
  EXPECT_EQ(build_prompt(model, request)->tokens, testing::tokens_of("<|im_start|>Well"));
}

}  // namespace
}  // namespace o3::api::openai
