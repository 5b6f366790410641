#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "bench/suites/benchdnn.h"
#include "bench/suites/suite.h"
#include "counters/base/error.h"
#include "reporters/text/text.h"

namespace dlroof::suites {
namespace {

constexpr const char* kDriver = "driver";  // key in reasons_ for an unknown driver
constexpr size_t kMaxBenchmarks = 500'000;

// Returns whether the word is a path of benchdnn ("./benchdnn"), which may begin a command.
bool IsProgram(std::string_view text) { return text.substr(text.rfind('/') + 1) == "benchdnn"; }

// Returns the driver named by an option --DRIVER, or null.
const BenchdnnDriver* NamedDriver(std::string_view text) {
  return text.starts_with("--") ? FindBenchdnnDriver(text.substr(2)) : nullptr;
}

// Returns the driver of the first option --DRIVER or problem; otherwise conv, benchdnn's default.
const BenchdnnDriver& FirstDriver(const std::vector<BenchdnnToken>& tokens) {
  for (const auto& token : tokens) {
    if (const auto* named = NamedDriver(token.text)) return *named;
    if (const auto* found = DriverOfProblem(token.text)) return *found;
  }
  return *FindBenchdnnDriver("conv");
}

class Reader {
 public:
  Reader(const std::string& file, const std::vector<BenchdnnToken>& tokens)
      : file_(file), choice_(FirstDriver(tokens)) {
    for (const auto& token : tokens) ReadToken(token);
  }

  std::vector<ForeignProblem> Take() { return std::move(benchmarks_); }

 private:
  // Why an option makes the following problems unsupported, and its line.
  struct OptionReason {
    std::string text;
    int line = 0;
  };

  void ReadToken(const BenchdnnToken& token);
  void ReadOption(std::string_view option, std::string_view value, int line);
  void ReadProblem(const BenchdnnToken& token);
  ForeignProblem& Add(const BenchdnnToken& token);

  const std::string& file_;
  BenchdnnChoice choice_;
  std::map<std::string, OptionReason> reasons_;  // by option name
  std::vector<ForeignProblem> benchmarks_;
};

void Reader::ReadToken(const BenchdnnToken& token) {
  const std::string_view text = token.text;
  const auto equals = text.find('=');
  if (const auto* driver = NamedDriver(text)) {
    choice_ = BenchdnnChoice(*driver);
    // Reasons of options before --DRIVER on the same line are kept: they belong to its command.
    std::erase_if(reasons_, [&](const auto& reason) {
      return reason.first == kDriver || reason.second.line != token.line;
    });
  } else if (text == "--reset") {
    choice_ = BenchdnnChoice(choice_.Driver());
    reasons_.clear();
  } else if (text.starts_with("--batch=")) {
    Add(token).reason = "--batch: name that file itself instead of this option";
  } else if (text.starts_with("--") && equals != std::string_view::npos) {
    ReadOption(text.substr(2, equals - 2), text.substr(equals + 1), token.line);
  } else if (text.starts_with('-') && !text.starts_with("-v")) {
    // Such as a driver that dlroof lacks.
    reasons_[kDriver] = {fmt::format("unknown option '{}'", ShownText(text)), token.line};
  } else if (!text.starts_with('-') && !IsProgram(text)) {
    ReadProblem(token);
  }
}

void Reader::ReadOption(std::string_view option, std::string_view value, int line) {
  std::string name(option);
  std::ranges::replace(name, '_', '-');  // older versions of benchdnn
  reasons_.erase(name);
  try {
    if (!choice_.Set(name, value) && !IsIgnoredOption(name) && !value.empty())
      throw BadInput("unknown option --{} of benchdnn's driver {}", ShownText(name),
                     choice_.Driver().name);
  } catch (const BadInput& error) {
    reasons_[name] = {error.text, line};
  }
}

ForeignProblem& Reader::Add(const BenchdnnToken& token) {
  if (benchmarks_.size() == kMaxBenchmarks)
    throw BadInput({file_, token.line}, "the file has more than {} benchmarks", kMaxBenchmarks);
  return benchmarks_.emplace_back(
      ForeignProblem{{file_, token.line, token.text, ""}, std::nullopt});
}

void Reader::ReadProblem(const BenchdnnToken& token) {
  auto& made = Add(token);
  if (!reasons_.empty()) {
    made.reason = reasons_.begin()->second.text;
    return;
  }
  try {
    const auto name = choice_.Driver().name_of(token.text, choice_);
    if (const auto* reason = std::get_if<Reason>(&name))
      made.reason = reason->text;
    else
      made.name = std::get<std::string>(name);
  } catch (const BadInput& error) {
    made.reason = fmt::format("'{}': {}", ShownText(token.text), error.text);
  }
}

}  // namespace

bool LooksLikeBenchdnn(std::string_view text) {
  // Reads only the first word, because the file may be long.
  for (size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto tokens = BenchdnnTokens(text.substr(at, end - at));
    at = end + 1;
    if (tokens.empty()) continue;
    const std::string& word = tokens.front().text;
    return word.front() == '-' || IsProgram(word) || DriverOfProblem(word) != nullptr;
  }
  return false;
}

std::vector<ForeignProblem> ReadBenchdnn(std::string_view text, const std::string& file) {
  return Reader(file, BenchdnnTokens(text)).Take();
}

}  // namespace dlroof::suites
