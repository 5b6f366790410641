#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include "bench/suites/benchdnn.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::suites {
namespace {

constexpr std::string_view kSpace = " \t\n\v\f\r";

// Collects words, and joins a word that ends in "\" with the next word.
class TokenList {
 public:
  void Add(std::string_view word, TextPlace place) {
    if (!continued_ || tokens_.empty()) tokens_.emplace_back();
    continued_ = word.back() == '\\';
    if (continued_) word.remove_suffix(1);
    BenchdnnToken& token = tokens_.back();
    token.pieces.push_back({token.text.size(), place});
    token.text += word;
  }
  std::vector<BenchdnnToken> Take() {
    // A lone "\" that is the first or the last word leaves an empty token.
    std::erase_if(tokens_, [](const BenchdnnToken& token) { return token.text.empty(); });
    return std::move(tokens_);
  }
  // Returns whether the word is a lone "\", which joins the previous word with the next one.
  bool AcceptLoneBackslash(std::string_view word) {
    if (word != "\\" || continued_) return false;
    continued_ = true;
    return true;
  }

 private:
  std::vector<BenchdnnToken> tokens_;
  bool continued_ = false;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int64_t ReadNumber(std::string_view text, size_t& at, std::string_view key) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  const size_t begin = at;
  int64_t value = 0;
  while (at < text.size() && IsDigit(text[at]) && value <= kMax)
    value = value * 10 + (text[at++] - '0');
  if (at == begin || value > kMax)
    throw BenchdnnRefusal(
        begin, fmt::format("expected the value of '{}', an integer from 0 to {}", key, kMax));
  return value;
}

}  // namespace

TextPlace BenchdnnToken::At(size_t offset) const {
  const Piece* piece = &pieces.front();
  for (const Piece& next : pieces)
    if (next.begin <= offset) piece = &next;
  return {piece->place.line, piece->place.column + static_cast<int>(offset - piece->begin)};
}

std::vector<BenchdnnToken> BenchdnnTokens(std::string_view text) {
  TokenList tokens;
  int line = 1;
  size_t line_begin = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      ++line;
      line_begin = at + 1;
    }
    if (kSpace.find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const auto end = std::min(text.find_first_of(kSpace, at), text.size());
    const auto word = text.substr(at, end - at);
    if (!tokens.AcceptLoneBackslash(word))
      tokens.Add(word, {line, static_cast<int>(at - line_begin) + 1});
    at = end;
  }
  return tokens.Take();
}

std::string ShownText(std::string_view text, size_t max_shown) {
  std::string shown(text.substr(0, max_shown));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return text.size() > max_shown ? shown + "..." : shown;
}

void ReadLetters(std::string_view text, std::span<const BenchdnnLetter> letters) {
  for (size_t at = 0; at < text.size() && text[at] != 'n';) {
    if (at > 0 && text[at] == '_') {
      ++at;
      continue;
    }
    const BenchdnnLetter* found = nullptr;
    for (const BenchdnnLetter& letter : letters)
      if (letter.key[0] == text[at] && text.substr(at, letter.key.size()) == letter.key)
        found = &letter;
    if (found == nullptr) {
      std::string keys;
      for (const BenchdnnLetter& letter : letters) keys += fmt::format("{} ", letter.key);
      throw BenchdnnRefusal(at, fmt::format("expected one of {}or the name after n, got '{}'", keys,
                                            ShownText(text.substr(at, 16))));
    }
    at += found->key.size();
    *found->value = ReadNumber(text, at, found->key);
  }
}

void RequireLetter(int64_t value, std::string_view key) {
  if (value <= 0)
    throw BenchdnnRefusal(0, fmt::format("this problem lacks {}, or its value is 0", key));
}

std::vector<int64_t> ReadSizes(std::string_view text, size_t& at) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  std::vector<int64_t> sizes;
  for (;;) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), size);
    if (error != std::errc() || size < 1 || size > kMax)
      throw BenchdnnRefusal(at, fmt::format("expected a size, an integer from 1 to {}", kMax));
    at = static_cast<size_t>(end - text.data());
    sizes.push_back(size);
    if (at == text.size() || text[at] != 'x') return sizes;
    ++at;
  }
}

void ExpectName(std::string_view text, size_t at) {
  if (at < text.size() && std::string_view("_n\"").find(text[at]) == std::string_view::npos)
    throw BenchdnnRefusal(at, "expected the name after n, or the end");
}

bool BeginsWithLetter(std::string_view text, std::span<const std::string_view> keys) {
  if (text.starts_with("mb")) {
    const auto next = text.find_first_not_of("0123456789_", 2);
    if (next == 2 || next == std::string_view::npos) return false;
    text.remove_prefix(next);
  }
  return std::ranges::any_of(keys, [&](std::string_view key) {
    return text.size() > key.size() && text.starts_with(key) && IsDigit(text[key.size()]);
  });
}

