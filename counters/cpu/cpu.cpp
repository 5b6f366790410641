#include "counters/cpu/cpu.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hwloc.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/process_limits.h"

namespace dlroof::cpu {
namespace {

// Bits of XCR0 (register states that the operating system saves) that AVX, AVX-512 and AMX need.
constexpr std::uint64_t kNone = 0, kAvx = 0x6, kAvx512 = 0xe6, kTiles = 0x60000;

struct FeatureRow {
  const char* name;
  std::uint32_t leaf, subleaf;
  std::uint32_t CpuidRegisters::*word;
  int bit;
  std::uint64_t states;  // bits of XCR0 that the feature needs
};

// Sources: Intel SDM volume 2A, CPUID. AMD APM volume 3, appendix E, has the same bits.
constexpr FeatureRow kFeatures[] = {
    {"sse2", 1, 0, &CpuidRegisters::edx, 26, kNone},
    {"ssse3", 1, 0, &CpuidRegisters::ecx, 9, kNone},
    {"sse4.1", 1, 0, &CpuidRegisters::ecx, 19, kNone},
    {"avx", 1, 0, &CpuidRegisters::ecx, 28, kAvx},
    {"fma", 1, 0, &CpuidRegisters::ecx, 12, kAvx},
    {"avx2", 7, 0, &CpuidRegisters::ebx, 5, kAvx},
    {"avx512f", 7, 0, &CpuidRegisters::ebx, 16, kAvx512},
    {"avx512dq", 7, 0, &CpuidRegisters::ebx, 17, kAvx512},
    {"avx512bw", 7, 0, &CpuidRegisters::ebx, 30, kAvx512},
    {"avx512vl", 7, 0, &CpuidRegisters::ebx, 31, kAvx512},
    {"avx512_vnni", 7, 0, &CpuidRegisters::ecx, 11, kAvx512},
    {"avx512_fp16", 7, 0, &CpuidRegisters::edx, 23, kAvx512},
    {"avx512_bf16", 7, 1, &CpuidRegisters::eax, 5, kAvx512},
    {"avx_vnni", 7, 1, &CpuidRegisters::eax, 4, kAvx},
    {"amx_bf16", 7, 0, &CpuidRegisters::edx, 22, kTiles},
    {"amx_tile", 7, 0, &CpuidRegisters::edx, 24, kTiles},
    {"amx_int8", 7, 0, &CpuidRegisters::edx, 25, kTiles},
    {"amx_fp16", 7, 1, &CpuidRegisters::eax, 21, kTiles},
};

void AppendWord(std::uint32_t word, std::string& text) {
  char bytes[sizeof word];
  std::memcpy(bytes, &word, sizeof word);
  text.append(bytes, sizeof bytes);
}

// Returns the text without padding: NULs at the end and, from some vendors, leading spaces.
std::string Trimmed(const std::string& padded) {
  const std::string text = padded.c_str();
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string BrandString(const Cpuid& cpuid) {
  constexpr std::uint32_t kExtended = 0x80000000;
  if (cpuid(kExtended, 0).eax < kExtended + 4) return {};
  std::string text;
  for (std::uint32_t leaf = kExtended + 2; leaf <= kExtended + 4; ++leaf) {
    const auto words = cpuid(leaf, 0);
    for (const auto word : {words.eax, words.ebx, words.ecx, words.edx}) AppendWord(word, text);
  }
  return Trimmed(text);
}

std::set<std::string> Features(const Cpuid& cpuid, std::uint32_t max_leaf, std::uint64_t states,
                               bool amx_permitted) {
  const std::uint32_t max_subleaf_of_7 = max_leaf >= 7 ? cpuid(7, 0).eax : 0;
  std::set<std::string> found;
  for (const auto& row : kFeatures) {
    if (row.leaf > max_leaf || (row.leaf == 7 && row.subleaf > max_subleaf_of_7)) continue;
    const bool present = (cpuid(row.leaf, row.subleaf).*row.word >> row.bit & 1U) != 0;
    const bool enabled = (states & row.states) == row.states;
    const bool permitted = row.states != kTiles || amx_permitted;
    if (present && enabled && permitted) found.insert(row.name);
  }
  return found;
}

struct FreeSet {
  void operator()(hwloc_bitmap_t set) const { hwloc_bitmap_free(set); }
};
using CpuSet = std::unique_ptr<hwloc_bitmap_s, FreeSet>;

std::vector<int> CpusIn(hwloc_const_bitmap_t set) {
  std::vector<int> cpus;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu))
    cpus.push_back(cpu);
  return cpus;
}

void AddCacheFacts(const Topology& topology, std::map<std::string, std::string>& facts) {
  for (const auto& [level, by_cpu] : topology.cache_of_cpu) {
    std::map<int, std::pair<double, int>> instances;  // id -> capacity, CPUs
    for (const auto& [cpu, cache] : by_cpu) {
      instances[cache.id].first = cache.bytes;
      ++instances[cache.id].second;
    }
    std::map<std::pair<double, int>, int> kinds;
    for (const auto& [id, kind] : instances) ++kinds[kind];
    std::vector<std::string> texts;
    for (const auto& [kind, count] : kinds)
      texts.push_back(fmt::format("{} x {:.0f} byte for {} CPUs", count, kind.first, kind.second));
    facts[fmt::format("topology.{}", Key(level))] = fmt::format("{}", fmt::join(texts, ", "));
  }
}

}  // namespace

