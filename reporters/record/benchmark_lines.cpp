#include <fmt/format.h>

#include <algorithm>

#include "counters/base/error.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/record/large_json.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::record {
namespace {

// Members that are integers. A locale may write them in groups, e.g. "1.048.576".
constexpr std::string_view kIntegers =
    " iterations size level num_sharing num_cpus mhz_per_cpu threads repetitions repetition_index "
    "family_index per_family_instance_index ";

// A line "key": value, without a comma at its end.
struct MemberLine {
  std::string_view key;    // between its quotes
  std::string_view value;  // may be empty
};

std::optional<MemberLine> MemberOf(std::string_view line) {
  const auto end = line.find("\":", 1);
  if (!line.starts_with('"') || end == line.npos) return std::nullopt;
  return MemberLine{line.substr(1, end - 1), text::Trimmed(line.substr(end + 2))};
}

// Returns an integer whose digits may be in groups (by points, commas, apostrophes, blanks).
std::optional<double> IntegerOf(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c >= '0' && c <= '9')
      digits += c;
    else if (std::string_view(".,' \xC2\xA0\xE2\x80\xAF\x99").find(c) == std::string_view::npos)
      return std::nullopt;
  }
  return text::PlainNumber(digits);
}

bool IsInteger(std::string_view key) {
  return kIntegers.find(fmt::format(" {} ", key)) != kIntegers.npos;
}

constexpr char kBreak = '\v';  // ends a line within a line of the file (InLines)

// Splits JSON that lacks Google Benchmark's line ends: adds a kBreak after each bracket and member.
// A comma before a digit ends no member, because it is a decimal comma or between two numbers.
std::string InLines(std::string_view text) {
  std::string lines;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto after = text.find_first_not_of(" \t\r\n", i + 1);
    const char next = after == text.npos ? '\n' : text[after];
    if (c == '\n' || (c == '"' && (i == 0 || text[i - 1] != '\\'))) quoted = c == '"' && !quoted;
    if (c == '}' && !quoted) lines += kBreak;
    lines += c;
    const bool ends = c == '{' || (c == '[' && next == '{') ||
                      ((c == '}' || c == ']') && next != ',') ||
                      (c == ',' && std::string_view("\"{}]").find(next) != std::string_view::npos);
    if (ends && !quoted) lines += kBreak;
  }
  return lines;
}

