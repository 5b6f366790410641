#include "bench/suite.h"

#include <fmt/format.h>

#include <map>

#include "bench/workload.h"
#include "counters/error.h"

namespace dlroof {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMostNames = 10000;
constexpr std::string_view kSpace = " \t\r";

// A line without its comment and the spaces around it.
struct Line {
  std::string_view text;
  size_t begin = 0;  // characters before it
};

Line Trimmed(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const auto begin = line.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return {line.substr(begin, line.find_last_not_of(kSpace) - begin + 1), begin};
}

// For messages: a name from a hostile file may be long and hold control characters.
std::string Shown(std::string_view name) {
  std::string shown(name.substr(0, 160));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return name.size() > shown.size() ? shown + "..." : shown;
}

// One brace list, or the text between two of them as its only choice.
using Choices = std::vector<std::string>;

std::vector<std::string> Split(std::string_view list) {
  std::vector<std::string> choices(1);
  for (const char c : list) {
    if (c == ',')
      choices.emplace_back();
    else
      choices.back() += c;
  }
  return choices;
}

// Throws BadInput with the column for braces that do not match.
std::vector<Choices> ReadBraces(const Line& line) {
  const auto refuse = [&](size_t at, std::string_view why) {
    throw BadInput(fmt::format("column {}: {}", line.begin + at + 1, why));
  };
  std::vector<Choices> parts;
  for (size_t at = 0; at < line.text.size();) {
    const auto open = std::min(line.text.find_first_of("{}", at), line.text.size());
    if (open > at) parts.push_back({std::string(line.text.substr(at, open - at))});
    if (open == line.text.size()) break;
    if (line.text[open] == '}') refuse(open, "'}' without its '{'");
    const auto close = line.text.find_first_of("{}", open + 1);
    if (close == std::string_view::npos) refuse(open, "'{' without its '}'");
    if (line.text[close] == '{') refuse(close, "brace lists do not nest");
    parts.push_back(Split(line.text.substr(open + 1, close - open - 1)));
    if (parts.back().size() < 2) refuse(open, "a brace list has two choices or more: {a,b}");
    at = close + 1;
  }
  return parts;
}

// Throws BadInput when there would be more than `most`.
std::vector<std::string> Expanded(const std::vector<Choices>& parts, size_t most) {
  size_t count = 1;
  for (const auto& choices : parts)
    if ((count *= choices.size()) > most)
      throw BadInput(fmt::format("a suite holds {} names at most, here are more", kMostNames));
  std::vector<std::string> names(1);
  for (const auto& choices : parts) {
    std::vector<std::string> longer;
    for (const auto& name : names)
      for (const auto& choice : choices) longer.push_back(name + choice);
    names = std::move(longer);
  }
  return names;
}

void CheckName(const std::string& name, std::string_view line) {
  try {
    MakeWorkload(name);
  } catch (const Unsupported&) {
    // Recorded with its reason when its turn comes.
  } catch (const BadInput& error) {
    if (name == line) throw;
    throw BadInput(fmt::format("in the name {}: {}", Shown(name), error.what()));
  }
}

class SuiteReader {
 public:
  void Read(std::string_view line, int number) {
    const auto trimmed = Trimmed(line);
    if (trimmed.text.empty()) return;
    for (auto& name : Expanded(ReadBraces(trimmed), kMostNames - names_.size())) {
      CheckName(name, line);
      const auto [first, is_new] = line_of_.emplace(name, number);
      if (!is_new)
        throw BadInput(fmt::format("{} is there already, in line {}", Shown(name), first->second));
      names_.push_back(std::move(name));
    }
  }
  std::vector<std::string> TakeNames() { return std::move(names_); }

 private:
  std::vector<std::string> names_;
  std::map<std::string, int> line_of_;
};

std::string WholeText(std::istream& stream, const std::string& file) {
  std::string text(kMostBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || !stream.eof()) {
    const bool too_long = static_cast<size_t>(stream.gcount()) > kMostBytes;
    throw BadInput(file + (too_long ? ": a suite is 1 MiB long at most" : ": cannot be read"));
  }
  text.resize(static_cast<size_t>(stream.gcount()));
  return text;
}

}  // namespace

std::vector<std::string> ReadSuite(std::istream& stream, const std::string& file) {
  const auto text = WholeText(stream, file);
  SuiteReader reader;
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    ++number;
    try {
      reader.Read(std::string_view(text).substr(at, end - at), number);
    } catch (const BadInput& error) {
      throw BadInput(fmt::format("{}:{}: {}", file, number, error.what()));
    }
    at = end + 1;
  }
  auto names = reader.TakeNames();
  if (names.empty()) throw BadInput(file + ": no benchmark name in it");
  return names;
}

}  // namespace dlroof
