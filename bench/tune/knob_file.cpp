#include "bench/tune/knob_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/cpu/cpu.h"

namespace dlroof::tune {
namespace {

constexpr std::string_view kKnob = "knob", kChangesResults = "changes results",
                           kActsOn = "acts on ", kDefault = "default ";
const std::map<std::string_view, std::set<programs::ProgramComponentKind>> kParts = {
    {"primitives",
     {programs::ProgramComponentKind::kRoof, programs::ProgramComponentKind::kSlowdown,
      programs::ProgramComponentKind::kNoRoof}},
    {"reorders", {programs::ProgramComponentKind::kMoves}},
    {"creation", {programs::ProgramComponentKind::kCreation}},
    {"outside",
     {programs::ProgramComponentKind::kOutside, programs::ProgramComponentKind::kOperator}}};
constexpr std::string_view kBlank = " \t\r";

std::string_view Trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

// Thrown for a choice that is not possible on this machine.
struct ImpossibleChoice {
  std::string reason;
};

class KnobReader {
 public:
  KnobReader(std::string file, const KnobPlace& place, bool may_change_results, Knobs& knobs)
      : file_(std::move(file)), place_(place), may_change_(may_change_results), knobs_(knobs) {}

  void Read(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      const auto content = Trimmed(std::string_view(line).substr(0, line.find('#')));
      if (content.empty()) continue;
      if (content.starts_with(kDefault)) {
        AddDefault(Trimmed(content.substr(kDefault.size())));
        continue;
      }
      const auto bar = content.find('|');
      const auto what = Trimmed(content.substr(0, bar));
      const auto reason = bar == std::string_view::npos ? "" : Trimmed(content.substr(bar + 1));
      if (reason.empty()) Refuse("expected '| ' and a reason at the end of the line");
      if (what == kKnob ||
          (what.starts_with(kKnob) && kBlank.find(what[kKnob.size()]) != kBlank.npos))
        BeginKnob(Trimmed(what.substr(kKnob.size())), reason);
      else
        AddChoice(what, reason);
    }
    EndKnob();
  }

 private:
  template <class... Parts>
  [[noreturn]] void Refuse(fmt::format_string<Parts...> words, Parts&&... parts) const {
    throw BadInput(BadInput::Place{file_, line_},
                   fmt::format(words, std::forward<Parts>(parts)...));
  }

