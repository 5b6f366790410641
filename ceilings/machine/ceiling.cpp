#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>

#include "ceilings/machine/machine.h"
#include "counters/base/keys.h"

namespace dlroof::machine {

Ceiling CeilingFrom(const Rate& rate, double work_per_iteration, int threads,
                    const std::string& how) {
  Ceiling ceiling{.per_second = rate.per_second * work_per_iteration,
                  .threads = threads,
                  .clock_hz = rate.clock_hz,
                  .validation = {.doubling = rate.doubling, .spread = rate.spread}};
  if (rate.ci95)
    ceiling.ci95 = {rate.ci95->first * work_per_iteration, rate.ci95->second * work_per_iteration};
  ceiling.how = rate.clean > 0 ? fmt::format("{}; best of {} clean repetitions ({} made)", how,
                                             rate.clean, rate.total)
                               : fmt::format("{}; best of {} noisy repetitions", how, rate.total);
  if (!rate.waits_known) ceiling.how += "; the system does not report waits for a CPU";
  if (rate.reason)
    ceiling.reasons = {rate.reason->text};
  else
    ceiling.status = CeilingStatus::kValidated;
  if (rate.total > 0) ceiling.validation.clean = static_cast<double>(rate.clean) / rate.total;
  if (rate.clock_hz) ceiling.validation.per_cycle = ceiling.per_second / threads / *rate.clock_hz;
  return ceiling;
}

void AddReason(Ceiling& ceiling, const std::string& reason) {
  ceiling.status = CeilingStatus::kNotValidated;
  if (std::ranges::count(ceiling.reasons, reason) == 0) ceiling.reasons.push_back(reason);
}

void AddUnboundedReason(Ceiling& ceiling, const std::string& reason) {
  AddReason(ceiling, reason);
  ceiling.unbounded = true;
}

const CeilingRow* ChooseRoof(const std::vector<const CeilingRow*>& rows) {
  constexpr double kNoise = 0.03;
  const CeilingRow *highest = nullptr, *validated = nullptr;
  for (const auto* row : rows) {
    const auto higher = [&](const CeilingRow* other) {
      return other == nullptr || row->second.per_second > other->second.per_second;
    };
    if (higher(highest)) highest = row;
    if (row->second.IsValidated() && higher(validated)) validated = row;
  }
  if (validated == nullptr) return highest;
  return validated->second.per_second >= (1 - kNoise) * highest->second.per_second ? validated
                                                                                   : highest;
}

std::string PlainPipe(const std::string& row) {
  const auto unit = row.find('.');
  return unit == std::string::npos ? row : row.substr(0, row.find('.', unit + 1));
}

void AddPipeRoofs(std::map<std::string, Ceiling>& flops, bool on_gpu) {
  std::map<std::string, std::vector<const CeilingRow*>> pipes;
  for (const auto& row : flops)
    if (const auto plain = PlainPipe(row.first);
        plain != row.first && (!on_gpu || row.second.validation.result))
      pipes[plain].push_back(&row);
  for (const auto& [plain, rows] : pipes) {
    const auto* best = ChooseRoof(rows);
    auto roof = best->second;
    roof.how = fmt::format("{}, the best of {} row{}: {}", best->first, rows.size(),
                           rows.size() == 1 ? "" : "s", roof.how);
    if (const auto reason = on_gpu ? std::nullopt : FasterNotValidated(roof, rows))
      AddReason(roof, *reason);
    flops[plain] = roof;
  }
}

void AddLevelRoofs(CeilingSet& set, bool on_gpu) {
  constexpr const char* kNode = ".node";  // in keys of older machine files: rows of one NUMA node
  std::map<Level, std::vector<const CeilingRow*>> levels;
  for (const auto& row : set.mixes) {
    const auto level = LevelFromKey(row.first.substr(0, row.first.find('.')));
    if (level && row.first.find(kNode) == std::string::npos &&
        (!on_gpu || row.second.validation.result))
      levels[*level].push_back(&row);
  }
  for (const auto& [level, mixes] : levels) {
    const auto& [key, best] = *ChooseRoof(mixes);
    auto& roof = set.bytes[level] = best;
    roof.mix = key.substr(key.find('.') + 1);
    roof.how = fmt::format("{}, the best of {} mixes: {}", roof.mix, mixes.size(), best.how);
  }
}

std::optional<std::string> FasterNotValidated(const Ceiling& best,
                                              const std::vector<const CeilingRow*>& rows) {
  const double expected = best.validation.per_cycle_expected.value_or(HUGE_VAL);
  for (const auto* row : rows)
    if (const double other = row->second.validation.per_cycle_expected.value_or(0);
        !row->second.IsValidated() && other > expected)
      return fmt::format("{} can be {:.3g} times as fast and is not validated", row->first,
                         other / expected);
  return std::nullopt;
}

const CeilingRow* FastestCopy(const CeilingSet& ceilings, Level level) {
  std::vector<const CeilingRow*> copies;
  const auto prefix = fmt::format("{}.copy", Key(level));
  for (const auto& row : ceilings.mixes)
    if (row.first.starts_with(prefix) && !row.second.unbounded) copies.push_back(&row);
  return ChooseRoof(copies);
}

namespace {

constexpr double kAllowed = 1.03;
constexpr double kFairScaling = 0.9;

void Compare(Ceiling& smaller, Ceiling& larger) {
  if (smaller.per_second > kAllowed * larger.per_second)
    AddReason(larger,
              fmt::format("{} of these threads reached {:.4g} G/s, all of them only {:.4g} "
                          "G/s: another program slowed them",
                          smaller.threads, smaller.per_second / 1e9, larger.per_second / 1e9));
  const double per_thread = smaller.per_second / smaller.threads;
  const double of_larger = larger.per_second / larger.threads;
  if (of_larger <= kAllowed * per_thread) return;
  AddReason(smaller, fmt::format("{} threads reached {:.4g} G/s per thread, this team only {:.4g} "
                                 "G/s: another program or a lower clock slowed it",
                                 larger.threads, of_larger / 1e9, per_thread / 1e9));
}

template <class Key>
void CompareAll(std::map<Key, Ceiling>& smaller, std::map<Key, Ceiling>& larger) {
  for (auto& [key, ceiling] : smaller)
    if (auto* other = FindValue(larger, key)) Compare(ceiling, *other);
}

bool IsPrivate(Level level) { return level == Level::kL1 || level == Level::kL2; }
// Returns true for rows of hardware that each core has: pipes, L1, L2 ("l2.copy.avx512").
bool IsPrivate(std::string_view row) {
  const auto level = LevelFromKey(row.substr(0, row.find('.')));
  return !level || IsPrivate(*level);
}

// Returns the team's clock / the clock of a single thread [1], or 1 if either is unknown.
double ClockRatio(const Ceiling& single, const Ceiling& team) {
  return single.clock_hz && team.clock_hz ? *team.clock_hz / *single.clock_hz : 1;
}

void Scale(const Ceiling& single, int threads, std::optional<int> cores, Ceiling& team) {
  const double scaling = team.per_second / (threads * single.per_second);
  team.validation.scaling = scaling;
  if (cores && threads <= *cores && scaling < kFairScaling * ClockRatio(single, team))
    AddReason(
        team,
        "at the same clock each of its threads is slower than a single thread: other programs "
        "used their cores, or two threads share a core");
}

template <class Key>
void ScaleAll(const std::map<Key, Ceiling>& single, int threads, std::optional<int> cores,
              std::map<Key, Ceiling>& ceilings) {
  for (auto& [key, ceiling] : ceilings)
    if (const auto* row = FindValue(single, key); row != nullptr && IsPrivate(key))
      Scale(*row, threads, cores, ceiling);
}

}  // namespace

void AddScaling(Machine& machine, std::optional<int> cores) {
  const auto* const single = ForThreads(machine, 1);
  if (single == nullptr) return;
  for (auto& [threads, set] : machine.by_threads) {
    if (threads == 1) continue;
    ScaleAll(single->flops, threads, cores, set.flops);
    ScaleAll(single->bytes, threads, cores, set.bytes);
    ScaleAll(single->mixes, threads, cores, set.mixes);
  }
}

void CompareThreadCounts(Machine& machine) {
  for (auto smaller = machine.by_threads.begin(); smaller != machine.by_threads.end(); ++smaller)
    for (auto larger = std::next(smaller); larger != machine.by_threads.end(); ++larger) {
      CompareAll(smaller->second.flops, larger->second.flops);
      CompareAll(smaller->second.bytes, larger->second.bytes);
    }
}

namespace {

using Features = std::vector<std::string>;

struct PartRow {
  std::string_view isa;
  Features needs;
};

const std::vector<PartRow> kParts = {
    {"portable", {}},
    {"sse2", {"sse2"}},
    {"ssse3", {"ssse3"}},
    {"sse41", {"sse4.1"}},
    {"avx", {"avx"}},
    {"fma", {"fma"}},
    {"avx2", {"avx2"}},
    {"avx_vnni", {"avx2", "avx_vnni"}},
    {"avx512", {"avx512f"}},
    {"avx512_vnni", {"avx512f", "avx512_vnni"}},
    {"avx512_bf16", {"avx512f", "avx512_bf16"}},
    {"avx512_fp16", {"avx512f", "avx512_fp16"}},
    {"amx", {"amx_tile"}},
};

// An ISA of oneDNN 3.x (dnnl_cpu_isa_t), and the CPU features that it adds to the ISA `extends`.
struct IsaRow {
  std::string_view name, extends;
  Features adds;
};

const std::vector<IsaRow> kIsas = {
    {"sse41", "", {"sse2", "ssse3", "sse4.1"}},
    {"avx", "sse41", {"avx"}},
    {"avx2", "avx", {"avx2", "fma"}},
    {"avx2_vnni", "avx2", {"avx_vnni"}},
    {"avx2_vnni_2", "avx2_vnni", {}},
    {"avx512_core", "avx2", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}},
    {"avx512_core_vnni", "avx512_core", {"avx512_vnni"}},
    {"avx512_core_bf16", "avx512_core_vnni", {"avx512_bf16"}},
    {"avx512_core_fp16", "avx512_core_bf16", {"avx512_fp16", "avx_vnni"}},
    {"avx512_core_amx", "avx512_core_fp16", {"amx_tile", "amx_int8", "amx_bf16"}},
    {"avx512_core_amx_fp16", "avx512_core_amx", {"amx_fp16"}},
    {"avx10_1_512", "avx512_core_fp16", {}},
    {"avx10_1_512_amx", "avx512_core_amx", {}},
    {"avx10_1_512_amx_fp16", "avx512_core_amx_fp16", {}},
    {"avx10_2_512", "avx10_1_512", {}},
    {"avx10_2_512_amx_2", "avx10_1_512_amx_fp16", {}},
};

const IsaRow* FindIsa(std::string_view name) {
  return FindIf(kIsas, [&](const IsaRow& row) { return row.name == name; });
}

struct RowKey {
  std::string_view type, isa, variant;
  const PartRow* part = nullptr;  // null if the key has no <part> or an unknown one
};

RowKey Parse(std::string_view key) {
  constexpr std::array<std::string_view, 4> kVariants = {"_scalar", "_nofma", "_ymm", "_l1"};
  RowKey row;
  const auto unit = key.find('.');
  const auto part = unit == std::string_view::npos ? unit : key.find('.', unit + 1);
  if (part == std::string_view::npos) return row;
  row.type = key.substr(0, unit);
  row.isa = key.substr(part + 1);
  for (const auto variant : kVariants)
    if (row.isa.ends_with(variant)) {
      row.variant = variant;
      row.isa.remove_suffix(variant.size());
      break;
    }
  row.part = FindIf(kParts, [&](const PartRow& each) { return each.isa == row.isa; });
  return row;
}

}  // namespace

