// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "device/backend.h"
#include "model/load_model.h"
#include "model/model.h"
#include "text/chat_templates.h"
#include "text/tokenizer.h"

namespace o3::loader {

// A model opened for use, a GGUF file or a Hugging Face directory: everything that a command or the
// server needs of it.
struct LoadedModel {
  std::shared_ptr<const model::Model> model;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  // Null: the file has none, or one with a construct that this build lacks (`no_template` says it).
  std::shared_ptr<const text::ChatTemplates> chat_template;
  Error no_template;
  nlohmann::ordered_json template_variables;  // bos_token and its like
  bool trust_assistant = false;               // text::RenderInput's
  std::vector<Token> stop_tokens;             // end of text, end of turn
  uint64_t file_bytes = 0;                    // of the weights' files
};

// Errors name the file and what in it is wrong. The backend must outlive the model.
Result<LoadedModel> load_model_file(const std::filesystem::path& path, device::Backend& backend,
                                    const model::LoadOptions& options);

// What the model is, and its tensors, without loading them.
Result<model::ModelSource> open_model(const std::filesystem::path& path);

// The model alone, for who brings token ids: the file needs no tokenizer.
Result<std::unique_ptr<model::Model>> load_weights(const std::filesystem::path& path,
                                                   device::Backend& backend,
                                                   const model::LoadOptions& options);

// The conversation as the model's template writes it; variables and time are set here.
// Without a template: `no_template`. Any thread.
Result<std::vector<text::Segment>> render_chat(const LoadedModel& loaded, text::RenderInput input,
                                               const Clock& clock);

// Control tokens for filling in the middle of a text.
struct InfillTokens {
  Token prefix;
  Token suffix;
  Token middle;
};
std::optional<InfillTokens> infill_tokens(const text::Tokenizer& tokenizer);

}  // namespace o3::loader
