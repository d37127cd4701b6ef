// SPDX-License-Identifier: Apache-2.0
// o3 text render: conversations through a chat template. JSON lines in, JSON lines out.
#include <chrono>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/command.h"
#include "app/json_lines.h"
#include "app/number_option.h"
#include "base/local_time.h"
#include "loader/template_source.h"
#include "text/chat_template.h"
#include "text/jinja/json_input.h"

namespace o3::app {
namespace {

using Json = nlohmann::ordered_json;

struct RenderOptions {
  std::string template_file;
  std::string tokenizer;
  std::string now;
};

// YYYY-MM-DDTHH:MM:SS, a time that exists on the wall, as seconds since 1970-01-01 00:00 there.
std::optional<std::chrono::seconds> read_time(std::string_view text) {
  if (text.size() != 19) return std::nullopt;
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return std::nullopt;
  }
  const auto number = [&](size_t at, size_t length) {
    unsigned value = 0;
    read_number(text.substr(at, length), value);
    return value;
  };
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(number(0, 4))),
                                        std::chrono::month(number(5, 2)),
                                        std::chrono::day(number(8, 2))};
  const unsigned hour = number(11, 2);
  const unsigned minute = number(14, 2);
  const unsigned second = number(17, 2);
  if (number(0, 4) == 0 || !day.ok() || hour > 23 || minute > 59 || second > 59) {
    return std::nullopt;
  }
  return std::chrono::sys_days(day).time_since_epoch() + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + std::chrono::seconds(second);
}

std::chrono::seconds now() {
  return local_time(std::chrono::system_clock::now().time_since_epoch());
}

class Renderer {
 public:
  static Result<Renderer> make(const loader::TemplateSource& source,
                               std::optional<std::chrono::seconds> time) {
    O3_ASSIGN(auto main, text::ChatTemplate::parse(source.text));
    Renderer renderer(std::move(main), source.variables, time);
    if (source.tool_use) {
      O3_ASSIGN(renderer.tool_use_, text::ChatTemplate::parse(*source.tool_use));
    }
    return renderer;
  }

  // {"messages", "tools", "add_generation_prompt", "variables"} to text.
  Result<std::string> answer(std::string_view line) const {
    O3_ASSIGN(Json json, text::read_template_json(line));
    O3_ASSIGN(const text::RenderInput input, input_of(std::move(json)));
    const bool with_tools = !input.request.at("tools").is_null();
    const text::ChatTemplate& chosen = with_tools && tool_use_ ? *tool_use_ : main_;
    O3_ASSIGN(const std::vector<text::Segment> segments, chosen.render(input));
    std::string out;
    for (const text::Segment& segment : segments) out += segment.text;
    return out;
  }

 private:
  Renderer(text::ChatTemplate main, Json variables, std::optional<std::chrono::seconds> time)
      : main_(std::move(main)), variables_(std::move(variables)), time_(time) {}

  Result<text::RenderInput> input_of(Json line) const {
    if (!line.is_object() || !line.contains("messages")) {
      return invalid("a line must be an object with \"messages\"");
    }
    text::RenderInput input;
    input.raw_messages = std::move(line["messages"]);
    input.request["tools"] = line.contains("tools") ? std::move(line["tools"]) : Json();
    input.add_generation_prompt = false;
    if (const auto asked = line.find("add_generation_prompt");
        asked != line.end() && !asked->is_null()) {
      if (!asked->is_boolean()) return invalid("add_generation_prompt must be true or false");
      input.add_generation_prompt = asked->get<bool>();
    }
    input.variables = variables_;
    if (const auto own = line.find("variables"); own != line.end() && !own->is_null()) {
      if (!own->is_object()) return invalid("variables must be an object");
      for (const auto& [name, value] : own->items()) {
        if (name == "messages" || name == "tools" || name == "add_generation_prompt") {
          return invalid("variables may not name " + name + ", which is a member of the line");
        }
        input.variables[name] = value;
      }
    }
    input.local_time = time_.value_or(now());
    return input;
  }

  text::ChatTemplate main_;
  std::optional<text::ChatTemplate> tool_use_;
  Json variables_;
  std::optional<std::chrono::seconds> time_;  // none: each line's own
};

Result<void> render(const RenderOptions& options, std::optional<std::chrono::seconds> time) {
  O3_ASSIGN(const loader::TemplateSource source,
            options.template_file.empty() ? loader::read_model_templates(options.tokenizer)
                                          : loader::read_template_file(options.template_file));
  O3_ASSIGN(const Renderer renderer, Renderer::make(source, time));
  return answer_lines<Json>([&](const std::string& line) -> Result<Json> {
    O3_ASSIGN(std::string text, renderer.answer(line));
    return Json{{"text", std::move(text)}};
  });
}

ExitCode run(const RenderOptions& options) {
  if (options.template_file.empty() == options.tokenizer.empty()) {
    return report_usage("give either --template or --tokenizer");
  }
  std::optional<std::chrono::seconds> time;
  if (!options.now.empty()) {
    time = read_time(options.now);
    if (!time) return report_usage("--now is a local time such as 2026-03-09T14:05:07");
  }
  const Result<void> done = render(options, time);
  return done.ok() ? ExitCode::kOk : report(done.error());
}

}  // namespace

void add_text_render_command(CLI::App& app, Action& action) {
  const auto found =
      app.get_subcommands([](const CLI::App* command) { return command->get_name() == "text"; });
  CLI::App* text = found.empty() ? nullptr : found.front();
  if (text == nullptr) {
    text = app.add_subcommand("text", "Tokenizers and chat templates; JSON lines in and out");
    text->require_subcommand(1);
  }
  auto options = std::make_shared<RenderOptions>();
  CLI::App* command = text->add_subcommand(
      "render", R"(Lines {"messages", "tools", "add_generation_prompt", "variables"} to {"text"})");
  command->add_option("--template", options->template_file,
                      "File with a chat template; bos_token and its like come from variables only");
  command->add_option("--tokenizer", options->tokenizer,
                      "Model directory or GGUF file whose template and tokens to use");
  command->add_option("--now", options->now,
                      "Local time that the template sees, YYYY-MM-DDTHH:MM:SS; else the clock's");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace o3::app
