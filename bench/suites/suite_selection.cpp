#include "bench/suites/suite_selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "bench/benchdnn/driver.h"
#include "bench/suites/benchdnn_suite.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/verbose/verbose_line.h"

namespace dlroof::suites {
namespace {

const EmbeddedFile* FindBuiltIn(std::string_view name) {
  const auto& suites = BuiltInSuites();
  const auto found =
      std::ranges::find_if(suites, [&](const EmbeddedFile& suite) { return suite.name == name; });
  return found == suites.end() ? nullptr : &*found;
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// benchdnn's command line as a value.
bool IsCommand(const std::string& value) {
  const auto end = value.find(' ');
  return value.starts_with("--") && end != std::string::npos &&
         benchdnn::FindBenchdnnDriver(std::string_view(value).substr(2, end - 2)) != nullptr;
}

bool IsFile(const std::string& value) {
  return !IsCommand(value) && FindBuiltIn(value) == nullptr &&
         (value.find_first_of("/.") != std::string::npos || Exists(value));
}

std::vector<std::string_view> BuiltInNames() {
  std::vector<std::string_view> names;
  for (const auto& suite : BuiltInSuites()) names.push_back(suite.name);
  return names;
}

void CheckKnown(const std::string& value, const std::string& flag) {
  if (IsCommand(value) || IsFile(value) || FindBuiltIn(value) != nullptr) return;
  throw BadInput({.where = flag}, fmt::format("no suite '{}'; there are {}, or the path of a file",
                                              value, fmt::join(BuiltInNames(), ", ")));
}

// A path that exists may have commas in it.
std::vector<std::string> Separated(const std::vector<std::string>& values) {
  std::vector<std::string> single;
  for (const auto& value : values) {
    if (IsCommand(value) || Exists(value)) {
      single.push_back(value);
      continue;
    }
    for (const auto part : verbose::SplitText(value, ',')) single.emplace_back(part);
  }
  return single;
}

Suite FromFile(const std::string& path, const SuiteDevices& devices) {
  const auto text = ReadFile(path, "a suite");
  return LooksLikeBenchdnn(text) ? SuiteFromProblems(path, ReadBenchdnn(text, path))
                                 : ReadSuite(text, path, devices);
}

Suite ReadSelected(const std::string& value, const SuiteDevices& devices, const std::string& flag) {
  if (IsCommand(value)) return SuiteFromProblems(flag, ReadBenchdnn(value, flag));
  if (IsFile(value)) return FromFile(value, devices);
  return ReadSuite(FindBuiltIn(value)->text, value, devices);
}

std::string PlaceOf(const SkippedProblem& problem, const Suite& suite) {
  if (problem.line == 0) return problem.text;
  if (problem.file == suite.name) return fmt::format("line {}", problem.line);
  return fmt::format("{}:{}", problem.file, problem.line);
}

// Returns the library that runs an op on a GPU; empty: none does.
std::string GpuLibrary(const std::string& op) {
  for (const auto& cell : workload::AllCells())
    if (cell.op == op && cell.device == "gpu") return cell.library;
  return "";
}

// Turns oneDNN's benchmarks into those of the op's library on GPUs, each once.
void MoveToGpu(Suite& suite) {
  std::unordered_set<std::string> there;
  for (const auto& layer : suite.layers) there.insert(layer.name);
  for (auto& layer : suite.layers) {
    auto name = workload::ParseBenchmarkName(layer.name);
    if (name.device != "cpu" || name.library != "onednn") continue;
    name.device = "gpu";
    name.library = GpuLibrary(name.op);
    const auto text = workload::ToText(name);
    if (there.count(text) > 0) continue;
    try {
      workload::MakeWorkload(text);
      layer.name = text;
    } catch (const BadInput&) {
      suite.skipped.push_back(
          {suite.name, 0, layer.name, "the GPU's benchmarks have no such case"});
    }
  }
}

nlohmann::json SuiteContext(const Suite& suite) {
  nlohmann::json context = {{"name", suite.name}};
  if (suite.counted)
    for (const auto& layer : suite.layers)
      context["layers"].push_back({{"name", layer.name}, {"count", layer.count}});
  for (const auto& problem : suite.skipped) {
    nlohmann::json skipped = {{"text", problem.text}, {"reason", problem.reason}};
    if (problem.line > 0) skipped["line"] = problem.line;
    if (problem.file != suite.name) skipped["file"] = problem.file;
    context["skipped"].push_back(std::move(skipped));
  }
  return context;
}

}  // namespace

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
  const auto given = Separated(values);
  for (const auto& value : given) CheckKnown(value, flag);
  std::vector<std::string> selected;
  if (std::ranges::all_of(given, IsFile)) selected = DefaultSuites(devices);
  for (const auto& value : given)
    if (std::ranges::find(selected, value) == selected.end()) selected.push_back(value);
  std::vector<Suite> suites;
  suites.reserve(selected.size());
  for (const auto& value : selected) suites.push_back(ReadSelected(value, devices, flag));
  return suites;
}

std::vector<Suite> InCacheState(std::vector<Suite> suites, workload::CacheState cache) {
  if (cache == workload::CacheState::kWarm) return suites;
  for (auto& suite : suites)
    for (auto& layer : suite.layers)
      if (workload::MakeWorkload(layer.name).cache == workload::CacheState::kWarm)
        layer.name += fmt::format("/{}", workload::Key(cache));
  return suites;
}

bool AsksForSuiteList(const std::vector<std::string>& values) {
  return std::ranges::find(values, "help") != values.end();
}

std::string SuiteList() {
  std::string list;
  for (const auto& suite : BuiltInSuites())
    list += fmt::format("{:<14} {}\n", suite.name, Summary(suite));
  return list + fmt::format("Without --dlroof_suite: {}.\n", fmt::join(DefaultSuites(), ", "));
}

std::vector<workload::Workload> WorkloadsOf(const std::vector<Suite>& suites) {
  std::vector<workload::Workload> workloads;
  std::unordered_set<std::string_view> seen;
  for (const auto& suite : suites)
    for (const auto& layer : suite.layers)
      if (seen.insert(layer.name).second) workloads.push_back(workload::MakeWorkload(layer.name));
  return workloads;
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
    std::vector<std::pair<const SkippedProblem*, int>> reasons;  // first of its kind, how many
    for (const auto& problem : suite.skipped) {
      const auto found = std::ranges::find_if(
          reasons, [&](const auto& reason) { return reason.first->reason == problem.reason; });
      if (found == reasons.end())
        reasons.emplace_back(&problem, 1);
      else
        ++found->second;
    }
    for (const auto& [first, count] : reasons)
      sentences += fmt::format("{}: {} here: {} (first: {})\n", suite.name,
                               count == 1 ? "1 problem is no benchmark"
                                          : fmt::format("{} problems are no benchmarks", count),
                               first->reason, PlaceOf(*first, suite));
  }
  return sentences;
}

}  // namespace dlroof::suites
