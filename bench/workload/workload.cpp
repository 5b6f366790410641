#include "bench/workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "bench/workload/benchmark_name.h"
#include "counters/base/keys.h"

namespace dlroof::workload {
namespace {

constexpr int kMostThreads = 4096;

constexpr KeyRow<CacheState> kCacheStates[] = {{CacheState::kWarm, "warm"},
                                               {CacheState::kCold, "cold"},
                                               {CacheState::kColdWeights, "cold-weights"}};

std::string Listed(const OptionRows& rows) {
  std::string text;
  for (const auto& row : rows) text += fmt::format(" {}", fmt::join(row, "|"));
  return text.empty() ? "" : " (" + text.substr(1) + ")";
}

// "threads2" -> 2. Throws BadInput for a number that none can be.
int ThreadsOf(std::string_view option, int column) {
  constexpr std::string_view kPrefix = "threads";
  if (!option.starts_with(kPrefix)) return 0;
  TextCursor cursor(option, column - 1);
  cursor.Expect(kPrefix);
  const auto threads = cursor.Integer(1, "a number of threads");
  if (!cursor.AtEnd() || threads > kMostThreads)
    throw BadInput({.column = column}, "expected threads1 to threads{}, got '{}'", kMostThreads,
                   option);
  return static_cast<int>(threads);
}

// The name as its cell reads it; what was taken off stands in `common`.
BenchmarkName WithoutCommonOptions(BenchmarkName name, Workload& common) {
  const auto last = [&] { return ColumnOfPart(name, 5 + static_cast<int>(name.options.size())); };
  for (const auto state : {CacheState::kCold, CacheState::kColdWeights})
    if (!name.options.empty() && name.options.back() == Key(state)) {
      common.cache = state;
      name.options.pop_back();
      break;
    }
  if (!name.options.empty()) common.threads = ThreadsOf(name.options.back(), last());
  if (common.threads > 0) name.options.pop_back();
  return name;
}

std::vector<Backend>& BackendRegistry() {
  static std::vector<Backend> cells;
  return cells;
}

// Null where there is none.
Backend* FindBackend(std::string_view op, std::string_view device, std::string_view library) {
  for (Backend& cell : BackendRegistry())
    if (cell.op == op && cell.device == device && cell.library == library) return &cell;
  return nullptr;
}

std::vector<Library>& LibraryRegistry() {
  static std::vector<Library> libraries;
  return libraries;
}

// Why a device's cells lack their library, by device.
std::map<std::string, std::string>& Explanations() {
  static std::map<std::string, std::string> explanations;
  return explanations;
}

std::string WhyMissing(const Backend& cell) {
  const auto found = Explanations().find(cell.device);
  if (found != Explanations().end()) return found->second;
  return fmt::format("this build of dlroof was made without {}", cell.needs);
}

std::string Known() {
  std::set<std::string> names;
  for (const auto& cell : AllBackends())
    names.insert(fmt::format("{}/{}/{}", cell.op, cell.device, cell.library));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool RegisterBackend(Backend cell) {
  Backend* const known = FindBackend(cell.op, cell.device, cell.library);
  if (known == nullptr) {
    BackendRegistry().push_back(std::move(cell));
    return true;
  }
  if (!known->read) known->read = std::move(cell.read);
  if (known->needs.empty()) known->needs = std::move(cell.needs);
  if (!known->prepare) known->prepare = std::move(cell.prepare);
  return true;
}

const std::vector<Backend>& AllBackends() { return BackendRegistry(); }

bool RegisterLibrary(Library library) {
  LibraryRegistry().push_back(std::move(library));
  return true;
}

const std::vector<Library>& AllLibraries() { return LibraryRegistry(); }

void ExplainMissing(const std::string& device, const std::string& why) {
  Explanations()[device] = why;
}

int ColumnOfPart(const BenchmarkName& name, int index) {
  const std::array<const std::string*, 6> parts = {&name.op,        &name.device, &name.library,
                                                   &name.direction, &name.type,   &name.problem};
  size_t column = 1;
  for (int i = 0; i < index && i < 6; ++i) column += parts.at(i)->size() + 1;
  for (int i = 6; i < index; ++i) column += name.options.at(i - 6).size() + 1;
  return static_cast<int>(column);
}

std::string_view Key(CacheState state) { return KeyIn(kCacheStates, state); }

void CheckOptions(const BenchmarkName& name, const OptionRows& rows) {
  size_t next = 0;
  for (size_t i = 0; i < name.options.size(); ++i) {
    const auto& option = name.options[i];
    const auto holds = [&](const auto& row) { return std::ranges::count(row, option) > 0; };
    const int column = ColumnOfPart(name, 6 + static_cast<int>(i));
    const auto row = std::ranges::find_if(rows, holds);
    if (row == rows.end())
      throw BadInput({.column = column}, "{}/{}/{} has no option '{}'{}", name.op, name.device,
                     name.library, option, Listed(rows));
    if (static_cast<size_t>(row - rows.begin()) < next)
      throw BadInput({.column = column}, "'{}' cannot come after '{}'; the order is{}", option,
                     name.options[i - 1], Listed(rows));
    next = static_cast<size_t>(row - rows.begin()) + 1;
  }
}

bool HasOption(const BenchmarkName& name, std::string_view option) {
  return std::ranges::count(name.options, option) > 0;
}

void RefuseOption(const BenchmarkName& name, std::string_view option, std::string_view why) {
  const auto at = std::ranges::find(name.options, option);
  if (at == name.options.end()) return;
  throw BadInput({.column = ColumnOfPart(name, 6 + static_cast<int>(at - name.options.begin()))},
                 "'{}' {}", option, why);
}

const std::vector<std::string_view>& FpmathOptions() {
  static const std::vector<std::string_view> options = {"fpmath-bf16", "fpmath-f16", "fpmath-tf32",
                                                        "fpmath-any"};
  return options;
}

std::string FpmathOf(const BenchmarkName& name) {
  for (const auto option : FpmathOptions())
    if (HasOption(name, option)) return std::string(option.substr(option.find('-') + 1));
  return {};
}

Workload MakeWorkload(const std::string& text) {
  const BenchmarkName name = ParseBenchmarkName(text);
  Workload common;
  const BenchmarkName own = WithoutCommonOptions(name, common);
  const Backend* const cell = FindBackend(name.op, name.device, name.library);
  if (cell == nullptr)
    throw BadInput({.column = 1}, "no benchmark {}/{}/{}; there are {}", name.op, name.device,
                   name.library, Known());
  Workload workload = cell->read(own);
  if (cell->prepare)
    workload.prepare = [prepare = cell->prepare, own](const RunSettings& settings) {
      return prepare(own, settings);
    };
  else
    workload.prepare = [why = WhyMissing(*cell)](const RunSettings&) -> PreparedCall {
      throw Unsupported(why);
    };
  workload.name = name;
  workload.threads = common.threads;
  workload.cache = common.cache;
  if (workload.cache != CacheState::kWarm) workload.repro.clear();  // benchdnn 3.2 is warm
  return workload;
}

namespace {

std::map<std::string, Op, std::less<>>& OpRegistry() {
  static std::map<std::string, Op, std::less<>> ops;
  return ops;
}

}  // namespace

bool RegisterOp(Op op) {
  roofline::RegisterOpWords(op.name, op.words);
  return OpRegistry().emplace(op.name, std::move(op)).second;
}

std::vector<const Op*> AllOps() {
  std::vector<const Op*> ops;
  for (const auto& [name, op] : OpRegistry()) ops.push_back(&op);
  return ops;
}

const Op* FindOp(std::string_view name) {
  const auto found = OpRegistry().find(name);
  return found == OpRegistry().end() ? nullptr : &found->second;
}

}  // namespace dlroof::workload
