#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "bench/suites/benchdnn.h"
#include "bench/suites/suite.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/text/text.h"

namespace dlroof::suites {
namespace {

bool IsChosen(std::string_view value, std::string_view choice) {
  return value.starts_with(choice) &&
         (value.size() == choice.size() || value[choice.size()] == '_');
}

// Returns the operator's directions for which the choice is short, otherwise the choice itself.
std::vector<std::string_view> ValuesOf(std::string_view op, NamePart part,
                                       std::string_view choice) {
  std::vector<std::string_view> values;
  if (part == &workload::BenchmarkName::direction && workload::FindOp(op) != nullptr)
    for (const std::string& direction : workload::FindOp(op)->directions)
      if (IsChosen(direction, choice)) values.emplace_back(direction);
  if (values.empty()) values.push_back(choice);
  return values;
}

// Returns the row's name without `part` and options.
std::string Without(const NameRow& row, NamePart part) {
  auto name = row.name;
  (name.*part).clear();
  name.options.clear();
  return workload::ToText(name);
}

struct Flag {
  std::string_view name;
  const std::string& value;

  [[noreturn]] void Refuse(const std::string& reason) const {
    throw BadInput("{}={}: {}", name, value, reason);
  }
  std::vector<std::string_view> Items() const {
    if (value.empty()) return {};
    return logs::SplitText(value, ',');
  }
  std::vector<int64_t> Sizes() const {
    std::vector<int64_t> sizes;
    for (const auto item : Items()) try {
        workload::TextCursor cursor(item);
        const auto size = cursor.Integer(1, "a batch size");
        if (!cursor.AtEnd()) cursor.Refuse("',' or the end");
        if (std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
      } catch (const BadInput& error) {
        Refuse(error.text);
      }
    return sizes;
  }
};

std::vector<NameRow> RowsOf(const Suite& suite) {
  std::vector<NameRow> rows;
  for (const auto& layer : suite.layers)
    rows.push_back({workload::ParseBenchmarkName(layer.name), layer.count});
  return rows;
}

void CheckDirections(const Flag& flag) {
  std::vector<std::string_view> known;
  for (const workload::Op* op : workload::AllOps())
    for (const std::string& direction : op->directions)
      if (std::ranges::find(known, direction) == known.end()) known.emplace_back(direction);
  for (const auto item : flag.Items())
    if (std::ranges::none_of(known,
                             [&](std::string_view direction) { return IsChosen(direction, item); }))
      flag.Refuse(fmt::format("unknown direction '{}'; expected {}", item, fmt::join(known, ", ")));
}

// Returns whether any library, device and direction of the name's operator has the type.
bool HasType(workload::BenchmarkName name, std::string_view type) {
  name.type = type;
  name.options.clear();
  for (const auto& backend : workload::AllBackends())
    for (const auto& direction : workload::FindOp(name.op)->directions) {
      name.device = backend.device;
      name.library = backend.library;
      name.direction = direction;
      if (backend.op == name.op && !workload::InvalidReason(workload::ToText(name))) return true;
    }
  return false;
}

void CheckTypes(const Flag& flag, const std::vector<Suite>& suites) {
  std::map<std::string, workload::BenchmarkName> first;  // first name of each operator
  for (const auto& suite : suites)
    for (const auto& row : RowsOf(suite)) first.emplace(row.name.op, row.name);
  if (first.empty()) return;
  for (const auto item : flag.Items()) {
    if (std::ranges::any_of(first, [&](const auto& made) { return HasType(made.second, item); }))
      continue;
    auto name = first.begin()->second;
    name.type = item;
    flag.Refuse(workload::InvalidReason(workload::ToText(name)).value().text);
  }
}

// Returns the row's name with this batch size. Returns nullopt and skips a problem that has none.
std::optional<std::string> WithBatch(const NameRow& row, int64_t batch, const Flag& flag,
                                     Suite& suite) {
  auto name = row.name;
  try {
    const workload::Op& op = *workload::FindOp(name.op);
    if (!op.with_batch) throw Unsupported("{} has no batch size", op.name);
    name.problem = op.with_batch(name, batch);
    return workload::ToText(name);
  } catch (const Unsupported& error) {
    suite.skipped.push_back({suite.name, std::nullopt, workload::ToText(name), error.what()});
    return std::nullopt;
  } catch (const BadInput& error) {
    flag.Refuse(fmt::format("{} (in {} of {})", error.text, workload::ToText(name), suite.name));
  }
}

void AddLayer(std::string name, int64_t count, Suite& suite,
              std::unordered_map<std::string, size_t>& place) {
  if (auto reason = workload::InvalidReason(name)) {
    suite.skipped.push_back({suite.name, std::nullopt, std::move(name), std::move(reason->text)});
    return;
  }
  const auto [found, is_new] = place.emplace(name, suite.layers.size());
  if (is_new)
    suite.layers.push_back({std::move(name), count});
  else if (suite.counted)  // the layers differed only in their batch size
    suite.layers[found->second].count += count;
}

// Throws BadInput, with the reason of a skipped problem, because no problem has a batch size.
void CheckTaken(const Flag& batch, const std::vector<Suite>& suites) {
  const auto* const refused =
      FindIf(suites, [](const Suite& suite) { return !suite.skipped.empty(); });
  if (refused == nullptr) return;
  const auto& [file, line, text, reason] = refused->skipped.back();
  batch.Refuse(fmt::format("no chosen problem has a batch size: {} (such as {})", reason, text));
}

const EmbeddedFile* FindBuiltIn(std::string_view name) {
  return FindIf(BuiltInSuites(), [&](const EmbeddedFile& suite) { return suite.name == name; });
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(InputPath(path), error);
}

bool IsCommand(const std::string& value) {
  const auto end = value.find(' ');
  return value.starts_with("--") && end != std::string::npos &&
         FindBenchdnnDriver(std::string_view(value).substr(2, end - 2)) != nullptr;
}

// Returns whether the value is a line of a suite, e.g. "LSTM/fwd_inference/f32 t1n1i8h8".
bool IsLine(const std::string& value) {
  return workload::FindOp(value.substr(0, value.find_first_of("/ "))) != nullptr && !Exists(value);
}

bool IsFile(const std::string& value) {
  return value.find_first_of("/.") != std::string::npos || Exists(value);
}

void CheckKnown(const std::string& value, const std::string& flag) {
  if (IsCommand(value) || IsLine(value) || IsFile(value) || FindBuiltIn(value) != nullptr) return;
  throw BadInput(
      {.where = flag},
      fmt::format("unknown suite '{}'; expected the path of a file, or one of {}", value,
                  fmt::join(BuiltInSuites() | std::views::transform(&EmbeddedFile::name), ", ")));
}

// Splits values at commas, except benchdnn command lines and paths of existing files.
std::vector<std::string> Separated(const std::vector<std::string>& values) {
  std::vector<std::string> single;
  for (const auto& value : values) {
    if (IsCommand(value) || Exists(value)) {
      single.push_back(value);
      continue;
    }
    for (const auto part : logs::SplitText(value, ',')) single.emplace_back(part);
  }
  return single;
}

Suite ReadSelected(const std::string& value, const SuiteDevices& devices, const std::string& flag) {
  if (IsCommand(value)) return SuiteFromProblems(flag, ReadBenchdnn(value, flag));
  if (IsLine(value)) return ReadSuite(value, value, devices);
  if (const auto* built_in = FindBuiltIn(value)) return ReadSuite(built_in->text, value, devices);
  const auto text = ReadFile(value, "a suite");
  return LooksLikeBenchdnn(text) ? SuiteFromProblems(value, ReadBenchdnn(text, value))
                                 : ReadSuite(text, value, devices);
}

std::string PlaceOf(const SkippedProblem& problem, const Suite& suite) {
  if (!problem.line) return problem.text;
  if (problem.file == suite.name) return fmt::format("line {}", *problem.line);
  return fmt::format("{}:{}", problem.file, *problem.line);
}

std::optional<std::string> GpuLibrary(const std::string& op) {
  for (const auto& backend : workload::AllBackends())
    if (backend.op == op && backend.device == "gpu") return backend.library;
  return std::nullopt;
}

void MoveToGpu(Suite& suite) {
  std::unordered_set<std::string> present;
  for (const auto& layer : suite.layers) present.insert(layer.name);
  for (auto& layer : suite.layers) {
    auto name = workload::ParseBenchmarkName(layer.name);
    if (name.device != "cpu" || name.library != "onednn") continue;
    name.device = "gpu";
    name.library = GpuLibrary(name.op).value_or("");
    const auto text = workload::ToText(name);
    if (present.count(text) > 0) continue;
    if (!workload::InvalidReason(text))
      layer.name = text;
    else
      suite.skipped.push_back(
          {suite.name, std::nullopt, layer.name, "the GPU's benchmarks have no such case"});
  }
}

nlohmann::json SuiteContext(const Suite& suite) {
  nlohmann::json context = {{"name", suite.name}};
  if (suite.counted)
    for (const auto& layer : suite.layers)
      context["layers"].push_back({{"name", layer.name}, {"count", layer.count}});
  for (const auto& problem : suite.skipped) {
    nlohmann::json skipped = {{"text", problem.text}, {"reason", problem.reason}};
    if (problem.line) skipped["line"] = *problem.line;
    if (problem.file != suite.name) skipped["file"] = problem.file;
    context["skipped"].push_back(std::move(skipped));
  }
  return context;
}

}  // namespace

std::vector<NameRow> Choose(const std::vector<NameRow>& rows, NamePart part,
                            const std::vector<std::string_view>& choices) {
  const auto owner = [](const NameRow& row) { return std::pair(row.name.op, row.name.device); };
  std::map<std::pair<std::string, std::string>, std::set<std::string_view>> found;
  for (const auto& row : rows)
    for (const auto choice : choices)
      if (IsChosen(row.name.*part, choice)) found[owner(row)].insert(choice);
  std::unordered_map<std::string, std::string_view> first_value;
  std::vector<NameRow> chosen;
  for (const auto& row : rows) {
    const std::string_view value = row.name.*part;
    const auto is_chosen = [&](std::string_view choice) { return IsChosen(value, choice); };
    if (std::ranges::any_of(choices, is_chosen)) chosen.push_back(row);
    if (first_value.emplace(Without(row, part), value).first->second != value) continue;
    for (const auto choice : choices) {
      if (found[owner(row)].count(choice) > 0) continue;
      for (const auto made : ValuesOf(row.name.op, part, choice)) {
        chosen.push_back(row);
        chosen.back().name.*part = made;
      }
    }
  }
  return chosen;
}

std::vector<Suite> Chosen(std::vector<Suite> suites, const SuiteChoices& choices) {
  const Flag directions{"--dlroof_directions", choices.directions};
  const Flag types{"--dlroof_types", choices.types};
  const Flag batch{"--dlroof_batch", choices.batch};
  CheckDirections(directions);
  CheckTypes(types, suites);
  const auto sizes = batch.Sizes();
  const std::pair<NamePart, std::vector<std::string_view>> parts[] = {
      {&workload::BenchmarkName::direction, directions.Items()},
      {&workload::BenchmarkName::type, types.Items()}};
  if (sizes.empty() &&
      std::ranges::all_of(parts, [](const auto& made) { return made.second.empty(); }))
    return suites;
  std::vector<Suite> chosen;
  bool taken = sizes.empty();
  for (const auto& suite : suites) {
    auto rows = RowsOf(suite);
    for (const auto& [part, items] : parts)
      if (!items.empty()) rows = Choose(rows, part, items);
    for (size_t i = 0; i < std::max<size_t>(1, sizes.size()); ++i) {
      Suite& made = chosen.emplace_back(Suite{.name = suite.name, .counted = suite.counted});
      if (!sizes.empty()) made.name += fmt::format(" batch {}", sizes[i]);
      if (i == 0) made.skipped = suite.skipped;
      std::unordered_map<std::string, size_t> place;
      for (const auto& row : rows) {
        auto name =
            sizes.empty() ? workload::ToText(row.name) : WithBatch(row, sizes[i], batch, made);
        if (!name) continue;
        taken = true;
        AddLayer(std::move(*name), row.count, made, place);
      }
    }
  }
  if (!taken) CheckTaken(batch, chosen);
  return chosen;
}

std::vector<std::string> DefaultSuites(const SuiteDevices& devices) {
  if (devices.cpu) return {"paper", "reference"};
  return {"paper"};
}

std::vector<Suite> OnDevices(std::vector<Suite> suites, bool cpu, bool gpu) {
  if (cpu && gpu) return suites;
  for (auto& suite : suites) {
    if (!cpu) MoveToGpu(suite);
    const std::string_view other = cpu ? "gpu" : "cpu";
    std::erase_if(suite.layers, [&](const Layer& layer) {
      return workload::ParseBenchmarkName(layer.name).device == other;
    });
  }
  return suites;
}

std::vector<Suite> SelectSuites(const std::vector<std::string>& values, const SuiteDevices& devices,
                                const std::string& flag) {
  const auto specified = values.empty() ? DefaultSuites(devices) : Separated(values);
  for (const auto& value : specified) CheckKnown(value, flag);
  std::vector<std::string> selected;
  for (const auto& value : specified)
    if (std::ranges::find(selected, value) == selected.end()) selected.push_back(value);
  return VectorOf<Suite>(selected,
                         [&](const auto& value) { return ReadSelected(value, devices, flag); });
}

std::vector<Suite> InCacheState(std::vector<Suite> suites, workload::CacheState cache) {
  if (cache == workload::CacheState::kWarm) return suites;
  for (auto& suite : suites)
    for (auto& layer : suite.layers)
      if (workload::MakeWorkload(layer.name).cache == workload::CacheState::kWarm)
        layer.name += fmt::format("/{}", workload::Key(cache));
  return suites;
}

namespace {

std::set<std::string> AlgorithmOptions() {
  std::set<std::string> options;
  for (const workload::Op* op : workload::AllOps())
    for (const auto& row : op->variants)
      if (row.what == workload::kAlgorithmVariants)
        options.insert(row.options.begin(), row.options.end());
  return options;
}

}  // namespace

std::vector<Suite> WithAlgorithm(std::vector<Suite> suites, const std::string& algorithm) {
  const auto known = AlgorithmOptions();
  if (known.count(algorithm) == 0)
    throw BadInput("--dlroof_algorithm={}: expected {}", algorithm, fmt::join(known, ", "));
  bool any = false;
  for (auto& suite : suites) {
    const auto layers = std::exchange(suite.layers, {});
    std::unordered_map<std::string, size_t> place;
    for (const auto& layer : layers) {
      const auto name = workload::ParseBenchmarkName(layer.name);
      const auto changed = workload::WithOption(name, algorithm);
      any = any || changed || workload::HasOption(name, algorithm);
      AddLayer(workload::ToText(changed.value_or(name)), layer.count, suite, place);
    }
  }
  if (!any)
    throw BadInput("--dlroof_algorithm={}: no benchmark of the run has this option", algorithm);
  return suites;
}

bool AsksForSuiteList(const std::vector<std::string>& values) {
  return std::ranges::find(values, "help") != values.end();
}

namespace {

// Returns whether the suite is a model: a line has a count (" x12").
bool IsModel(const EmbeddedFile& suite) {
  const auto lines = logs::SplitText(suite.text, '\n');
  return std::ranges::any_of(lines, [](std::string_view line) {
    const auto count = line.rfind(" x");
    return !line.starts_with('#') && count != line.npos &&
           line.find_first_not_of("0123456789", count + 2) == line.npos;
  });
}

std::string_view Family(const EmbeddedFile& suite) {
  return suite.name.substr(0, suite.name.find('_'));
}

}  // namespace

std::string SuiteList() {
  std::vector<EmbeddedFile> models, lists;
  for (const auto& suite : BuiltInSuites()) (IsModel(suite) ? models : lists).push_back(suite);
  std::string list = "Models, each call with its number:\n";
  std::string_view family;
  for (const auto& suite : models) {
    const bool shared = std::ranges::count(models, Family(suite), Family) > 1;
    if (shared && Family(suite) != family) list += fmt::format("  {}\n", Family(suite));
    family = Family(suite);
    list += fmt::format("  {:<21} {}\n", fmt::format("{}{}", shared ? "  " : "", suite.name),
                        Summary(suite));
  }
  list += "Operators:\n";
  for (const auto& suite : lists) list += fmt::format("  {:<21} {}\n", suite.name, Summary(suite));
  return list +
         fmt::format("Without --dlroof_suite these run: {}.\n", fmt::join(DefaultSuites(), ", "));
}

std::vector<workload::Workload> WorkloadsOf(const std::vector<Suite>& suites) {
  std::vector<workload::Workload> workloads;
  std::unordered_set<std::string_view> seen;
  for (const auto& suite : suites)
    for (const auto& layer : suite.layers)
      if (seen.insert(layer.name).second) workloads.push_back(workload::MakeWorkload(layer.name));
  return workloads;
}

std::string SelectionSentence(const std::vector<Suite>& suites) {
  std::vector<std::string> names;
  std::unordered_set<std::string_view> benchmarks;
  for (const auto& suite : suites) {
    // The name of a suite from a benchdnn command line begins with the flag.
    const bool is_command = suite.name.starts_with("--");
    const auto end = std::min(suite.name.find(' '), suite.name.size());
    names.push_back(is_command ? "(benchdnn line)" + suite.name.substr(end) : suite.name);
    for (const auto& layer : suite.layers) benchmarks.insert(layer.name);
  }
  return fmt::format("suite{} {}: {} benchmark{}\n", suites.size() == 1 ? "" : "s",
                     fmt::join(names, ", "), benchmarks.size(), benchmarks.size() == 1 ? "" : "s");
}

nlohmann::json SuitesContext(const std::vector<Suite>& suites) {
  auto context = nlohmann::json::array();
  for (const auto& suite : suites)
    if (suite.counted || !suite.skipped.empty()) context.push_back(SuiteContext(suite));
  return context;
}

std::string SkippedSentences(const std::vector<Suite>& suites) {
  std::string sentences;
  for (const auto& suite : suites) {
    text::InOrder<std::vector<const SkippedProblem*>> by_reason;
    for (const auto& problem : suite.skipped) by_reason[problem.reason].push_back(&problem);
    for (const auto& [reason, problems] : by_reason.all)
      sentences +=
          fmt::format("{}: skipped {} problem{}: {} (first: {})\n", suite.name, problems.size(),
                      problems.size() == 1 ? "" : "s", reason, PlaceOf(*problems.front(), suite));
  }
  return sentences;
}

}  // namespace dlroof::suites