CpuidRegisters ExecuteCpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  CpuidRegisters words;
  __cpuid_count(leaf, subleaf, words.eax, words.ebx, words.ecx, words.edx);
  return words;
}

Cpu CpuFromCpuid(const Cpuid& cpuid, std::uint64_t enabled_states, bool amx_permitted) {
  Cpu cpu;
  const auto first = cpuid(0, 0);
  for (const auto word : {first.ebx, first.edx, first.ecx}) AppendWord(word, cpu.vendor);
  cpu.vendor = Trimmed(cpu.vendor);
  cpu.name = BrandString(cpuid);
  if (cpu.name.empty()) cpu.name = cpu.vendor;
  if (first.eax >= 1) {
    const auto signature = cpuid(1, 0).eax;
    cpu.stepping = signature & 0xf;
    cpu.family = signature >> 8 & 0xf;
    cpu.model = signature >> 4 & 0xf;
    if (cpu.family == 0x6 || cpu.family == 0xf) cpu.model += (signature >> 16 & 0xf) << 4;
    if (cpu.family == 0xf) cpu.family += signature >> 20 & 0xff;
  }
  cpu.features = Features(cpuid, first.eax, enabled_states, amx_permitted);
  return cpu;
}

std::map<std::string, std::string> Facts(const Cpu& cpu) {
  std::map<std::string, std::string> facts = {
      {"cpu.vendor", cpu.vendor},
      {"cpu.name", cpu.name},
      {"cpu.signature",
       fmt::format("family {} model {} stepping {}", cpu.family, cpu.model, cpu.stepping)},
      {"cpu.features", fmt::format("{}", fmt::join(cpu.features, " "))}};
  const auto& topology = cpu.topology;
  if (topology.cpus > 0)
    facts["topology.counts"] =
        fmt::format("{} packages, {} cores, {} CPUs, {} NUMA nodes", topology.packages,
                    topology.cores, topology.cpus, topology.numa_nodes);
  AddCacheFacts(topology, facts);
  return facts;
}

std::optional<std::string> Microcode() {
  constexpr std::string_view kKey = "\nmicrocode";  // the first line "microcode : VALUE"
  const auto cpuinfo = ReadFileIfAny("/proc/cpuinfo");
  const auto line = cpuinfo.find(kKey);
  const auto colon = cpuinfo.find(':', line);
  if (line == std::string::npos || colon == std::string::npos) return std::nullopt;
  auto value = Trimmed(cpuinfo.substr(colon + 1, cpuinfo.find('\n', colon) - colon - 1));
  return value.empty() ? std::nullopt : std::optional(std::move(value));
}

std::optional<int> UsableCores(const Cpu& cpu) {
  std::set<int> cores;
  for (const int each : cpu.allowed) {
    const auto* const core = FindValue(cpu.topology.core_of_cpu, each);
    if (core == nullptr) return std::nullopt;
    cores.insert(*core);
  }
  return cores.empty() ? std::nullopt : std::optional(static_cast<int>(cores.size()));
}

std::map<int, int> IndicesInCores(const Cpu& cpu) {
  std::map<int, int> indices, seen;
  for (const int each : cpu.allowed) {
    const auto* const core = FindValue(cpu.topology.core_of_cpu, each);
    indices[each] = core == nullptr ? 0 : seen[*core]++;
  }
  return indices;
}

std::vector<int> SpreadCpus(const Cpu& cpu, int count) {
  if (count < 0 || static_cast<std::size_t>(count) > cpu.allowed.size())
    throw std::invalid_argument(fmt::format("{} CPUs are needed, but this process may use only {}",
                                            count, cpu.allowed.size()));
  auto chosen = cpu.allowed;
  const auto in_core = IndicesInCores(cpu);
  std::ranges::stable_sort(chosen, {}, [&](int each) { return in_core.at(each); });
  chosen.resize(static_cast<std::size_t>(count));
  return chosen;
}

std::optional<CacheShare> ShareOf(const Topology& topology, Level level,
                                  const std::vector<int>& cpus) {
  const auto* const of_level = FindValue(topology.cache_of_cpu, level);
  if (of_level == nullptr || cpus.empty()) return std::nullopt;
  std::map<int, int> sharers;
  CacheShare share;
  for (const int cpu : cpus) {
    const auto* const cache = FindValue(*of_level, cpu);
    if (cache == nullptr) return std::nullopt;
    share.bytes = share.bytes == 0 ? cache->bytes : std::min(share.bytes, cache->bytes);
    const int on_this = ++sharers[cache->id];
    if (on_this == 1) share.total_bytes += cache->bytes;
    share.sharers = std::max(share.sharers, on_this);
  }
  return share;
}

