// SPDX-License-Identifier: Apache-2.0
// Pieces of the answer objects' JSON, written by hand because a stream makes one per token.
#pragma once

#include <string>

#include "api/openai/answer.h"

namespace o3::api::openai {

// `{"id":...,"object":OBJECT,"created":...,"model":...` without the closing brace.
std::string render_heading(const AnswerHeading& heading, std::string_view object);
std::string render_usage(const Usage& usage);
std::string_view reason_name(FinishReason reason) noexcept;  // "stop", "length"

}  // namespace o3::api::openai
