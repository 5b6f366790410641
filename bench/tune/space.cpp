#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "bench/supervise/supervised_program.h"
#include "bench/tune/tune.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "reporters/text/text.h"

namespace dlroof::tune {
namespace {

constexpr const char *kTunables = "GLIBC_TUNABLES", *kHugeTlb = "glibc.malloc.hugetlb";
// Environment variables that are tuned unless the user has set them.
constexpr const char* kVariables[] = {"OMP_WAIT_POLICY",        "GOMP_SPINCOUNT",
                                      "ONEDNN_MAX_CPU_ISA",     kTunables,
                                      "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"};

bool HasAny(const workload::BenchmarkName& name, const std::vector<std::string>& options) {
  return std::ranges::any_of(options,
                             [&](const auto& option) { return workload::HasOption(name, option); });
}

class Space {
 public:
  Space(const workload::BenchmarkName& name, const TunedMachine& machine)
      : name_(name), machine_(machine) {}

  void AddTeam() {
    const auto workload = workload::MakeWorkload(workload::ToText(name_));
    Add({kThreadsCoordinate, TeamChoices(machine_.cpu, workload.threads, machine_.taskset,
                                         IsFree("OMP_WAIT_POLICY") && IsFree("GOMP_SPINCOUNT"))});
  }

  // Adds the operator's options that compute the same result otherwise, and their combinations.
  void AddVariants() {
    const auto* op = workload::FindOp(name_.op);
    if (op == nullptr) return;
    std::optional<settings::Coordinate> all;
    for (const auto& row : op->variants) {
      auto coordinate = OfOptions(row.what, row.options, row.reason);
      if (coordinate.choices.empty()) continue;
      all = all ? settings::Crossed(*all, coordinate) : coordinate;
    }
    if (all) Add(*all);
  }

  void AddIsa(bool precision) {
    const auto& features = machine_.cpu.features;
    if (name_.library != "onednn" || !IsFree("ONEDNN_MAX_CPU_ISA")) return;
    // Without VNNI, 16-bit sums of int8 products may saturate: that is another precision.
    if (name_.type.find('8') != std::string::npos && !precision) return;
    settings::Coordinate coordinate{"instruction set", {}};
    const auto add = [&](const char* isa, const char* reason) {
      coordinate.choices.push_back({{{"ONEDNN_MAX_CPU_ISA", isa}}, reason});
    };
    if (features.count("avx512bw") > 0) add("AVX2", "vectors of 256 bits waste less of a shape");
    if (features.count("avx512bw") > 0 && features.count("avx512_vnni") > 0)
      add("AVX512_CORE", "other kernels than those of the newest extension");
    Add(std::move(coordinate));
  }

  void AddMemory() {
    settings::Coordinate pages{"huge pages", {}};
    if (IsFree(kTunables) && machine_.huge_pages == "madvise")
      pages.choices.push_back({{{kHugeTlb, "1"}}, "malloc asks for transparent huge pages"});
    if (IsFree(kTunables) && machine_.reserved_pages)
      pages.choices.push_back({{{kHugeTlb, "2"}}, "malloc takes reserved huge pages"});
    Add(std::move(pages));
    if (!IsFree("MALLOC_MMAP_THRESHOLD_") || !IsFree("MALLOC_TRIM_THRESHOLD_")) return;
    Add({"allocator",
         {{{{"MALLOC_MMAP_THRESHOLD_", "33554432"}, {"MALLOC_TRIM_THRESHOLD_", "1073741824"}},
           "malloc keeps its memory instead of giving it back"}}});
  }

  void AddPrecision() {
    std::vector<std::string> modes(workload::FpmathOptions().begin(),
                                   workload::FpmathOptions().end());
    auto coordinate = OfOptions("fpmath", modes, "f32 computed in this type; results differ");
    for (const char* type : {"tf32", "bf16", "f16"}) {
      auto changed = name_;
      changed.type = type;
      if (name_.type == "f32" && !workload::InvalidReason(workload::ToText(changed)))
        coordinate.choices.push_back({{{"type", type}}, "a narrower type; results differ"});
    }
    coordinate.name = "precision";
    Add(std::move(coordinate));
  }

  void Add(settings::Coordinate coordinate) {
    if (!coordinate.choices.empty()) coordinates.push_back(std::move(coordinate));
  }

  std::vector<settings::Coordinate> coordinates;

 private:
  bool IsFree(const std::string& variable) const { return machine_.fixed.count(variable) == 0; }

  settings::Coordinate OfOptions(const std::string& knob, const std::vector<std::string>& options,
                                 const std::string& reason) const {
    settings::Coordinate coordinate{knob, {}};
    if (HasAny(name_, options)) return coordinate;
    for (const auto& option : options)
      if (workload::WithOption(name_, option))
        coordinate.choices.push_back({{{knob, option}}, reason});
    return coordinate;
  }