namespace {

// Returns the decimal number at the beginning of a text, or nullopt for "max" and other texts.
std::optional<double> Number(std::string_view text) {
  unsigned long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return static_cast<double>(value);
}

// Returns the limit [byte] of one control group minus its use, or nullopt if it has no limit.
std::optional<double> FreeMemoryIn(const std::filesystem::path& directory, bool v2) {
  const auto limit =
      Number(ReadFileIfAny(directory / (v2 ? "memory.max" : "memory.limit_in_bytes")));
  const auto used =
      Number(ReadFileIfAny(directory / (v2 ? "memory.current" : "memory.usage_in_bytes")));
  if (!limit || !used) return std::nullopt;
  return std::max(0.0, *limit - *used);
}

// Returns the limit [byte] of the address space minus its use, or nullopt if there is no limit.
std::optional<double> FreeAddressSpace() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto pages = Number(ReadFileIfAny("/proc/self/statm"));  // first number: total size
  if (!pages) return std::nullopt;
  const double used = *pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  return std::max(0.0, static_cast<double>(limit.rlim_cur) - used);
}

}  // namespace

std::optional<double> ParseMeminfo(std::string_view meminfo, std::string_view key) {
  std::istringstream lines{std::string(meminfo)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key) || line.find(':') != key.size()) continue;
    std::istringstream value(line.substr(key.size() + 1));
    if (double kibibytes = 0; value >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

std::vector<int> CpuList(const std::string& text) {
  const CpuSet set(hwloc_bitmap_alloc());
  // hwloc does not accept the line end of the kernel's files.
  hwloc_bitmap_list_sscanf(set.get(), text.substr(0, text.find('\n')).c_str());
  return CpusIn(set.get());
}

std::optional<double> AvailableMemoryBytes() {
  std::optional<double> available = ParseMeminfo(ReadFileIfAny("/proc/meminfo"), "MemAvailable");
  for (const auto& folder : GroupFolders(ReadFileIfAny("/proc/self/cgroup"), "memory", "/sys"))
    available = Lower(available, FreeMemoryIn(folder.path, folder.v2));
  return Lower(available, FreeAddressSpace());
}

namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

Handle Load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Handle handle(raw);
  if (hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0) return nullptr;
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return handle;
}

int Count(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int count = hwloc_get_nbobjs_by_type(topology, type);
  return count > 0 ? count : 0;
}

std::optional<Level> CacheLevel(hwloc_obj_type_t type) {
  if (type == HWLOC_OBJ_L1CACHE) return Level::kL1;
  if (type == HWLOC_OBJ_L2CACHE) return Level::kL2;
  if (type == HWLOC_OBJ_L3CACHE) return Level::kL3;
  return std::nullopt;
}

void AddCpu(const hwloc_obj& pu, Topology& result) {
  const int cpu = static_cast<int>(pu.os_index);
  for (hwloc_obj_t above = pu.parent; above != nullptr; above = above->parent) {
    if (above->type == HWLOC_OBJ_CORE)
      result.core_of_cpu[cpu] = static_cast<int>(above->logical_index);
    const auto level = CacheLevel(above->type);
    if (level && above->attr->cache.size > 0)
      result.cache_of_cpu[*level][cpu] = {static_cast<int>(above->logical_index),
                                          static_cast<double>(above->attr->cache.size),
                                          std::max(0, above->attr->cache.associativity)};
  }
}

// Sets `topology` and `allowed`. The topology includes CPUs that this process's control group
// forbids, so that a container describes the whole machine.
void ReadTopology(Cpu& of) {
  Topology& result = of.topology;
  const Handle handle = Load();
  if (!handle) return;
  hwloc_topology_t topology = handle.get();
  result.packages = Count(topology, HWLOC_OBJ_PACKAGE);
  result.cores = Count(topology, HWLOC_OBJ_CORE);
  result.cpus = Count(topology, HWLOC_OBJ_PU);
  result.numa_nodes = Count(topology, HWLOC_OBJ_NUMANODE);
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr)
    AddCpu(*pu, result);
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr)
    for (const int cpu : CpusIn(node->cpuset))
      result.node_of_cpu[cpu] = static_cast<int>(node->os_index);
  const CpuSet allowed(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_THREAD) == 0)
    of.allowed = CpusIn(allowed.get());
}

// Returns XCR0 (the register states that the operating system saves), or 0 without XSAVE.
std::uint64_t EnabledRegisterStates() {
  constexpr std::uint32_t kOsxsave = 1U << 27;
  if ((ExecuteCpuid(1, 0).ecx & kOsxsave) == 0) return 0;
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

// Requests AMX tiles from the kernel for the whole process. Returns whether they were granted.
bool RequestAmxPermission() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

Cpu ThisCpu() {
  Cpu cpu = CpuFromCpuid(ExecuteCpuid, EnabledRegisterStates(), RequestAmxPermission());
  ReadTopology(cpu);
  // Not from hwloc, whose value lacks hot-added memory.
  cpu.memory_bytes = ParseMeminfo(ReadFileIfAny("/proc/meminfo"), "MemTotal");
  return cpu;
}

}  // namespace dlroof::cpu