namespace {

constexpr std::string_view kDataTypes =
    "f32 bf16 f16 f64 tf32 s64 s32 s8 u8 s4 u4 f8_e5m2 f8_e4m3 f4_e2m1 f4_e3m0 e8m0 boolean undef";
constexpr std::string_view kPolicies =
    "common per_oc per_dim_0 per_dim_1 per_dim_01 per_dim_2 per_dim_023 per_dim_23 per_dim_03 "
    "per_dim_3 per_tensor";

// A part of an option's value and the offset at which it begins.
struct Part {
  std::string_view text;
  size_t offset;
};

// Returns whether a text ends in the e of an exponent, such as "1e" of 1e+5.
bool IsExponent(std::string_view text) {
  return text.size() > 1 && text.back() == 'e' &&
         std::isdigit(static_cast<unsigned char>(text[text.size() - 2])) != 0;
}

std::vector<Part> Split(const Part& whole, char separator) {
  std::vector<Part> parts;
  for (size_t at = 0; at <= whole.text.size();) {
    auto end = std::min(whole.text.find(separator, at), whole.text.size());
    if (separator == '+' && IsExponent(whole.text.substr(at, end - at)))
      end = std::min(whole.text.find(separator, end + 1), whole.text.size());
    parts.push_back({whole.text.substr(at, end - at), whole.offset + at});
    at = end + 1;
  }
  return parts;
}

// Appends a word to a list with separators. Does nothing for an empty word.
void Append(std::string& list, char separator, std::string_view word) {
  if (!list.empty() && !word.empty()) list += separator;
  list += word;
}

[[noreturn]] void Refuse(const Part& part, std::string_view expected) {
  throw BenchdnnRefusal(part.offset,
                        fmt::format("expected {}, got '{}'", expected, ShownText(part.text)));
}

std::string_view Word(std::string_view words, const Part& part) {
  try {
    return OneOf(words, part.text);
  } catch (const BenchdnnRefusal& refusal) {
    throw BenchdnnRefusal(part.offset, refusal.what());
  }
}

double Number(Part part) {
  if (!part.text.empty() && part.text.back() == '*') part.text.remove_suffix(1);
  double value = 0;
  const char* end = part.text.data() + part.text.size();
  const auto [rest, error] = std::from_chars(part.text.data(), end, value);
  // benchdnn's own batch files contain 1.5e, which benchdnn reads as 1.5.
  const bool is_whole =
      rest == end || std::string_view(rest, static_cast<size_t>(end - rest)) == "e";
  if (error != std::errc() || !is_whole) Refuse(part, "a number");
  return value;
}

constexpr std::string_view kLayoutExpected = "a layout such as any, axb, nchw or aBcd16b";

// Returns whether a text is a layout. A letter may only occur again after a block size.
bool IsLayout(std::string_view text) {
  if (text == "any" || text == "undef") return true;
  std::string seen;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (std::isdigit(c) != 0 && i > 0) continue;
    const auto lower = static_cast<char>(std::tolower(c));
    const bool in_block = i > 0 && std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0;
    if (std::isalpha(c) == 0 || (!in_block && seen.find(lower) != std::string::npos)) return false;
    seen += lower;
  }
  return !text.empty();
}

// Parses "src:common:0.5*+wei:per_oc". Leaves out arguments whose value is `none`, which benchdnn
// treats as not specified.
std::string ReadArguments(std::string_view value, double none) {
  static constexpr std::array<std::string_view, 6> kArguments = {
      "src", "wei", "dst", "src1", "attr_post_op_dw_wei", "attr_post_op_dw_dst"};
  std::array<std::string, kArguments.size()> found;
  for (const Part& part : Split({value, 0}, '+')) {
    const auto fields = Split(part, ':');
    const std::string_view argument =
        fields[0].text == "src0" ? std::string_view("src") : fields[0].text;
    const auto row = std::ranges::find(kArguments, argument);
    if (row == kArguments.end()) Refuse(fields[0], "src, wei or dst");
    if (fields.size() < 2 || fields.size() > 3)
      Refuse(part, "ARGUMENT:POLICY or ARGUMENT:POLICY:VALUE");
    const auto policy = Word(kPolicies, fields[1]);
    const bool is_none = policy == "common" && (fields.size() < 3 || Number(fields[2]) == none);
    if (fields.size() == 3) Number(fields[2]);
    found.at(static_cast<size_t>(row - kArguments.begin())) =
        is_none ? "" : fmt::format("{}:{}", argument, policy);
  }
  std::string text;
  for (const auto& argument : found) Append(text, '+', argument);
  return text;
}

// A family of post-ops. Each letter of `arguments` is the kind of an argument that may follow: n
// number, t data type, p policy or mask of dimensions, l layout, a anything.
struct PostOps {
  std::string_view prefix;  // prefix of the long names
  std::string_view names;
  std::string_view arguments;
};
constexpr std::array<PostOps, 5> kPostOps = {{
    {"", "sum", "nnt"},
    {"", "dw dw_k3s1p1 dw_k3s2p1", "aaaaaaa"},
    {"eltwise_",
     "abs clip clip_v2 clip_v2_dst elu elu_dst exp exp_dst gelu_erf gelu_tanh hardsigmoid "
     "hardswish linear log logistic logistic_dst mish pow relu relu_dst round sqrt sqrt_dst square "
     "soft_relu srelu swish tanh tanh_dst clip_v2_use_dst_for_bwd elu_use_dst_for_bwd "
     "exp_use_dst_for_bwd logistic_use_dst_for_bwd relu_use_dst_for_bwd sqrt_use_dst_for_bwd "
     "tanh_use_dst_for_bwd",
     "nnn"},
    {"binary_", "add div eq ge gt le lt max min mul ne sub", "tpl"},
    {"", "prelu", "p"},
}};

