#include "bench/profile/log_separator.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>

#include "counters/base/error.h"
#include "reporters/text/numbers.h"

namespace dlroof::profile {
namespace {

constexpr std::string_view kMarkerEnd = "_verbose,";
constexpr std::array<std::string_view, 3> kMarkers = {"onednn", "mkldnn", "dnnl"};
// Words after a marker and a comma in oneDNN 0.18 to 3.13. A time stamp may precede them (2.x).
constexpr std::array<std::string_view, 11> kWords = {"info,",   "exec,",   "create",  "primitive,",
                                                     "graph,",  "common,", "ukernel", "error,",
                                                     "profile", "warn",    "stack,"};
// [byte] Limit of an interrupted line's second half, for which the program's output waits.
constexpr std::size_t kLongestTail = 4096;
constexpr std::string_view kMark = "DLROOF_MARK,";
constexpr std::size_t kLongestMark = 256;

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Returns all texts with which lines of oneDNN begin.
const std::vector<std::string>& Beginnings() {
  static const auto all = [] {
    std::vector<std::string> texts;
    for (const auto marker : kMarkers) {
      const auto begin = std::string(marker) + std::string(kMarkerEnd);
      for (const auto word : kWords) texts.push_back(begin + std::string(word));
      for (char digit = '0'; digit <= '9'; ++digit) {
        texts.push_back(begin + digit);
        texts.push_back(begin + 'v' + digit);
      }
    }
    return texts;
  }();
  return all;
}

struct Found {
  std::size_t begin = std::string_view::npos, length = 0;
};

// Returns the first complete beginning of a line in the text.
Found FindBeginning(std::string_view text) {
  for (auto at = text.find(kMarkerEnd); at != std::string_view::npos;
       at = text.find(kMarkerEnd, at + 1))
    for (const auto marker : kMarkers) {
      if (!text.substr(0, at).ends_with(marker)) continue;
      const auto after = text.substr(at + kMarkerEnd.size());
      const bool word =
          std::ranges::any_of(kWords, [&](std::string_view one) { return after.starts_with(one); });
      const bool stamp = !after.empty() && IsDigit(after[0]);
      const bool version = after.size() > 1 && after[0] == 'v' && IsDigit(after[1]);
      if (word || stamp || version)
        return {at - marker.size(), marker.size() + kMarkerEnd.size() + 1};
    }
  return {};
}

// Returns how many bytes at the end of the text may be an incomplete beginning of a line.
std::size_t PartialBeginning(std::string_view text) {
  static const auto longest = std::ranges::max(Beginnings(), {}, &std::string::size).size();
  for (auto length = std::min(longest - 1, text.size()); length > 0; --length) {
    const auto end = text.substr(text.size() - length);
    if (end[0] != 'o' && end[0] != 'm' && end[0] != 'd') continue;
    if (std::ranges::any_of(Beginnings(),
                            [&](const std::string& one) { return one.starts_with(end); }))
      return length;
  }
  return 0;
}

// Returns whether the text (no newline) ends like a line of oneDNN: with a comma and a time.
bool EndsAsLine(std::string_view text) {
  const auto comma = text.rfind(',');
  if (comma == std::string_view::npos || comma + 1 == text.size()) return false;
  const auto time = text.substr(comma + 1);
  return IsDigit(time[0]) && std::ranges::all_of(time, [](char c) {
           return IsDigit(c) || c == '.' || c == 'e' || c == '-' || c == '+';
         });
}

}  // namespace

LogSeparator::Output LogSeparator::Add(std::string_view bytes) {
  held_ += bytes;
  Output output;
  Drain(output);
  return output;
}

LogSeparator::Output LogSeparator::Release() {
  Output output;
  if (state_ == State::kLine) return output;
  GiveUpTails(output);
  TakeOwn(Rest(), output);
  held_.clear();
  at_ = 0;
  return output;
}

LogSeparator::Output LogSeparator::End() {
  Output output;
  if (state_ == State::kLine) {
    line_ += Rest();
    held_.clear();
    at_ = 0;
    ++cut_lines_;
    output.log += line_ + '\n';
    line_.clear();
    state_ = State::kOwn;
  }
  const auto rest = Release();
  output.own += rest.own;
  output.log += rest.log;
  return output;
}

void LogSeparator::Drain(Output& output) {
  for (bool more = true; more;) switch (state_) {
      case State::kOwn:
        more = DrainOwn(output);
        break;
      case State::kLine:
        more = DrainLine(output);
        break;
      case State::kTail:
        more = DrainTail(output);
        break;
    }
  held_.erase(0, at_);
  at_ = 0;
}

void LogSeparator::TakeOwn(std::string_view bytes, Output& output) {
  output.own += bytes;
  while (!bytes.empty()) {
    const auto end = bytes.find_first_of("\r\n");
    const auto available = kLongestMark - std::min(kLongestMark, own_line_.size());
    own_line_ += bytes.substr(0, std::min(end, available));
    if (end == std::string_view::npos) return;
    if (bytes[end] == '\n' && own_line_.starts_with(kMark)) output.log += own_line_ + '\n';
    if (bytes[end] == '\n' || !own_line_.starts_with(kMark)) own_line_.clear();
    bytes.remove_prefix(end + 1);
  }
}

bool LogSeparator::DrainOwn(Output& output) {
  const auto rest = Rest();
  const auto found = FindBeginning(rest);
  if (found.length == 0) {
    const auto certain = rest.size() - PartialBeginning(rest);
    TakeOwn(rest.substr(0, certain), output);
    at_ += certain;
    return false;
  }
  TakeOwn(rest.substr(0, found.begin), output);
  at_ += found.begin;
  BeginLine(found.length);
  return true;
}

void LogSeparator::BeginLine(std::size_t marker) {
  line_ = Rest().substr(0, marker);
  at_ += marker;
  state_ = State::kLine;
}

bool LogSeparator::DrainLine(Output& output) {
  const auto rest = Rest();
  const auto newline = rest.find('\n');
  const auto found = FindBeginning(rest.substr(0, newline));
  if (found.length > 0) {
    line_ += rest.substr(0, found.begin);
    at_ += found.begin;
    cut_.push_back(line_);
    BeginLine(found.length);
    return true;
  }
  if (newline == std::string_view::npos) {
    const auto certain = rest.size() - PartialBeginning(rest);
    line_ += rest.substr(0, certain);
    at_ += certain;
    return false;
  }
  line_ += rest.substr(0, newline);
  at_ += newline + 1;
  EndLine(line_, output);
  return true;
}

void LogSeparator::EndLine(const std::string& line, Output& output) {
  ++lines_;
  if (line.find(",exec,") != std::string::npos) ++executed_;
  const auto info = line.find(",info,");
  if (info != std::string::npos && line.find("NN v", info) != std::string::npos) ++versions_;
  output.log += line;
  output.log += '\n';
  state_ = cut_.empty() ? State::kOwn : State::kTail;
}

bool LogSeparator::DrainTail(Output& output) {
  const auto rest = Rest();
  const auto newline = rest.find('\n');
  const auto found = FindBeginning(rest.substr(0, newline));
  if (found.length > 0 && found.begin == 0) {
    BeginLine(found.length);
    return true;
  }
  const bool whole = newline != std::string_view::npos && found.length == 0;
  if (whole && EndsAsLine(rest.substr(0, newline))) {
    const auto line = cut_.back() + std::string(rest.substr(0, newline));
    cut_.pop_back();
    at_ += newline + 1;
    EndLine(line, output);
    return true;
  }
  if (newline == std::string_view::npos && found.length == 0 && rest.size() < kLongestTail)
    return false;
  GiveUpTails(output);
  return true;
}

void LogSeparator::GiveUpTails(Output& output) {
  cut_lines_ += cut_.size();
  for (const auto& line : cut_) output.log += line + '\n';
  cut_.clear();
  state_ = State::kOwn;
}

namespace {

// [byte] Longer lines are cut: std::regex recurses as deeply as a match is long.
constexpr std::size_t kLongestLine = 4096;

std::optional<double> NumberOf(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return text::PlainNumber(text);
}

}  // namespace

std::regex NumberPattern(const std::string& flag, const std::string& text) {
  std::optional<std::regex> pattern;
  try {
    pattern.emplace(text, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    throw BadInput("{} '{}': not a regular expression: {}", flag, text, error.what());
  }
  if (pattern->mark_count() != 1)
    throw BadInput("{} '{}': expected one group in round brackets, the number; got {}", flag, text,
                   pattern->mark_count());
  return *pattern;
}

std::vector<double> NumbersIn(std::string_view text, const std::regex& pattern) {
  std::vector<double> numbers;
  while (!text.empty()) {
    const auto end = text.find_first_of("\n\r");
    const auto line = text.substr(0, std::min(end, kLongestLine));
    for (std::cregex_iterator match(line.data(), line.data() + line.size(), pattern), none;
         match != none; ++match)
      if (const auto number = NumberOf((*match)[1].str())) numbers.push_back(*number);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return numbers;
}

}  // namespace dlroof::profile
