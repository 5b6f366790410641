#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/work.h"
#include "counters/gpu/session.h"

namespace dlroof::gpu {
namespace {

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

void ReadChips(const JsonReader& file, CuptiTable& table) {
  for (size_t i = 0; i < file.Array("chips").size(); ++i) {
    const auto row = file.Item("chips", i);
    for (const auto& name : Words(row.Text("names")))
      table.chips.push_back(
          {name, row.Text("family"), static_cast<int>(row.Number("compute_capability"))});
  }
}

CuptiSet SetFrom(const JsonReader& row) {
  return {row.Text("name"),         row.Text("counts"),        row.TextOr("type", ""),
          row.OptionalFlag("free"), row.OptionalFlag("alone"), row.OptionalFlag("patches")};
}

CuptiCallType TypeFrom(const JsonReader& row) {
  return {row.Text("name"), row.Text("tensor"), Words(row.TextOr("elements", "")),
          row.OptionalFlag("check")};
}

void ReadMetrics(const JsonReader& file, CuptiTable& table) {
  const auto all = VectorOf<std::string>(Representatives(table), &CuptiChip::family);
  table.metrics = file.ItemsOf("metrics", [&](const JsonReader& row) {
    const auto families = row.Text("chips");
    return CuptiMetric{row.Text("set"), row.Text("quantity"), row.Number("weight"),
                       row.Text("metric"), families == "all" ? all : Words(families)};
  });
}

}  // namespace

CuptiTable CuptiTableFromJson(const nlohmann::json& json, const std::string& where) {
  const JsonReader file(json, where);
  CuptiTable table;
  ReadChips(file, table);
  table.sets = file.ItemsOf("sets", SetFrom);
  table.types = file.ItemsOf("types", TypeFrom);
  ReadMetrics(file, table);
  return table;
}

const CuptiTable& BuiltInCuptiTable() {
  static const auto table = CuptiTableFromJson(
      nlohmann::json::parse(TextOf(CuptiTables(), "metrics")), "counters/gpu/tables/metrics.json");
  return table;
}

const CuptiChip* FindChip(const CuptiTable& table, std::string_view name) {
  return FindIf(table.chips, [&](const CuptiChip& chip) { return chip.name == name; });
}

std::vector<const CuptiMetric*> MetricsOf(const CuptiTable& table, const CuptiSet& set,
                                          const CuptiChip& chip) {
  std::vector<const CuptiMetric*> metrics;
  for (const auto& metric : table.metrics)
    if (metric.set == set.name && std::ranges::count(metric.families, chip.family) > 0)
      metrics.push_back(&metric);
  return metrics;
}

namespace {

// Removes one of `elements` from the beginning of `type`. Returns false if it begins with none.
bool AcceptElement(const std::vector<std::string>& elements, std::string_view& type) {
  for (const auto& element : elements)
    if (type.starts_with(element)) {
      type.remove_prefix(element.size());
      return true;
    }
  return false;
}

}  // namespace

const CuptiCallType* FindCallType(const CuptiTable& table, std::string_view type) {
  for (const auto& row : table.types)
    if (row.name == type) return &row;
  for (const auto& row : table.types) {
    auto destination = type;
    if (AcceptElement(row.elements, destination) && AcceptElement(row.elements, destination) &&
        !destination.empty())
      return &row;
  }
  return nullptr;
}

std::vector<std::string> MatrixPipes(const CuptiTable& table, const CuptiChip& chip) {
  std::vector<std::string> pipes;
  for (const auto& metric : table.metrics)
    if (IsPipeKey(metric.quantity) && metric.quantity.ends_with(".matrix") &&
        std::ranges::count(metric.families, chip.family) > 0 &&
        std::ranges::count(pipes, metric.quantity) == 0)
      pipes.push_back(metric.quantity);
  return pipes;
}

std::string CapabilityText(const CuptiChip& chip) {
  return fmt::format("{}.{}", chip.compute_capability / 10, chip.compute_capability % 10);
}

std::vector<const CuptiChip*> Representatives(const CuptiTable& table) {
  std::vector<const CuptiChip*> chips;
  for (const auto& chip : table.chips)
    if (chips.empty() || chips.back()->family != chip.family) chips.push_back(&chip);
  return chips;
}

std::vector<std::string> TensorTypes(const CuptiTable& table) {
  std::vector<std::string> types;
  for (const auto& set : table.sets)
    if (!set.free && !set.type.empty()) types.push_back(set.type);
  return types;
}

namespace {

struct Refusal {
  std::string_view words;  // text in ncu's output
  std::string_view fault, cure;
};

// Reasons for known texts in ncu's output; the first match is used. The texts are from Nsight
// Compute's documentation and its users' reports.
constexpr Refusal kRefusals[] = {
    {"ERR_NVGPUCTRPERM", "the driver restricts hardware counters to administrators",
     kPrivilegeCure},
    {"driver resource was unavailable", "another profiler or monitor (DCGM) is using the counters",
     kBusyCure},
    {"LibraryNotLoaded",
     "ncu could not load its library into the program, as in a sandbox (gVisor)",
     "use a machine without one"},
    {"Failed to find metric", "ncu does not know a metric of this chip",
     "give the GPU's chip with --chip (dlroof doctor names them), or install a newer Nsight "
     "Compute"},
    {"Cuda driver is not compatible", "ncu is not compatible with the driver",
     "update the driver, or install the Nsight Compute of its CUDA release"},
    {"Profiling is not supported", "ncu does not profile this GPU",
     "use one of compute capability 7.5 or newer"},
    {"No kernels were profiled", "ncu profiled no kernel",
     "the program launched none on this GPU, or --kernel and --skip left none"},
};

std::string FirstError(std::string_view output) {
  const auto at = output.find("==ERROR==");
  if (at == std::string_view::npos) return "";
  auto line = output.substr(at + 9);
  line = line.substr(0, line.find('\n'));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return std::string(line);
}

}  // namespace

std::vector<std::string> NcuMetrics(const CuptiTable& table, const CuptiChip& chip) {
  std::vector<std::string> names;
  for (const auto& set : table.sets) {
    if (set.free || set.alone) continue;
    for (const auto* metric : MetricsOf(table, set, chip)) names.push_back(metric->name);
  }
  return names;
}

std::vector<std::string> NcuCommand(const NcuChoice& choice,
                                    const std::vector<std::string>& metrics,
                                    const std::vector<std::string>& command) {
  std::vector<std::string> words = {choice.program, "--csv"};
  const auto add = [&](const std::string& flag, const std::string& value) {
    words.push_back(flag);
    words.push_back(value);
  };
  add("--page", "raw");
  add("--print-units", "base");
  add("--target-processes", choice.only_program ? "application-only" : "all");
  add("--cache-control", "none");
  add("--clock-control", "none");
  // By default ncu removes namespaces from names, and the "<" of "<unnamed>::".
  add("--rename-kernels", "off");
  add("--metrics", fmt::format("{}", fmt::join(metrics, ",")));
  add("--log-file", choice.table);
  if (!choice.kernels.empty()) add("--kernel-name", "regex:" + choice.kernels);
  if (choice.skip > 0) add("--launch-skip", fmt::format("{}", choice.skip));
  if (choice.launches) add("--launch-count", fmt::format("{}", *choice.launches));
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::string NcuFailureSentence(std::string_view output, int exit_code) {
  for (const auto& [words, fault, cure] : kRefusals)
    if (output.find(words) != std::string_view::npos) return fmt::format("{}: {}", fault, cure);
  if (const auto error = FirstError(output); !error.empty())
    return fmt::format("ncu failed: {}", error);
  return fmt::format(
      "ncu ended with exit code {} and profiled no kernel: check that the program runs without ncu",
      exit_code);
}

}  // namespace dlroof::gpu
