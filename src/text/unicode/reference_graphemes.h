// SPDX-License-Identifier: Apache-2.0
// Grapheme clusters (UAX #29) as Hugging Face's `tokenizers` 0.23 finds them, exact for clusters of
// less than 6 bytes, which are all that its Precompiled normalizer asks for.
#pragma once

#include <cstddef>
#include <string_view>

namespace o3::text {

// Bytes of the first cluster of a well-formed text that is not empty.
size_t reference_cluster(std::string_view text) noexcept;

}  // namespace o3::text
