// SPDX-License-Identifier: Apache-2.0
#include "text/gguf/pre_names.h"

#include <array>
#include <string>

#include "base/printable.h"

namespace o3::text {
namespace {

// Each as the makers' tokenizer.json has it, one component a line; the names are llama.cpp's.
constexpr std::string_view kGpt2 =
    R"~({"type":"ByteLevel","add_prefix_space":false,"use_regex":true})~";
constexpr std::string_view kDigitsGpt2 = R"~({"type":"Sequence","pretokenizers":[
{"type":"Digits","individual_digits":true},
{"type":"ByteLevel","add_prefix_space":false,"use_regex":true}]})~";
constexpr std::string_view kLlama3 = R"~({"type":"Sequence","pretokenizers":[
{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kQwen2 = R"~({"type":"Sequence","pretokenizers":[
{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kQwen35 = R"~({"type":"Sequence","pretokenizers":[
{"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kO200k = R"~({"type":"Sequence","pretokenizers":[
{"type":"Split","pattern":{"Regex":"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kTekken = R"~({"type":"Sequence","pretokenizers":[
{"type":"Split","pattern":{"Regex":"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kDeepSeek3 = R"~({"type":"Sequence","pretokenizers":[
{"type":"Split","pattern":{"Regex":"\\p{N}{1,3}"},"behavior":"Isolated","invert":false},
{"type":"Split","pattern":{"Regex":"[一-龥぀-ゟ゠-ヿ]+"},"behavior":"Isolated","invert":false},
{"type":"Split","pattern":{"Regex":"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kDeepSeekLlm = R"~({"type":"Sequence","pretokenizers":[
{"type":"Split","pattern":{"Regex":"[\\r\\n]"},"behavior":"Isolated","invert":false},
{"type":"Split","pattern":{"Regex":"\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+"},"behavior":"Isolated","invert":false},
{"type":"Split","pattern":{"Regex":"\\s?[!-/:-~！-／：-～‘-‟　-。]+"},"behavior":"Isolated","invert":false},
{"type":"Split","pattern":{"Regex":"\\s+$"},"behavior":"Isolated","invert":false},
{"type":"Split","pattern":{"Regex":"[一-龥ࠀ-一가-퟿]+"},"behavior":"Isolated","invert":false},
{"type":"Digits","individual_digits":true},
{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kDeepSeekCoder = R"~({"type":"Sequence","pretokenizers":[
{"type":"Split","pattern":{"Regex":"[\\r\\n]"},"behavior":"Isolated","invert":false},
{"type":"Split","pattern":{"Regex":"\\s?\\p{L}+"},"behavior":"Isolated","invert":false},
{"type":"Split","pattern":{"Regex":"\\s?\\p{P}+"},"behavior":"Isolated","invert":false},
{"type":"Split","pattern":{"Regex":"[一-龥ࠀ-一가-퟿]+"},"behavior":"Isolated","invert":false},
{"type":"Digits","individual_digits":true},
{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})~";
constexpr std::string_view kFalcon = R"~({"type":"Sequence","pretokenizers":[
{"type":"Punctuation","behavior":"Contiguous"},
{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},
{"type":"Digits","individual_digits":false},
{"type":"Split","pattern":{"Regex":"[0-9][0-9][0-9]"},"behavior":"Isolated","invert":false}]})~";
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

std::span<const PreName> known_pre_names() noexcept {
  return kNames;
}

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