class Repair {
 public:
  Repair(std::string_view text, const std::string& where) : where_(where) {
    for (int number = 1; !text.empty();) {
      const auto end = std::min(text.find_first_of(std::string{'\n', kBreak}), text.size());
      lines_.push_back(text::Trimmed(text.substr(0, end)));
      numbers_.push_back(number);
      number += end < text.size() && text[end] == '\n' ? 1 : 0;
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  std::optional<BenchmarkLines> Run() {
    const auto first = std::ranges::find_if(lines_, [](std::string_view line) {
      const auto member = MemberOf(line);
      return member && (member->key == "context" || member->key == "benchmarks") &&
             (member->value == "{" || member->value == "[");
    });
    const bool own = std::ranges::any_of(lines_, [](std::string_view line) {
      const auto member = MemberOf(line);
      return member && member->key == "dlroof" && member->value == "{";
    });
    if (own || first == lines_.end()) return std::nullopt;
    FindMark();
    at_ = static_cast<std::size_t>(first - lines_.begin());
    for (std::size_t i = 0; i < at_; ++i)
      if (!lines_[i].empty() && lines_[i] != "{") LeaveOut(strange_, i);
    Open('{');
    for (; at_ < lines_.size(); ++at_) Take(lines_[at_]);
    if (ended_) {
      while (!open_.empty()) Close();
    }
    Describe(strange_, "lines that are not Google Benchmark's");
    Describe(invalid_, "members without a valid value");
    if (grouped_ || mark_ == text::DecimalMark::kComma)
      repaired_.remarks.emplace_back(
          "its numbers have the decimal mark and groups of the program's locale: run it with "
          "LC_ALL=C, or with Google Benchmark 1.9.5 or later");
    return std::move(repaired_);
  }

 private:
  struct LeftOut {
    int count = 0;          // [1]
    std::size_t first = 0;  // index of the line
  };

  void LeaveOut(LeftOut& kind, std::size_t line) {
    if (kind.count++ == 0) kind.first = line;
  }

  void Describe(const LeftOut& kind, const char* what) {
    if (kind.count == 0) return;
    repaired_.remarks.push_back(fmt::format("{} {} are left out, line {} first: '{}'", kind.count,
                                            what, numbers_[kind.first],
                                            text::Printable(lines_[kind.first].substr(0, 60))));
  }

  // Sets mark_ if a number of the file, and grouped_ if an integer, is not in the "C" locale.
  void FindMark() {
    text::NumberConvention convention;
    bool foreign = false;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      auto line = lines_[i];
      if (line.ends_with(',')) line.remove_suffix(1);
      const auto member = MemberOf(line);
      if (!member || member->value.empty()) continue;
      if (IsInteger(member->key)) {
        grouped_ |= IntegerOf(member->value) && !text::PlainNumber(member->value);
        continue;
      }
      const bool number = text::NumberIn(member->value, text::DecimalMark::kComma) ||
                          text::NumberIn(member->value, text::DecimalMark::kPoint);
      if (!number) continue;
      convention.Add(member->value, numbers_[i]);
      foreign = foreign || !text::PlainNumber(member->value);
    }
    if (foreign) mark_ = convention.Decide(where_);
  }

  bool In(char bracket) const { return !open_.empty() && open_.back() == bracket; }

  // Adds the comma before a value, unless the value is the first in its list.
  void Begin() {
    if (!repaired_.json.empty() && repaired_.json.back() != '{' && repaired_.json.back() != '[' &&
        repaired_.json.back() != ':')
      repaired_.json += ',';
  }

  void Open(char bracket) {
    Begin();
    repaired_.json += bracket;
    open_ += bracket;
  }

  void Close() {
    repaired_.json += open_.back() == '{' ? '}' : ']';
    open_.pop_back();
  }

  void Take(std::string_view line) {
    if (line.empty() || (skipping_ && !line.starts_with("\"benchmarks\":"))) return;
    auto body = line;
    if (body.ends_with(',')) body.remove_suffix(1);
    if (body == "}" || body == "]") return End(body[0]);
    if (const auto member = MemberOf(body)) return TakeMember(*member);
    // Text may stand before the bracket that begins an element.
    if (!body.ends_with('{')) return LeaveOut(strange_, at_);
    if (body != "{") LeaveOut(strange_, at_);
    if (In('{') && open_.size() == kInElement) Close();  // the last element's end is missing
    if (In('[')) Open('{');
  }

  void End(char bracket) {
    if (bracket == ']') {
      if (open_.find('[') == open_.npos) return LeaveOut(strange_, at_);
      while (In('{')) Close();
      return Close();
    }
    if (In('{') && open_.size() > 1) return Close();
    ended_ = true;
  }

  void TakeMember(const MemberLine& member) {
    if (member.key == "context" || member.key == "benchmarks")
      while (open_.size() > 1) Close();
    if (skipping_) {  // the later run's context ends here
      skipping_ = false;
      repaired_.json.pop_back();
      open_ += '[';
      return;
    }
    if (member.key == "context" && repaired_.json.ends_with(']')) {
      skipping_ = true;
      ended_ = false;
      repaired_.remarks.emplace_back("it has several runs; the context of the first one counts");
      return;
    }
    if (In('[')) Open('{');  // the element's begin is missing
    const auto value = ValueOf(member);
    if (!value) return LeaveOut(invalid_, at_);
    Begin();
    repaired_.json += QuotedJson(member.key) + ":";
    if (*value == "{" || *value == "[")
      Open(value->front());
    else
      repaired_.json += *value;
  }

  // Returns the member's value as JSON, or nullopt if it is not valid.
  std::optional<std::string> ValueOf(const MemberLine& member) {
    const auto text = member.value;
    if (text.starts_with('"')) return StringFrom(std::string(text));
    if (text == "{" || text == "[" || text == "true" || text == "false" || text == "null" ||
        text == "[]" || text == "{}")
      return std::string(text);
    if (text.starts_with('[') && text.ends_with(']')) return mark_ ? "[]" : std::string(text);
    if (const auto integer = IntegerOf(text);
        integer && IsInteger(member.key) && (mark_ || grouped_))
      return fmt::format("{}", *integer);
    if (text::IsNoValue(text)) return "null";
    const auto number = text::NumberIn(text, mark_.value_or(text::DecimalMark::kPoint));
    return number ? std::optional(fmt::format("{}", *number)) : std::nullopt;
  }

  // Returns as JSON the string that `text` begins and later lines may end; nullopt if none ends it.
  std::optional<std::string> StringFrom(std::string text) {
    std::size_t end = at_;
    while (text.size() < 2 || !text.ends_with('"')) {
      if (++end == lines_.size() || MemberOf(lines_[end])) return std::nullopt;
      auto line = lines_[end];
      if (line.ends_with("\",")) line.remove_suffix(1);
      text += '\n' + std::string(line);
    }
    at_ = end;
    return QuotedJson(std::string_view(text).substr(1, text.size() - 2));
  }

  static constexpr std::size_t kInElement = 3;  // brackets that are open in an element of a list

  const std::string& where_;
  std::vector<std::string_view> lines_;
  std::vector<int> numbers_;               // line numbers in the file, from 1
  std::size_t at_ = 0;                     // index of the current line
  std::string open_;                       // brackets that are open, outermost first
  bool skipping_ = false;                  // the current line is in the context of a later run
  bool ended_ = false;                     // the outermost bracket was closed
  bool grouped_ = false;                   // an integer has groups of digits
  std::optional<text::DecimalMark> mark_;  // set if the numbers are not in the "C" locale
  LeftOut strange_, invalid_;
  BenchmarkLines repaired_;
};

}  // namespace

std::optional<BenchmarkLines> RepairedBenchmarkLines(std::string_view text,
                                                     const std::string& where) {
  const auto plain = text::WithoutEscapes(text);
  auto repaired = Repair(plain, where).Run();
  if (!repaired && plain.find("\"benchmarks\"") != plain.npos)
    repaired = Repair(InLines(plain), where).Run();
  return repaired;
}

}  // namespace dlroof::record
