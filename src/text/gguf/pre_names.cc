// SPDX-License-Identifier: Apache-2.0
#include "text/gguf/pre_names.h"

#include <array>
#include <string>

#include "base/printable.h"

namespace o3::text {
namespace {

// Each as the makers' tokenizer.json has it; the names are llama.cpp's.
constexpr std::string_view kGpt2 =
    R"~({"type":"ByteLevel","add_prefix_space":false,"use_regex":true})~";
constexpr std::string_view kDigitsGpt2 =
    R"~({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"typ)~"
    R"~(e":"ByteLevel","add_prefix_space":false,"use_regex":true}]})~";
constexpr std::string_view kLlama3 =
    R"~({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'r)~"
    R"~(e|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r)~"
    R"~(\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},{"type")~"
    R"~(:"ByteLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kQwen2 =
    R"~({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'r)~"
    R"~(e|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*)~"
    R"~(|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},{"type":"Byt)~"
    R"~(eLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kQwen35 =
    R"~({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'r)~"
    R"~(e|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p)~"
    R"~({N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false)~"
    R"~(},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kO200k =
    R"~({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"[^\\r\\n\\p{)~"
    R"~(L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|)~"
    R"~('t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\)~"
    R"~(\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\)~"
    R"~(\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":fa)~"
    R"~(lse},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kTekken =
    R"~({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"[^\\r\\n\\p{)~"
    R"~(L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\)~"
    R"~(\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|)~"
    R"~(\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":")~"
    R"~(Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":f)~"
    R"~(alse}]})~";
constexpr std::string_view kDeepSeek3 =
    R"~({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\p{N}{1,3}")~"
    R"~(},"behavior":"Isolated","invert":false},{"type":"Split","pattern":{"Regex":"[一-龥)~"
    R"~(぀-ゟ゠-ヿ]+"},"behavior":"Isolated","invert":false},{"type":"Split","pattern":{)~"
    R"~("Regex":"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\)~"
    R"~(\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},")~"
    R"~(behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"u)~"
    R"~(se_regex":false}]})~";
constexpr std::string_view kDeepSeekLlm =
    R"~({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"[\\r\\n]"},")~"
    R"~(behavior":"Isolated","invert":false},{"type":"Split","pattern":{"Regex":"\\s?[A-Za-z)~"
    R"~(µÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ)~"
    R"~(-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ)~"
    R"~(-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼ)~"
    R"~(ℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤ)~"
    R"~(Ⳬ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀)~"
    R"~(-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"},"behavior":"Isolated)~"
    R"~(","invert":false},{"type":"Split","pattern":{"Regex":"\\s?[!-/:-~！-／：-～‘-‟)~"
    R"~(　-。]+"},"behavior":"Isolated","invert":false},{"type":"Split","pattern":{"Regex")~"
    R"~(:"\\s+$"},"behavior":"Isolated","invert":false},{"type":"Split","pattern":{"Regex":")~"
    R"~([一-龥ࠀ-一가-퟿]+"},"behavior":"Isolated","invert":false},{"type":"Digits","i)~"
    R"~(ndividual_digits":true},{"type":"ByteLevel","add_prefix_space":false,"use_regex":fal)~"
    R"~(se}]})~";
constexpr std::string_view kDeepSeekCoder =
    R"~({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"[\\r\\n]"},")~"
    R"~(behavior":"Isolated","invert":false},{"type":"Split","pattern":{"Regex":"\\s?\\p{L}+)~"
    R"~("},"behavior":"Isolated","invert":false},{"type":"Split","pattern":{"Regex":"\\s?\\p)~"
    R"~({P}+"},"behavior":"Isolated","invert":false},{"type":"Split","pattern":{"Regex":"[一)~"
    R"~(-龥ࠀ-一가-퟿]+"},"behavior":"Isolated","invert":false},{"type":"Digits","indiv)~"
    R"~(idual_digits":true},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}])~"
    R"~(})~";
constexpr std::string_view kFalcon =
    R"~({"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Contiguous"},{)~"
    R"~("type":"ByteLevel","add_prefix_space":false,"use_regex":true},{"type":"Digits","indi)~"
    R"~(vidual_digits":false},{"type":"Split","pattern":{"Regex":"[0-9][0-9][0-9]"},"behavio)~"
    R"~(r":"Isolated","invert":false}]})~";
constexpr std::string_view kNfc = R"~({"type":"NFC"})~";

constexpr std::array kNames{
    PreName{"smollm", "", kDigitsGpt2, false},
    PreName{"gpt-2", "", kGpt2, false},
    PreName{"phi-2", "", kGpt2, false},
    PreName{"mpt", kNfc, kGpt2, false},
    PreName{"olmo", kNfc, kGpt2, false},
    PreName{"starcoder", "", kDigitsGpt2, false},
    PreName{"refact", "", kDigitsGpt2, false},
    PreName{"codeshell", "", kDigitsGpt2, false},
    PreName{"command-r", kNfc, kDigitsGpt2, false},
    PreName{"llama-bpe", "", kLlama3, true},
    PreName{"llama3", "", kLlama3, true},
    PreName{"llama-v3", "", kLlama3, true},
    PreName{"dbrx", "", kLlama3, false},
    PreName{"smaug-bpe", "", kLlama3, true},
    PreName{"glm4", "", kLlama3, false},
    PreName{"chatglm-bpe", "", kLlama3, false},
    PreName{"qwen2", kNfc, kQwen2, false},
    PreName{"deepseek-r1-qwen", kNfc, kQwen2, false},
    PreName{"stablelm2", kNfc, kQwen2, false},
    PreName{"qwen35", "", kQwen35, false},
    PreName{"gpt-4o", "", kO200k, false},
    PreName{"llama4", "", kO200k, false},
    PreName{"tekken", "", kTekken, true},
    PreName{"deepseek-v3", "", kDeepSeek3, false},
    PreName{"deepseek-llm", "", kDeepSeekLlm, false},
    PreName{"deepseek-coder", "", kDeepSeekCoder, false},
    PreName{"falcon", "", kFalcon, false},
};

}  // namespace

Result<PreName> pre_by_name(std::string_view name) {
  std::string known;
  for (const PreName& row : kNames) {
    if (row.name == name) return row;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return unsupported("pre-tokenizer \"" + printable(name) + "\" is not supported; known: " + known,
                     "tokenizer.ggml.pre");
}

}  // namespace o3::text
