// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE on a vocabulary made here; the real one is tested in app.
#include "text/pipeline_tokenizer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <random>
#include <string>
#include <vector>

#include "text/model/bpe_model.h"
#include "text/testing/synthetic_vocabulary.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr Token kEnd = 0;
constexpr Token kEndLong = 1;
constexpr Token kThink = 2;

class BpeTokenizerTest : public ::testing::Test {
 protected:
  BpeTokenizerTest()
      : source_({{"<|e|>", TokenKind::kControl},
                 {"<|e|>>", TokenKind::kControl},
                 {"<think>", TokenKind::kUserDefined},
                 {"[PAD]", TokenKind::kUnused}}) {
    source_.merge("l", "o");
    source_.merge("lo", "w");
    source_.merge(" ", "low");
    source_.merge("\xC3", "\xA9");
    source_.merge("|", ">");
    tokenizer_ = *load_tokenizer(source_.spec());
  }

  std::vector<Token> bytes(std::string_view text) const {
    std::vector<Token> out;
    for (const char c : text) out.push_back(source_.byte(c));
    return out;
  }
  std::vector<Token> parse(std::string_view text) const {
    return *tokenizer_->encode(text, SpecialTokens::kParse);
  }
  std::vector<Token> plain(std::string_view text) const {
    return *tokenizer_->encode(text, SpecialTokens::kPlain);
  }
  std::vector<Token> marked(const std::vector<Segment>& segments) const {
    return *tokenizer_->encode(segments);
  }

