#include "bench/workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "counters/base/keys.h"

namespace dlroof::workload {
namespace {

constexpr int kMaxThreads = 4096;

constexpr KeyRow<CacheState> kCacheStates[] = {{CacheState::kWarm, "warm"},
                                               {CacheState::kCold, "cold"},
                                               {CacheState::kColdWeights, "cold-weights"}};

std::string Listed(const OptionRows& rows) {
  std::string text;
  for (const auto& row : rows) text += fmt::format(" {}", fmt::join(row, "|"));
  return text.empty() ? "" : " (" + text.substr(1) + ")";
}

// Returns 2 for "threads2", and nothing for other options. Throws BadInput for an invalid number.
std::optional<int> ThreadsOf(std::string_view option, int column) {
  constexpr std::string_view kPrefix = "threads";
  if (!option.starts_with(kPrefix)) return std::nullopt;
  TextCursor cursor(option, column - 1);
  cursor.Expect(kPrefix);
  const auto threads = cursor.Integer(1, "a number of threads");
  if (!cursor.AtEnd() || threads > kMaxThreads)
    throw BadInput({.column = column}, "expected threads1 to threads{}, got '{}'", kMaxThreads,
                   option);
  return static_cast<int>(threads);
}

// Removes threadsN, cold and cold-weights from the name's options, and stores them in `common`.
BenchmarkName WithoutCommonOptions(BenchmarkName name, Workload& common) {
  const auto last = [&] { return ColumnOfPart(name, 5 + static_cast<int>(name.options.size())); };
  for (const auto state : {CacheState::kCold, CacheState::kColdWeights})
    if (!name.options.empty() && name.options.back() == Key(state)) {
      common.cache = state;
      name.options.pop_back();
      break;
    }
  if (!name.options.empty()) common.threads = ThreadsOf(name.options.back(), last());
  if (common.threads) name.options.pop_back();
  return name;
}

std::vector<Backend>& BackendRegistry() {
  static std::vector<Backend> backends;
  return backends;
}

// Returns null if the backend is not registered.
Backend* FindBackend(std::string_view op, std::string_view device, std::string_view library) {
  for (Backend& backend : BackendRegistry())
    if (backend.op == op && backend.device == device && backend.library == library) return &backend;
  return nullptr;
}

std::vector<Library>& LibraryRegistry() {
  static std::vector<Library> libraries;
  return libraries;
}

// Why the backends of a device cannot use their library (SetMissingReason), by device.
std::map<std::string, Reason>& MissingReasons() {
  static std::map<std::string, Reason> reasons;
  return reasons;
}

std::string MissingReason(const Backend& backend) {
  const auto found = MissingReasons().find(backend.device);
  if (found != MissingReasons().end()) return found->second.text;
  return fmt::format("this build of dlroof was made without {}",
                     backend.needs.value_or(backend.library));
}

std::map<std::string, Op, std::less<>>& OpRegistry() {
  static std::map<std::string, Op, std::less<>> ops;
  return ops;
}

std::string Known() {
  std::set<std::string> names;
  for (const auto& backend : AllBackends())
    names.insert(fmt::format("{}/{}/{}", backend.op, backend.device, backend.library));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string DifferenceText(const Verification& found) {
  if (found.tolerance == 0) return "the result is wrong " + found.how;
  return fmt::format("differs from the reference: error {:.3g}, allowed {:.3g} ({})",
                     found.max_error, found.tolerance, found.how);
}

std::string NameOf(const Workload& workload) {
  return workload.other_name.value_or(ToText(workload.name));
}

bool RegisterBackend(Backend backend) {
  Backend* const known = FindBackend(backend.op, backend.device, backend.library);
  if (known == nullptr) {
    BackendRegistry().push_back(std::move(backend));
    return true;
  }
  if (!known->read) known->read = std::move(backend.read);
  if (!known->needs) known->needs = std::move(backend.needs);
  if (!known->prepare) known->prepare = std::move(backend.prepare);
  return true;
}

const std::vector<Backend>& AllBackends() { return BackendRegistry(); }

bool RegisterLibrary(Library library) {
  LibraryRegistry().push_back(std::move(library));
  return true;
}

const std::vector<Library>& AllLibraries() { return LibraryRegistry(); }

void SetMissingReason(const std::string& device, const Reason& reason) {
  MissingReasons()[device] = reason;
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

void RefuseOption(const BenchmarkName& name, std::string_view option, std::string_view reason) {
  const auto at = std::ranges::find(name.options, option);
  if (at == name.options.end()) return;
  throw BadInput({.column = ColumnOfPart(name, 6 + static_cast<int>(at - name.options.begin()))},
                 "'{}' {}", option, reason);
}

const std::vector<std::string_view>& FpmathOptions() {
  static const std::vector<std::string_view> options = {"fpmath-bf16", "fpmath-f16", "fpmath-tf32",
                                                        "fpmath-any"};
  return options;
}

std::optional<std::string> FpmathOf(const BenchmarkName& name) {
  for (const auto option : FpmathOptions())
    if (HasOption(name, option)) return std::string(option.substr(option.find('-') + 1));
  return std::nullopt;
}

Workload MakeWorkload(const std::string& text) {
  const BenchmarkName name = ParseBenchmarkName(text);
  Workload common;
  const BenchmarkName own = WithoutCommonOptions(name, common);
  const Backend* const backend = FindBackend(name.op, name.device, name.library);
  if (backend == nullptr)
    throw BadInput({.column = 1}, "no benchmark {}/{}/{}; known are {}", name.op, name.device,
                   name.library, Known());
  Workload workload = backend->read(own);
  if (backend->prepare)
    workload.prepare = [prepare = backend->prepare, own](const RunSettings& settings) {
      return prepare(own, settings);
    };
  else
    workload.prepare = [reason = MissingReason(*backend)](const RunSettings&) -> PreparedCall {
      throw Unsupported(reason);
    };
  workload.name = name;
  workload.threads = common.threads;
  workload.cache = common.cache;
  if (workload.cache != CacheState::kWarm) workload.repro.reset();  // benchdnn's caches are warm
  return workload;
}

std::optional<BenchmarkName> WithOption(const BenchmarkName& name, const std::string& option) {
  for (size_t at = 0; at <= name.options.size(); ++at) {
    auto changed = name;
    changed.options.insert(changed.options.begin() + static_cast<std::ptrdiff_t>(at), option);
    try {
      MakeWorkload(ToText(changed));
      return changed;
    } catch (const BadInput&) {
      continue;  // the option cannot be here
    }
  }
  return std::nullopt;
}

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