struct FoundPostOp {
  std::string_view name, arguments;
};

FoundPostOp FindPostOp(const Part& part) {
  std::string lower(part.text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& row : kPostOps) {
    std::string_view name = lower;
    if (name.substr(0, row.prefix.size()) == row.prefix) name.remove_prefix(row.prefix.size());
    for (const auto known : logs::SplitText(row.names, ' '))
      if (known == name) return {known, row.arguments};
  }
  Refuse(part, "a post-op such as relu, sum, binary_add, dw or prelu");
}

void CheckArgument(char form, const Part& part) {
  if (part.text.empty()) Refuse(part, "a value after ':'");
  if (form == 'n') Number(part);
  if (form == 't') Word(kDataTypes, part);
  const bool mask = form == 'p' && part.text.find_first_not_of("0123456789") == part.text.npos;
  if (form == 'p' && !mask) Word(kPolicies, part);
  if (form == 'l' && !IsLayout(part.text)) Refuse(part, kLayoutExpected);
}

// Parses "relu:0.1:0" and checks its arguments.
std::string ReadPostOp(const Part& part) {
  const auto fields = Split(part, ':');
  const auto [name, arguments] = FindPostOp(fields[0]);
  if (fields.size() > arguments.size() + 1)
    Refuse(fields[arguments.size() + 1],
           fmt::format("{} arguments of {} at most", arguments.size(), name));
  for (size_t i = 1; i < fields.size(); ++i) CheckArgument(arguments[i - 1], fields[i]);
  const bool has_slope = name == "relu" && fields.size() > 1 && Number(fields[1]) != 0;
  const bool is_scaled = name == "sum" && fields.size() > 1 &&
                         (Number(fields[1]) != 1 || (fields.size() > 2 && Number(fields[2]) != 0) ||
                          fields.size() > 3);
  return fmt::format("{}{}{}", name, has_slope ? ":slope" : "", is_scaled ? ":scaled" : "");
}

// Returns the values of source, weights and destination, each as `read` spells it.
std::string ReadThree(std::string_view value, std::string_view what,
                      std::string_view (*read)(const Part&)) {
  const auto parts = Split({value, 0}, ':');
  if (parts.size() != 1 && parts.size() != 3)
    Refuse({value, 0}, fmt::format("one {}, or those of source, weights and destination", what));
  std::string text;
  for (size_t i = 0; i < 3; ++i) Append(text, ':', read(parts[parts.size() == 1 ? 0 : i]));
  return text;
}

}  // namespace

std::string ReadDataTypes(std::string_view value) {
  return ReadThree(value, "type", [](const Part& part) { return Word(kDataTypes, part); });
}

std::string ReadLayouts(std::string_view value) {
  return ReadThree(value, "layout", [](const Part& part) {
    if (part.text != "abx" && !IsLayout(part.text)) Refuse(part, kLayoutExpected);
    return part.text;
  });
}

std::string ReadLayout(std::string_view value) {
  if (value == "axb" || value == "acdb" || value == "nhwc") return "nhwc";
  if (value == "abx" || value == "abcd" || value == "nchw") return "nchw";
  if (!IsLayout(value)) Refuse({value, 0}, kLayoutExpected);
  return std::string(value);
}

std::string ReadCount(std::string_view value) {
  int32_t count = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, count);
  if (error != std::errc() || rest != end || count < 0)
    Refuse({value, 0}, fmt::format("an integer from 0 to {}", std::numeric_limits<int32_t>::max()));
  return std::to_string(count);
}

std::string ReadBool(std::string_view value) {
  const auto word = OneOf("true false 1 0", value);
  return word == "true" || word == "1" ? "true" : "false";
}

std::string ReadThreads(std::string_view value) {
  bool is_auto = true;
  const auto fields = Split({value, 0}, ':');
  if (fields.size() > 3) Refuse(fields[3], "three fields at most");
  for (const Part& field : fields) {
    if (field.text == "auto") continue;
    is_auto = false;
    if (field.text.empty() || field.text.find_first_not_of("0123456789") != std::string_view::npos)
      Refuse(field, "auto or an integer");
  }
  return is_auto ? "auto" : std::string(value);
}

std::string ReadScales(std::string_view value) { return ReadArguments(value, 1); }
std::string ReadZeroPoints(std::string_view value) { return ReadArguments(value, 0); }

std::string ReadPostOps(std::string_view value) {
  std::string text;
  for (const Part& part : Split({value, 0}, '+')) Append(text, '+', ReadPostOp(part));
  return text;
}

}  // namespace dlroof::suites
