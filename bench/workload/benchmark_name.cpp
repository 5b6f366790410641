
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>

#include "bench/workload/workload.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::workload {

bool TextCursor::Accept(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

void TextCursor::Expect(std::string_view word) {
  if (!Accept(word)) Refuse(fmt::format("'{}'", word));
}

int64_t TextCursor::Integer(int64_t least, std::string_view what) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  const size_t start = at_;
  int64_t value = 0;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
    value = value * 10 + (text_[at_] - '0');
    ++at_;
    if (value > kMax) break;
  }
  const bool leading_zero = at_ - start > 1 && text_[start] == '0';
  if (at_ == start || leading_zero || value < least || value > kMax) {
    at_ = start;
    Refuse(fmt::format("{}, an integer from {} to {}", what, least, kMax));
  }
  return value;
}

void TextCursor::Sizes(std::initializer_list<Size> sizes) {
  for (const auto& [letter, value] : sizes) {
    Expect(letter);
    value = Integer(1, fmt::format("the size {}", letter));
  }
}

void TextCursor::Refuse(std::string_view expected) const {
  const auto got = AtEnd() ? std::string("the end") : fmt::format("'{}'", text_[at_]);
  throw BadInput({.column = column_offset_ + static_cast<int>(at_) + 1}, "expected {}, got {}",
                 expected, got);
}

int64_t CheckedCount(std::initializer_list<int64_t> sizes, std::string_view what) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    const int64_t before = count;
    if (__builtin_mul_overflow(before, size, &count))
      throw BadInput("{} overflows 64 bits ({} x {})", what, before, size);
  }
  return count;
}

namespace {

constexpr int kParts = 6;

void CheckCharacters(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (std::isalnum(c) != 0 || std::string_view("/_.:+-").find(text[i]) != std::string_view::npos)
      continue;
    throw BadInput({.column = static_cast<int>(i) + 1},
                   "a benchmark name has only letters, digits and / _ . : + -");
  }
}

}  // namespace

std::string ToText(const BenchmarkName& name) {
  std::string text = fmt::format("{}/{}/{}/{}/{}/{}", name.op, name.device, name.library,
                                 name.direction, name.type, name.problem);
  for (const auto& option : name.options) text += '/' + option;
  return text;
}

BenchmarkName ParseBenchmarkName(const std::string& text) {
  CheckCharacters(text);
  std::vector<std::string> parts;
  for (const auto part : logs::SplitText(text, '/')) {
    if (part.empty())
      throw BadInput({.column = static_cast<int>(part.data() - text.data()) + 1},
                     "empty part of a benchmark name");
    parts.emplace_back(part);
  }
  if (parts.size() < kParts)
    throw BadInput({.column = static_cast<int>(text.size()) + 1},
                   "expected op/device/library/direction/type/problem, got {} part{}", parts.size(),
                   parts.size() == 1 ? "" : "s");
  return {parts[0],
          parts[1],
          parts[2],
          parts[3],
          parts[4],
          parts[5],
          {parts.begin() + kParts, parts.end()}};
}

namespace {

std::optional<Reason> InvalidReason(const std::string& name) {
  try {
    MakeWorkload(name);
  } catch (const BadInput& error) {
    return Reason{fmt::format("{}: {}", name, error.what())};
  }
  return std::nullopt;
}

void CheckName(const std::string& name) {
  if (const auto reason = InvalidReason(name)) throw BadInput(reason->text);
}

const roofline::SweepWord& WordOf(const BenchmarkName& name, const std::string& parameter) {
  const auto& words = FindOp(name.op)->words.sweep;
  const auto found = std::ranges::find(words, parameter, &roofline::SweepWord::name);
  if (found != words.end()) return *found;
  std::vector<std::string> names(words.size());
  std::ranges::transform(words, names.begin(), &roofline::SweepWord::name);
  throw BadInput("--sweep={}: {} has no such parameter; it has {}", parameter, name.op,
                 fmt::join(names, ", "));
}

}  // namespace

std::string WithSize(const std::string& name, const std::string& parameter, std::int64_t value) {
  CheckName(name);
  auto parsed = ParseBenchmarkName(name);
  const auto& word = WordOf(parsed, parameter);
  std::optional<Reason> first;
  for (const auto& problem : roofline::WithValue(parsed.problem, word, std::to_string(value))) {
    parsed.problem = problem;
    const auto reason = InvalidReason(ToText(parsed));
    if (!reason) return ToText(parsed);
    if (!first) first = reason;
  }
  throw BadInput("{} {}: {}", parameter, value, first ? first->text : "");
}

std::int64_t SizeOf(const std::string& name, const std::string& parameter) {
  CheckName(name);
  const auto parsed = ParseBenchmarkName(name);
  const auto& word = WordOf(parsed, parameter);
  const auto parts = roofline::ProblemParts(parsed.problem);
  const auto found = std::ranges::find(parts, word.key, &roofline::ProblemPart::key);
  return found == parts.end() ? 1 : std::stoll(found->value);
}

std::string WithThreads(const std::string& name, int threads) {
  CheckName(name);
  auto parsed = ParseBenchmarkName(name);
  if (parsed.device != "cpu")
    throw BadInput("{}: only benchmarks on the CPU have a number of threads to sweep", name);
  for (const auto& option : parsed.options)
    if (option.starts_with("threads"))
      throw BadInput("{}: the name already fixes the number of threads; remove {}", name, option);
  auto place = parsed.options.end();
  if (!parsed.options.empty() && parsed.options.back().starts_with(Key(CacheState::kCold))) --place;
  parsed.options.insert(place, fmt::format("threads{}", threads));
  return ToText(parsed);
}

}  // namespace dlroof::workload