  SyntheticVocabulary source_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(BpeTokenizerTest, MergesWithinPieces) {
  const Token low = source_.merged(1);
  const Token space_low = source_.merged(2);
  EXPECT_EQ(plain("low low"), (std::vector<Token>{low, space_low}));
  EXPECT_EQ(plain("lo1w"),
            (std::vector<Token>{source_.merged(0), source_.byte('1'), source_.byte('w')}));
  EXPECT_TRUE(plain("").empty());
}

TEST_F(BpeTokenizerTest, ControlTextsAreParsedLongestFirst) {
  EXPECT_EQ(parse("<|e|>"), std::vector<Token>{kEnd});
  EXPECT_EQ(parse("<|e|>>"), std::vector<Token>{kEndLong});
  EXPECT_EQ(parse("<|e<|e|>"),
            (std::vector<Token>{source_.byte('<'), source_.byte('|'), source_.byte('e'), kEnd}));
  EXPECT_EQ(parse("<think>"), std::vector<Token>{kThink});
  EXPECT_EQ(parse("[PAD]"), bytes("[PAD]"));  // unused tokens are never made
  for (const Token token : plain("<|e|><think>")) EXPECT_FALSE(tokenizer_->is_control(token));
}

TEST_F(BpeTokenizerTest, ControlTokensArisePreciselyWhereTheWholeTextIsTrusted) {
  EXPECT_EQ(marked({{"<|e", true}, {"|>", true}}), std::vector<Token>{kEnd});
  EXPECT_EQ(marked({{"<|e", true}, {"", false}, {"|>", true}}), std::vector<Token>{kEnd});
  EXPECT_EQ(marked({{"<|e|>", false}}), plain("<|e|>"));
  EXPECT_EQ(marked({{"<|e", true}, {"|>", false}}), plain("<|e|>"));
  EXPECT_EQ(marked({{"<", false}, {"|e|>", true}}), plain("<|e|>"));
  // The longer control token would need an untrusted character; the shorter one does not.
  EXPECT_EQ(marked({{"<|e|>", true}, {">", false}}), (std::vector<Token>{kEnd, source_.byte('>')}));
}

TEST_F(BpeTokenizerTest, OrdinaryTextMergesAcrossSegments) {
  EXPECT_EQ(marked({{"l", true}, {"o", false}, {"w ", true}, {"low", false}}), plain("low low"));
}

TEST_F(BpeTokenizerTest, ControlTokensCutTheTextForThePreTokenizer) {
  // At the end of a part a run of white space is one piece; before a letter it is not.
  auto expected = bytes("a  ");
  expected.push_back(kEnd);
  const auto tail = plain(" low");
  expected.insert(expected.end(), tail.begin(), tail.end());
  EXPECT_EQ(parse("a  <|e|> low"), expected);
}

TEST_F(BpeTokenizerTest, IllFormedBytesBecomeReplacementCharacters) {
  EXPECT_EQ(plain("a\xFF"
                  "b"),
            bytes("a\xEF\xBF\xBD"
                  "b"));
  EXPECT_EQ(plain("\xE2\x82"), bytes("\xEF\xBF\xBD"));
  EXPECT_EQ(plain("\xC3\xA9"), std::vector<Token>{source_.merged(3)});
  // Halves in two segments are one character; what follows keeps its trust.
  EXPECT_EQ(marked({{"\xC3", true}, {"\xA9\xFF", false}, {"<|e|>", true}}),
            marked({{"\xC3\xA9\xEF\xBF\xBD", false}, {"<|e|>", true}}));
  EXPECT_EQ(marked({{"\xFF", true}, {"<|e|>\xFF", false}}), plain("\xEF\xBF\xBD<|e|>\xEF\xBF\xBD"));
}

TEST_F(BpeTokenizerTest, BytesHidesControlTokensOnly) {
  EXPECT_EQ(tokenizer_->bytes(kEnd, false), "");
  EXPECT_EQ(tokenizer_->bytes(kEnd, true), "<|e|>");
  EXPECT_EQ(tokenizer_->bytes(kThink, false), "<think>");
  EXPECT_EQ(tokenizer_->bytes(source_.merged(2), false), " low");
  EXPECT_EQ(tokenizer_->bytes(-1, true), "");
  EXPECT_EQ(tokenizer_->bytes(tokenizer_->vocabulary_size(), true), "");
  EXPECT_FALSE(tokenizer_->is_control(-1));
  EXPECT_FALSE(tokenizer_->is_control(1 << 30));
}

TEST_F(BpeTokenizerTest, FindIsExact) {
  EXPECT_EQ(tokenizer_->find(" low"), source_.merged(2));
  EXPECT_EQ(tokenizer_->find("<think>"), kThink);
  EXPECT_EQ(tokenizer_->find("[PAD]"), 3);
  EXPECT_FALSE(tokenizer_->find("lowl").has_value());
  EXPECT_FALSE(tokenizer_->find("").has_value());
}

// Every split of every text into trusted and untrusted characters, against a simple statement of
// the rule.
TEST_F(BpeTokenizerTest, RandomMarksObeyTheRule) {
  std::mt19937 random(9);
  const std::string letters = "<|e|>> low\xC3\xA9\xFF";
  for (int round = 0; round < 4000; ++round) {
    std::vector<Segment> segments;
    std::string whole;
    std::vector<bool> trusted;
    const size_t count = 1 + random() % 6;
    for (size_t i = 0; i < count; ++i) {
      std::string text = random() % 3 == 0 ? "<|e|>" : "";
      for (size_t n = random() % 5; n > 0; --n) text += letters[random() % letters.size()];
      segments.push_back({text, random() % 2 == 0});
      trusted.insert(trusted.end(), text.size(), segments.back().trusted);
      whole += text;
    }
    std::vector<Token> expected;
    const auto flush = [&](std::string_view text) {
      const auto part = plain(text);
      expected.insert(expected.end(), part.begin(), part.end());
    };
    size_t from = 0;
    for (size_t at = 0; at < whole.size();) {
      size_t taken = 0;
      for (const Token token : {kEndLong, kEnd}) {
        const std::string_view text = tokenizer_->bytes(token, true);
        bool whole_trusted = std::string_view(whole).substr(at).starts_with(text);
        for (size_t i = 0; whole_trusted && i < text.size(); ++i) whole_trusted = trusted[at + i];
        if (!whole_trusted) continue;
        flush(std::string_view(whole).substr(from, at - from));
        expected.push_back(token);
        taken = text.size();
        break;
      }
      at += taken == 0 ? 1 : taken;
      if (taken != 0) from = at;
    }
    flush(std::string_view(whole).substr(from));
    ASSERT_EQ(marked(segments), expected) << whole;
    ASSERT_EQ(decode(*tokenizer_, expected, true), repaired_utf8(whole));
  }
}

// Quadratic work would take minutes here.
TEST_F(BpeTokenizerTest, AMegabyteWithoutASpaceIsNotQuadratic) {
  std::string text;
  for (int i = 0; i < (1 << 20) / 4; ++i) text += "lowl";
  EXPECT_EQ(decode(*tokenizer_, plain(text), false), text);
  const std::string spaces(1 << 20, ' ');
  EXPECT_EQ(decode(*tokenizer_, plain(spaces + "x"), false), spaces + "x");
  const std::string marks(1 << 20, '<');
  EXPECT_EQ(parse(marks).size(), marks.size());
}

TEST_F(BpeTokenizerTest, StopsWhereThereAreMoreTokensThanWanted) {
  const std::vector<Segment> segments{
      {"<|e|>", true}, {"low low\xff lo1", false}, {"<think>x", true}};
  const std::vector<Token> all = marked(segments);
  for (size_t most = 0; most <= all.size() + 2; ++most) {
    const BoundedTokens bounded = *tokenizer_->encode_at_most(segments, most);
    EXPECT_EQ(bounded.fits, all.size() <= most);
    EXPECT_LE(bounded.at_least, all.size());
    if (bounded.fits) {
      EXPECT_EQ(bounded.tokens, all);
      EXPECT_EQ(bounded.at_least, all.size());
    } else {
      EXPECT_GT(bounded.at_least, most);
      EXPECT_LE(bounded.tokens.size(), most);
      EXPECT_TRUE(std::equal(bounded.tokens.begin(), bounded.tokens.end(), all.begin()));
    }
  }
  EXPECT_TRUE(tokenizer_->encode_at_most({}, 0)->fits);
}

TEST_F(BpeTokenizerTest, ALongPieceIsNotMergedInVain) {
  // The longest ordinary token is " low": n bytes have at least n / 4 tokens, which is enough here.
  const std::string run(4 << 20, 'x');
  const BoundedTokens bounded =
      *tokenizer_->encode_at_most(std::vector<Segment>{{run, false}}, 1000);
  EXPECT_FALSE(bounded.fits);
  EXPECT_TRUE(bounded.tokens.empty());
  EXPECT_EQ(bounded.at_least, size_t{1} << 20);
}

std::unique_ptr<Tokenizer> small_tokenizer(NormalizerPtr normalizer, size_t max_text_bytes) {
  const std::vector<std::string_view> texts = {"a", "\xEF\xBF\xBD"};
  const std::vector<TokenKind> kinds(2, TokenKind::kNormal);
  TokenizerParts parts;
  parts.vocabulary =
      std::make_shared<const Vocabulary>(*Vocabulary::build(texts, kinds, TextForm::kPlain));
  parts.model = std::make_unique<BpeModel>(parts.vocabulary,
                                           *MergeTable::build({}, *parts.vocabulary), BpeOptions{});
  parts.normalizer = std::move(normalizer);
  parts.max_text_bytes = max_text_bytes;
  return *PipelineTokenizer::build(std::move(parts));
}

TEST(PipelineTokenizer, RefusesWhatIsTooLongBeforeAndBehindEachStep) {
  const auto size = [](const Tokenizer& tokenizer, const std::string& text) {
    const auto plain = tokenizer.encode(text, SpecialTokens::kPlain);
    const auto parsed = tokenizer.encode(text, SpecialTokens::kParse);
    const auto marked = tokenizer.encode(std::vector<Segment>{{text, true}, {"", false}});
    const auto bounded = tokenizer.encode_at_most(std::vector<Segment>{{text, false}}, 5);
    EXPECT_EQ(plain.ok(), parsed.ok() && marked.ok() && bounded.ok());
    if (plain.ok()) return static_cast<int>(plain->size());
    EXPECT_EQ(plain.error().code, Code::kTooLong);
    EXPECT_NE(plain.error().message.find("10 are allowed"), std::string::npos);
    return -1;
  };
  const auto as_it_is = small_tokenizer(nullptr, 10);
  EXPECT_EQ(size(*as_it_is, "aaaaaaaaaa"), 10);
  EXPECT_EQ(size(*as_it_is, "aaaaaaaaaaa"), -1);
  EXPECT_EQ(size(*as_it_is, "a\xFF\xFF\xFF"), 4);
  EXPECT_EQ(size(*as_it_is, "aa\xFF\xFF\xFF"), -1);  // 3 bytes for each
  const auto longer = small_tokenizer(replace_text_normalizer("b", "aaaa"), 10);
  EXPECT_EQ(size(*longer, "aaaaaaaaaa"), 10);
  EXPECT_EQ(size(*longer, "ba"), 5);
  EXPECT_EQ(size(*longer, "baa"), -1);  // every byte might become four
  const auto prefixed = small_tokenizer(prepend_normalizer("aaaa"), 10);
  EXPECT_EQ(size(*prefixed, "aaaaaa"), 10);
  EXPECT_EQ(size(*prefixed, "aaaaaaa"), -1);
}

TEST(PipelineTokenizer, TheLimitIsLookedAtFirst) {
  const size_t bytes = kMaxTextBytes + 1;  // never touched, so it takes no memory
  void* map = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  const auto tokenizer = small_tokenizer(nullptr, kMaxTextBytes);
  const auto tokens =
      tokenizer->encode({static_cast<const char*>(map), bytes}, SpecialTokens::kPlain);
  munmap(map, bytes);
  ASSERT_FALSE(tokens.ok());
  EXPECT_EQ(tokens.error().code, Code::kTooLong);
}

TEST(PipelineTokenizer, RefusesAddedTokensWhoseNormalTextsAreHuge) {
  const std::vector<std::string_view> texts(1, std::string_view("a"));
  TokenizerParts parts;
  parts.vocabulary = std::make_shared<const Vocabulary>(
      *Vocabulary::build(texts, std::vector<TokenKind>(1, TokenKind::kNormal), TextForm::kPlain));
  parts.model = std::make_unique<BpeModel>(parts.vocabulary,
                                           *MergeTable::build({}, *parts.vocabulary), BpeOptions{});
  parts.normalizer = replace_text_normalizer("b", std::string(4000, 'a'));
  AddedToken token{.text = std::string(1000, 'b'), .token = 0, .normalized = true};
  parts.added.assign(300, token);
  const auto built = PipelineTokenizer::build(std::move(parts));
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.error().message.find("1 GiB"), std::string::npos);
}