std::string_view IsaOfRow(std::string_view row_key) {
  const auto row = Parse(row_key);
  return row.part == nullptr ? std::string_view() : row.part->isa;
}

std::set<std::string> FeaturesOfRow(std::string_view row_key) {
  const auto row = Parse(row_key);
  if (row.part == nullptr) return {};
  std::set<std::string> needs(row.part->needs.begin(), row.part->needs.end());
  if (row.variant == "_ymm") needs.insert("avx512vl");
  if (row.isa == "amx") needs.insert(fmt::format("amx_{}", row.type));
  if (row.isa == "avx2" && row.type.starts_with("fp")) needs.insert("fma");
  if (row.isa == "avx512" && row.type == "int8") needs.insert("avx512bw");
  return needs;
}

bool RowAllowed(std::string_view row_key, std::string_view effective_isa) {
  const auto* isa = FindIsa(effective_isa);
  if (isa == nullptr) return true;
  // Caches the answers, because a run asks very often for the same few rows.
  thread_local std::map<const IsaRow*, std::map<std::string, bool, std::less<>>> known;
  auto& of_isa = known[isa];
  if (const auto* found = FindValue(of_isa, row_key)) return *found;
  auto needs = FeaturesOfRow(row_key);
  for (; isa != nullptr; isa = FindIsa(isa->extends))
    for (const auto& feature : isa->adds) needs.erase(feature);
  return of_isa.emplace(row_key, needs.empty()).first->second;
}

}  // namespace dlroof::machine