  void BeginKnob(std::string_view name, std::string_view reason) {
    EndKnob();
    changes_ = false;
    acts_on_.clear();
    defaults_.clear();
    const auto comma = name.find(',');
    auto rest = comma == std::string_view::npos ? "" : name.substr(comma + 1);
    name = Trimmed(name.substr(0, comma));
    if (comma != std::string_view::npos) do {
        const auto end = std::min(rest.find(','), rest.size());
        AddProperty(name, Trimmed(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
      } while (!rest.empty());
    if (name.empty()) Refuse("expected a name after 'knob'");
    for (const auto& known : knobs_.coordinates)
      if (known.name == name) Refuse("knob {}: there is one of this name already", name);
    knob_ = tuning::Coordinate{std::string(name), std::string(reason), {}};
  }

  // Parses "changes results" or "acts on outside and creation".
  void AddProperty(std::string_view knob, std::string_view words) {
    constexpr std::string_view kAnd = " and ";
    if (words == kChangesResults) {
      changes_ = true;
      return;
    }
    if (!words.starts_with(kActsOn))
      Refuse("knob {}: expected '{}' or '{}PART and PART' after a comma", knob, kChangesResults,
             kActsOn);
    for (words.remove_prefix(kActsOn.size()); !words.empty();) {
      const auto end = std::min(words.find(kAnd), words.size());
      const auto part = Trimmed(words.substr(0, end));
      const auto kinds = kParts.find(part);
      if (kinds == kParts.end())
        Refuse("knob {}: '{}': expected primitives, reorders, creation or outside", knob, part);
      acts_on_.insert(kinds->second.begin(), kinds->second.end());
      words.remove_prefix(std::min(end + kAnd.size(), words.size()));
    }
  }

  void EndKnob() {
    if (!knob_) return;
    if (!acts_on_.empty()) knobs_.acts_on[knob_->name] = acts_on_;
    if (changes_ && !may_change_)
      knobs_.skipped.push_back(
          fmt::format("{}: it changes results (--allow-precision tries it)", knob_->name));
    else if (!knob_->choices.empty())
      knobs_.coordinates.push_back(std::move(*knob_));
    knob_.reset();
  }

  void AddChoice(std::string_view words, std::string_view reason) {
    if (!knob_) Refuse("expected 'knob NAME | REASON' before the first choice");
    tuning::Choice choice{{}, std::string(reason)};
    try {
      while (!(words = Trimmed(words)).empty()) AddPart(TakeWord(words), choice.values);
    } catch (const ImpossibleChoice& choice_reason) {
      knobs_.skipped.push_back(fmt::format("{}: {}", knob_->name, choice_reason.reason));
      return;
    }
    // {half} and {cores} may be the same number, so that two choices are equal.
    const bool known = std::ranges::any_of(
        knob_->choices, [&](const tuning::Choice& other) { return other.values == choice.values; });
    const bool is_default = std::ranges::all_of(choice.values, [&](const auto& value) {
      return defaults_.contains({value.first, value.second});
    });
    if (!known && !is_default) knob_->choices.push_back(std::move(choice));
  }

  void AddDefault(std::string_view words) {
    if (!knob_) Refuse("expected 'knob NAME | REASON' before the first default");
    if (!knob_->choices.empty()) Refuse("expected the default before the choices of its knob");
    tuning::Setting values;
    try {
      while (!(words = Trimmed(words)).empty()) AddPart(TakeWord(words), values);
    } catch (const ImpossibleChoice&) {
      return;
    }
    for (const auto& [name, value] : values) defaults_.insert({name, value});
  }

  // Removes and returns the first word, which ends at a blank outside of double quotes.
  std::string TakeWord(std::string_view& words) const {
    std::string word;
    bool quoted = false;
    std::size_t at = 0;
    for (; at < words.size() && (quoted || kBlank.find(words[at]) == kBlank.npos); ++at)
      if (words[at] == '"')
        quoted = !quoted;
      else
        word += words[at];
    if (quoted) Refuse("expected a second '\"'");
    words.remove_prefix(at);
    return word;
  }

  void AddPart(const std::string& word, tuning::Setting& values) const {
    const auto equals = word.find('=');
    auto name = word.substr(0, equals);
    if (name.starts_with("--") && name.size() > 2) {
      values[name] = equals == std::string::npos ? "" : Filled(word.substr(equals + 1));
    } else {
      const bool variable =
          !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
          std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
      if (!variable || equals == std::string::npos)
        Refuse("'{}': expected VARIABLE=VALUE, --FLAG or --FLAG=VALUE", word);
      if (place_.is_set(name)) throw ImpossibleChoice{name + " is set already"};
      if (name == "LD_PRELOAD") name = std::string(kPreload) + knob_->name;
      values[name] = Filled(word.substr(equals + 1));
    }
    for (const auto& other : knobs_.coordinates)
      for (const auto& choice : other.choices)
        if (choice.values.count(name) > 0)
          Refuse("{}: knob {} has it already; a variable belongs to one knob", name, other.name);
  }

  // Returns the value with the words in braces replaced.
  std::string Filled(const std::string& value) const {
    std::string filled;
    for (std::size_t at = 0; at < value.size();) {
      const auto open = value.find('{', at);
      filled += value.substr(at, open - at);
      if (open == std::string::npos) break;
      const auto close = value.find('}', open);
      if (close == std::string::npos) Refuse("'{}': expected a '}}'", value);
      filled += Meaning(value.substr(open + 1, close - open - 1));
      at = close + 1;
    }
    return filled;
  }

  std::string Meaning(const std::string& word) const {
    constexpr std::string_view kLibrary = "library:";
    if (word == "cpus") return std::to_string(place_.cpus);
    if (word == "cores") return std::to_string(place_.cores);
    if (word == "half") return std::to_string(std::max(1, place_.cpus / 2));
    if (word == "threads") {
      // A thread per CPU (OpenMP, TensorFlow) or per core (PyTorch).
      if (place_.cpus != place_.cores) throw ImpossibleChoice{"the default number is not known"};
      return std::to_string(place_.cpus);
    }
    constexpr std::string_view kNeeds = "needs:";
    if (word.starts_with(kNeeds)) {
      const auto feature = word.substr(kNeeds.size());
      if (!place_.features.contains(feature))
        throw ImpossibleChoice{fmt::format("it needs {}, which is not here", feature)};
      return "";
    }
    if (!word.starts_with(kLibrary))
      Refuse(
          "'{{{}}}': expected {{cpus}}, {{cores}}, {{half}}, {{threads}}, {{needs:FEATURE}} or "
          "{{library:NAME}}",
          word);
    const auto name = word.substr(kLibrary.size());
    auto path = place_.library(name);
    if (!path) throw ImpossibleChoice{name + " is not installed"};
    return *path;
  }

  std::string file_;
  const KnobPlace& place_;
  bool may_change_;
  Knobs& knobs_;
  int line_ = 0;
  std::optional<tuning::Coordinate> knob_;
  bool changes_ = false;
  std::set<std::pair<std::string, std::string>> defaults_;  // of the knob's variables
  std::set<programs::ProgramComponentKind> acts_on_;
};

// Returns the path of the library in the folders of LD_LIBRARY_PATH and the system's linker.
std::optional<std::string> LibraryPath(const std::string& name) {
  const char* library_path = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(std::string(library_path == nullptr ? "" : library_path) +
                             ":/usr/local/lib:/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
                             "/usr/lib64:/usr/lib:/lib");
  std::error_code error;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto path = std::filesystem::path(folder) / name;
    if (!folder.empty() && std::filesystem::exists(path, error)) return path.string();
  }
  return std::nullopt;
}

}  // namespace

KnobPlace ThisKnobPlace() {
  const auto cpu = cpu::ThisCpu();
  const auto cpus = static_cast<int>(cpu.allowed.size());
  const auto cores = cpu::UsableCores(cpu);
  auto features = cpu.features;
  if (ReadFileIfAny("/sys/kernel/mm/transparent_hugepage/enabled").find("[madvise]") !=
      std::string::npos)
    features.insert("huge_pages_on_request");
  return {cpus, cores > 0 ? cores : cpus, LibraryPath,
          [](const std::string& variable) { return std::getenv(variable.c_str()) != nullptr; },
          std::move(features)};
}

void AddKnobs(std::string_view text, const std::string& file, const KnobPlace& place,
              bool may_change_results, Knobs& knobs) {
  KnobReader(file, place, may_change_results, knobs).Read(text);
}

std::string KnobSets() {
  std::vector<std::string_view> names;
  std::ranges::transform(BuiltInKnobs(), std::back_inserter(names), &EmbeddedFile::name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Knobs KnobsOf(const std::vector<std::string>& names_or_files, const KnobPlace& place,
              bool may_change_results) {
  Knobs knobs;
  for (const auto& name : names_or_files) {
    const auto built_in = std::ranges::find(BuiltInKnobs(), name, &EmbeddedFile::name);
    if (built_in != BuiltInKnobs().end()) {
      AddKnobs(built_in->text, name + ".txt", place, may_change_results, knobs);
      continue;
    }
    if (!std::filesystem::exists(name))
      throw BadInput("--knobs {}: neither a file nor one of {}", name, KnobSets());
    AddKnobs(ReadFile(name, "a file of knobs"), name, place, may_change_results, knobs);
  }
  return knobs;
}

}  // namespace dlroof::tune