// What ends a turn is a control token, whatever the file says of its kind.
TEST_F(BpeTokenizerTest, EndsAreControlWhateverTheirKind) {
  SyntheticVocabulary source({{"</s>", TokenKind::kNormal},
                              {"<s>", TokenKind::kUserDefined},
                              {"<|im_end|>", TokenKind::kNormal},
                              {"<stop>", TokenKind::kNormal},
                              {"</b>", TokenKind::kNormal}});
  source.merge("<", "|endoftext|>");  // ordinary text of this vocabulary
  TokenizerSpec spec = source.spec();
  spec.tokens.push_back("|endoftext|>");
  spec.kinds.push_back(static_cast<int32_t>(TokenKind::kNormal));
  spec.eos = 0;
  spec.bos = 1;
  spec.ends = {3};
  const auto loaded = load_tokenizer(spec);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Tokenizer& tokenizer = **loaded;
  for (const Token token : {0, 1, 2, 3}) {
    EXPECT_TRUE(tokenizer.is_control(token)) << token;
    const std::string text(tokenizer.bytes(token, true));
    EXPECT_EQ(*tokenizer.encode(text, SpecialTokens::kParse), std::vector<Token>{token});
    for (const auto how : {SpecialTokens::kPlain, SpecialTokens::kPlainSpecial}) {
      const auto plain = tokenizer.encode(text, how);
      EXPECT_EQ(plain->size(), text.size());
      for (const Token made : *plain) EXPECT_FALSE(tokenizer.is_control(made));
    }
  }
  EXPECT_FALSE(tokenizer.is_control(4));
  EXPECT_FALSE(tokenizer.is_control(source.merged(0)));
  spec.ends = {30'000};
  EXPECT_FALSE(load_tokenizer(spec).ok());
}

TEST_F(BpeTokenizerTest, OfNormalTokensAlikeTheFirstCounts) {
  TokenizerSpec spec = source_.spec();
  spec.tokens.push_back(spec.tokens[static_cast<size_t>(source_.merged(1))]);
  spec.kinds.push_back(static_cast<int32_t>(TokenKind::kNormal));
  const auto loaded = load_tokenizer(spec);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const auto last = static_cast<Token>(spec.tokens.size() - 1);
  EXPECT_EQ(*(*loaded)->encode("low", SpecialTokens::kPlain),
            std::vector<Token>{source_.merged(1)});
  EXPECT_EQ((*loaded)->bytes(last, false), "low");
  EXPECT_EQ((*loaded)->join(std::vector<Token>{last, last}, false), "lowlow");
}

TEST_F(BpeTokenizerTest, RefusesContradictions) {
  const auto message = [](const TokenizerSpec& spec) {
    const auto loaded = load_tokenizer(spec);
    return loaded.ok() ? std::string("accepted") : loaded.error().message;
  };
  const auto with = [&](auto change) {
    TokenizerSpec spec = source_.spec();
    change(spec);
    return message(spec);
  };
  EXPECT_EQ(with([](TokenizerSpec&) {}), "accepted");
  EXPECT_NE(with([](auto& s) { s.model = "rwkv"; }).find("known: gpt2"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.pre = "none"; }).find("known: smollm"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.kinds.pop_back(); }).find("token types"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.kinds[9] = 7; }).find("unknown type 7"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.tokens.clear(); }).find("0 tokens"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.tokens[0] = ""; }).find("control token"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.eos = 999; }).find("bos or eos"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.bos = -1; }).find("bos or eos"), std::string::npos);
  EXPECT_NE(with([](auto& s) { s.add_bos = true; }).find("adds a bos"), std::string::npos);
}

TEST_F(BpeTokenizerTest, WithoutKindsBosAndEosAreControl) {
  TokenizerSpec spec = source_.spec();
  spec.kinds.clear();
  spec.eos = kEnd;
  const auto loaded = load_tokenizer(spec);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_TRUE((*loaded)->is_control(kEnd));
  EXPECT_FALSE((*loaded)->is_control(kEndLong));
}

// As Hugging Face's: the byte takes no part in merging. It is not the unknown token either, which
// would let plain text make a control token.
TEST_F(BpeTokenizerTest, AByteWithoutATokenGivesNone) {
  TokenizerSpec spec = source_.spec();
  const std::string absent = SyntheticVocabulary::written("\x04");
  for (auto& token : spec.tokens) {
    if (token == absent) token = "\xE2\x98\x83";  // not in the byte alphabet
  }
  const auto loaded = load_tokenizer(spec);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(*(*loaded)->encode("\x04", SpecialTokens::kPlain), std::vector<Token>{});
  EXPECT_EQ(*(*loaded)->encode("a\x04"
                               "b",
                               SpecialTokens::kPlain),
            bytes("ab"));
}

}  // namespace
}  // namespace o3::text
