// SPDX-License-Identifier: Apache-2.0
#include "eval/logits_file.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "config/json_reader.h"
#include "eval/model_session.h"
#include "eval/npy_writer.h"

namespace o3::eval {
namespace {

constexpr int64_t kStepRows = 512;
constexpr int64_t kStepLogits = int64_t{1} << 24;  // values: 64 MiB

// A list of ids as long as the longest context, and then some.
constexpr config::JsonLimits kLineLimits{
    .bytes = size_t{64} << 20, .depth = 8, .values = size_t{1} << 22};

Error in_line(size_t line, const std::string& problem) {
  return invalid("line " + std::to_string(line + 1) + " " + problem, "--data");
}

Result<std::vector<Token>> read_ids(std::string_view text, size_t line) {
  auto parsed = config::read_json(text, kLineLimits);
  if (!parsed.ok()) return in_line(line, "is no JSON that is taken: " + parsed.error().message);
  nlohmann::json value = *std::move(parsed);
  if (value.is_object() && value.contains("ids")) value = nlohmann::json(value["ids"]);
  if (!value.is_array()) {
    return in_line(line, "is no JSON list of token ids, nor an object that has one as \"ids\"");
  }
  std::vector<Token> ids;
  ids.reserve(value.size());
  for (const nlohmann::json& id : value) {
    const bool fits = id.is_number_integer() && id >= 0 && id <= INT32_MAX;
    if (!fits) return in_line(line, "has an id that is not a number from 0 to 2147483647");
    ids.push_back(id.get<Token>());
  }
  return ids;
}

Result<void> check_lines(const model::Model& model, const std::vector<std::vector<Token>>& lines) {
  const model::ModelConfig& config = model.config();
  for (size_t line = 0; line < lines.size(); ++line) {
    if (lines[line].size() > static_cast<size_t>(config.context)) {
      Error error =
          in_line(line, "has " + std::to_string(lines[line].size()) +
                            " ids, the model's context is " + std::to_string(config.context));
      error.code = Code::kTooLong;
      return error;
    }
    for (const Token id : lines[line]) {
      if (id >= config.vocabulary) {
        return in_line(line, "has id " + std::to_string(id) + ", outside the vocabulary of " +
                                 std::to_string(config.vocabulary));
      }
    }
  }
  return {};
}

// One line; `all` is 0, 1, 2, ...
Result<void> append_line(ModelSession& session, std::span<const Token> ids,
                         std::span<const int32_t> all, NpyWriter& out,
                         const std::function<bool()>& keep_going) {
  session.truncate(0, 0);
  while (!ids.empty()) {
    if (!keep_going()) return Error{Code::kCancelled, "stopped", ""};
    const size_t count = std::min(ids.size(), all.size());
    const Feed feed{.sequence = 0, .tokens = ids.first(count)};
    O3_ASSIGN(const kernels::TensorView logits, session.step({&feed, 1}, all.first(count)));
    for (int64_t row = 0; row < logits.rows(); ++row) {
      O3_TRY(out.append({logits.row<const float>(row), static_cast<size_t>(logits.cols())}));
    }
    ids = ids.subspan(count);
  }
  return {};
}

}  // namespace

Result<std::vector<std::vector<Token>>> read_id_lines(std::string_view text) {
  std::vector<std::vector<Token>> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    O3_ASSIGN(std::vector<Token> ids, read_ids(text.substr(0, end), lines.size()));
    lines.push_back(std::move(ids));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (lines.empty()) return invalid("the data have no line", "--data");
  return lines;
}

Result<LogitsFileResult> write_logits(const model::Model& model, device::Backend& backend,
                                      const std::vector<std::vector<Token>>& lines,
                                      kernels::Compute compute, const std::filesystem::path& out,
                                      const std::function<bool()>& keep_going) {
  O3_TRY(check_lines(model, lines));
  const int32_t vocabulary = model.config().vocabulary;
  LogitsFileResult result{static_cast<int64_t>(lines.size()), 0, vocabulary};
  int64_t longest = 1;
  for (const std::vector<Token>& line : lines) {
    result.rows += std::ssize(line);
    longest = std::max(longest, std::ssize(line));
  }
  const int64_t fitting = std::max<int64_t>(1, kStepLogits / vocabulary);
  const auto rows = static_cast<int32_t>(std::min({kStepRows, fitting, longest}));
  O3_ASSIGN(const auto session, ModelSession::create(model, backend, compute,
                                                     {.sequences = 1,
                                                      .context = static_cast<int32_t>(longest),
                                                      .step_rows = rows,
                                                      .step_logits = rows}));
  std::vector<int32_t> all(static_cast<size_t>(rows));
  for (int32_t row = 0; row < rows; ++row) all[static_cast<size_t>(row)] = row;
  O3_ASSIGN(NpyWriter writer, NpyWriter::create(out, result.rows, vocabulary));
  for (const std::vector<Token>& line : lines) {
    O3_TRY(append_line(*session, line, all, writer, keep_going));
  }
  O3_TRY(writer.finish());
  return result;
}

}  // namespace o3::eval