  const workload::BenchmarkName& name_;
  const TunedMachine& machine_;
};

bool IsVariable(const std::string& knob) {
  return std::isupper(static_cast<unsigned char>(knob[0])) != 0;
}

// Returns the name with the option added. Throws BadInput if that is no valid name.
workload::BenchmarkName Changed(const workload::BenchmarkName& name, const std::string& option) {
  auto changed = workload::WithOption(name, option);
  if (!changed) throw BadInput("{}: cannot have {}", workload::ToText(name), option);
  return *std::move(changed);
}

}  // namespace

std::vector<settings::Coordinate> SpaceOf(const workload::BenchmarkName& name,
                                          const TunedMachine& machine,
                                          const SpaceRequest& request) {
  workload::MakeWorkload(workload::ToText(name));
  const bool on_cpu = name.device == "cpu";
  Space space(name, machine);
  if (on_cpu) space.AddTeam();
  space.AddVariants();
  if (on_cpu) space.AddIsa(request.precision);
  if (on_cpu) space.AddMemory();
  for (const auto& [variable, values] : request.environment) {
    settings::Coordinate coordinate{variable, {}};
    for (const auto& value : values)
      coordinate.choices.push_back({{{variable, value}}, "requested by --env"});
    space.Add(std::move(coordinate));
  }
  if (request.precision) space.AddPrecision();
  return space.coordinates;
}

TunedBenchmark UnderSetting(const workload::BenchmarkName& name, const settings::Setting& setting) {
  TunedBenchmark tuned{.name = name};
  // Sets the type first, because valid options depend on it.
  if (const auto type = setting.find("type"); type != setting.end()) tuned.name.type = type->second;
  for (const auto& [knob, value] : setting) {
    if (knob == "type") continue;
    if (knob == "cpus")
      tuned.cpus = value;
    else if (knob == "threads")
      tuned.name = Changed(tuned.name, "threads" + value);
    else if (knob == kHugeTlb)
      tuned.environment[kTunables] = fmt::format("{}={}", knob, value);
    else if (IsVariable(knob))
      tuned.environment[knob] = value;
    else
      tuned.name = Changed(tuned.name, value);
  }
  return tuned;
}

Variables EnvironmentLines(const TunedBenchmark& benchmark) {
  auto lines = benchmark.environment;
  if (const auto threads = workload::MakeWorkload(workload::ToText(benchmark.name)).threads)
    lines["OMP_NUM_THREADS"] = std::to_string(*threads);
  if (!benchmark.cpus) return lines;
  std::string places = *benchmark.cpus;
  for (std::size_t at = places.find(','); at != std::string::npos; at = places.find(',', at + 3))
    places.replace(at, 1, "},{");
  lines["OMP_PLACES"] = "{" + places + "}";
  lines["OMP_PROC_BIND"] = "true";
  return lines;
}

void CheckVariables(const settings::Setting& setting, const SpaceRequest& request,
                    const std::string& path) {
  for (const auto& [knob, value] : setting) {
    const auto is_requested = [&](const auto& row) {
      return row.first == knob && std::ranges::count(row.second, value) > 0;
    };
    // A value with a colon would set further tunables of glibc.
    const bool known =
        knob == kHugeTlb
            ? value == "1" || value == "2"
            : !IsVariable(knob) || (knob != kTunables && std::ranges::count(kVariables, knob) > 0);
    if (!known && std::ranges::none_of(request.environment, is_requested))
      throw BadInput("{}: sets the variable {}, which dlroof does not tune; to allow that, add {}",
                     path, text::Printable(knob),
                     text::Printable(text::CommandLine({fmt::format("--env={}={}", knob, value)})));
  }
}

std::string CommandLineOf(const TunedBenchmark& benchmark, const std::string& program) {
  const auto quoted = [](const std::string& text) { return text::CommandLine({text}); };
  std::string line;
  for (const auto& [variable, value] : benchmark.environment)
    line += fmt::format("{}={} ", quoted(variable), quoted(value));
  if (benchmark.cpus) line += fmt::format("taskset -c {} ", quoted(*benchmark.cpus));
  const auto name = workload::ToText(benchmark.name);
  return line + fmt::format("{} --dlroof_suite=<(echo {}) --benchmark_filter={}", quoted(program),
                            quoted(name), quoted(supervise::ExactFilter(name)));
}

TunedMachine ThisMachine() {
  TunedMachine machine{.cpu = cpu::ThisCpu()};
  const auto enabled = ReadFileIfAny("/sys/kernel/mm/transparent_hugepage/enabled");
  const auto begin = enabled.find('['), end = enabled.find(']');
  if (begin != std::string::npos && end != std::string::npos)
    machine.huge_pages = enabled.substr(begin + 1, end - begin - 1);
  const auto reserved = ReadFileIfAny("/proc/sys/vm/nr_hugepages");
  machine.reserved_pages = !reserved.empty() && reserved.front() != '0';
  machine.taskset = FoundInPath("taskset").has_value();
  for (const char* variable : kVariables)
    if (std::getenv(variable) != nullptr) machine.fixed.insert(variable);
  return machine;
}

namespace {

// An order of CPUs for placing a team's threads.
struct Places {
  const char* reason;
  std::vector<int> cpus;
};

int Of(const std::map<int, int>& ids, int cpu) { return FindCopy(ids, cpu).value_or(0); }

int CacheOf(const cpu::Topology& topology, int cpu) {
  const auto* const caches = FindValue(topology.cache_of_cpu, Level::kL3);
  return caches == nullptr ? 0 : FindCopy(*caches, cpu).value_or(cpu::CacheInstance()).id;
}

template <class Key>
std::vector<int> SortedBy(std::vector<int> cpus, const Key& key) {
  std::ranges::stable_sort(cpus, {}, key);
  return cpus;
}

std::vector<Places> PlacesOf(const cpu::Cpu& cpu) {
  const auto& topology = cpu.topology;
  const auto in_core = cpu::IndicesInCores(cpu);
  std::map<int, int> in_cache, seen;  // index of a core (its first CPU) within its L3
  for (const int number : cpu.allowed)
    if (in_core.at(number) == 0) in_cache[number] = seen[CacheOf(topology, number)]++;
  const auto near = [&](int number) {
    return std::tuple(Of(topology.node_of_cpu, number), CacheOf(topology, number),
                      in_core.at(number), number);
  };
  const auto apart = [&](int number) {
    return std::tuple(in_core.at(number), Of(in_cache, number), number);
  };
  const auto packed = [&](int number) {
    return std::tuple(Of(topology.node_of_cpu, number), CacheOf(topology, number),
                      Of(topology.core_of_cpu, number), number);
  };
  return {{"threads near each other, on one L3", SortedBy(cpu.allowed, near)},
          {"threads apart, with more L3 and bandwidth", SortedBy(cpu.allowed, apart)},
          {"two threads per core, which share its L1 and L2", SortedBy(cpu.allowed, packed)}};
}

// Returns the thread counts to try: powers of two, one per core, one per CPU; or only `fixed`.
std::set<int> Counts(const cpu::Cpu& cpu, std::optional<int> fixed) {
  if (fixed) return {*fixed};
  const int all = static_cast<int>(cpu.allowed.size());
  std::set<int> counts = {all};
  for (int count = 1; count < all; count *= 2) counts.insert(count);
  if (const auto cores = cpu::UsableCores(cpu); cores && *cores < all) counts.insert(*cores);
  return counts;
}

std::vector<settings::Choice> Waits() {
  return {{{{"OMP_WAIT_POLICY", "active"}}, "threads spin until they have work"},
          {{{"OMP_WAIT_POLICY", "passive"}}, "threads sleep until they have work"},
          {{{"GOMP_SPINCOUNT", "10000"}}, "threads spin shortly, then sleep"}};
}

std::vector<settings::Choice> ChoicesOf(const cpu::Cpu& cpu, int count, bool is_default, bool pin) {
  settings::Choice plain{{}, fmt::format("{} thread{}", count, count == 1 ? "" : "s")};
  if (count == 1) plain.reason = "no fork, no join, no waiting";
  if (!is_default) plain.values["threads"] = std::to_string(count);
  std::vector<settings::Choice> choices = {plain};
  if (!pin || count == 1) return choices;
  const auto spread = cpu::SpreadCpus(cpu, count);
  std::set<std::set<int>> known = {{spread.begin(), spread.end()}};
  for (const auto& places : PlacesOf(cpu)) {
    const std::set<int> cpus(places.cpus.begin(), places.cpus.begin() + count);
    if (!known.insert(cpus).second) continue;
    auto pinned = plain;
    pinned.values["cpus"] = fmt::format("{}", fmt::join(cpus, ","));
    pinned.reason += ": ";
    pinned.reason += places.reason;
    choices.push_back(std::move(pinned));
  }
  return choices;
}

}  // namespace

std::vector<settings::Choice> TeamChoices(const cpu::Cpu& cpu, std::optional<int> fixed, bool pin,
                                          bool wait) {
  std::vector<settings::Choice> all;
  const int most = static_cast<int>(cpu.allowed.size());
  if (fixed.value_or(0) > most) return all;
  for (const int count : Counts(cpu, fixed)) {
    const bool is_default = fixed || count == most;
    for (const auto& choice : ChoicesOf(cpu, count, is_default, pin)) {
      if (!choice.values.empty()) all.push_back(choice);
      if (!wait || count == 1) continue;
      for (const auto& waiting : Waits()) {
        settings::Choice both{choice.values, choice.values.empty()
                                                 ? waiting.reason
                                                 : choice.reason + "; " + waiting.reason};
        both.values.insert(waiting.values.begin(), waiting.values.end());
        all.push_back(std::move(both));
      }
    }
  }
  return all;
}

}  // namespace dlroof::tune
