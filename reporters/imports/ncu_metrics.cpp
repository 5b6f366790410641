// Computes FLOPs, bytes and time from Nsight Compute's metrics (import.h).
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "reporters/imports/import.h"

namespace dlroof::imports {
namespace {

using text::Dimension;

struct Term {
  std::string metric;
  double weight;
};
template <class Key>
struct Recipe {
  Key key;
  std::vector<Term> terms;
};

// Bytes between a level and the next one toward the SMs. An L2 atomic reads and writes its 32 byte.
const std::vector<Recipe<Level>>& ByteRecipes() {
  static const std::vector<Recipe<Level>> recipes = {
      {Level::kDram, {{"dram__bytes.sum", 1}}},
      {Level::kDram, {{"dram__bytes_read.sum", 1}, {"dram__bytes_write.sum", 1}}},
      {Level::kDram, {{"dram__bytes_op_read.sum", 1}, {"dram__bytes_op_write.sum", 1}}},
      {Level::kDram, {{"dram__sectors_read.sum", 32}, {"dram__sectors_write.sum", 32}}},
      {Level::kL2,
       {{"lts__t_sectors_srcunit_tex.sum", 32}}},  // the counter that counters/cupti uses
      {Level::kL2, {{"lts__t_bytes.sum", 1}}},
      {Level::kL2,
       {{"lts__t_sectors_op_read.sum", 32},
        {"lts__t_sectors_op_write.sum", 32},
        {"lts__t_sectors_op_atom.sum", 64},
        {"lts__t_sectors_op_red.sum", 64}}},
      {Level::kL1,
       {{"l1tex__t_bytes.sum", 1},
        {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 128},
        {"l1tex__data_pipe_tc_wavefronts_mem_shared.sum", 128}}},
      {Level::kL1,
       {{"l1tex__t_bytes.sum", 1}, {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 128}}},
      {Level::kL1, {{"l1tex__t_bytes.sum", 1}}},
      {Level::kL1,
       {{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", 32},
        {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", 32},
        {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", 32},
        {"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", 32},
        {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", 32},
        {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", 32}}}};
  return recipes;
}

constexpr std::string_view kThreadInstructions = "sm__sass_thread_inst_executed_op_";
// Operations without FLOPs, and operations whose counters are sums of other counters.
constexpr std::string_view kNoFlops =
    " bit control conversion fp16 fp32 fp64 integer memory inter_thread_communication misc uniform "
    "tex ";

std::string ThreadInstructions(std::string_view operation) {
  return fmt::format("{}{}_pred_on.sum", kThreadInstructions, operation);
}

// Counters of thread instructions, with their FLOPs: 2 per multiply-add. An fp16 instruction works
// on two values, as in Nsight Compute's derived__..._hfma_pred_on_x4.
const std::vector<Recipe<std::string_view>>& FlopRecipes() {
  static const auto recipes = [] {
    std::vector<Recipe<std::string_view>> all = {
        {"fp64.vector", {{"dadd", 1}, {"dmul", 1}, {"dfma", 2}}},
        {"fp32.vector",
         {{"fadd", 1}, {"fmul", 1}, {"ffma", 2}, {"fadd2", 2}, {"fmul2", 2}, {"ffma2", 4}}},
        {"fp32.vector", {{"fadd", 1}, {"fmul", 1}, {"ffma", 2}}},
        {"fp16.vector", {{"hadd", 2}, {"hmul", 2}, {"hfma", 4}}}};
    for (auto& recipe : all)
      for (auto& term : recipe.terms) term.metric = ThreadInstructions(term.metric);
    return all;
  }();
  return recipes;
}

constexpr std::string_view kTensorInstructions = "sm__inst_executed_pipe_tensor.sum";
constexpr double kVoltaTensorFlops = 512;  // [flop] of one HMMA warp instruction of Volta
constexpr std::string_view kTensorOps = "sm__ops_path_tensor_src_";
constexpr std::string_view kDuration[] = {"gpu__time_duration.sum", "gpu__time_duration.avg",
                                          "gpu__time_duration.max"};
// Counters of elapsed cycles, each with the metric of its rate [cycles per second].
constexpr std::pair<std::string_view, std::string_view> kCycles[] = {
    {"sm__cycles_elapsed.avg", "sm__cycles_elapsed.avg.per_second"},
    {"sm__cycles_elapsed.max", "sm__cycles_elapsed.avg.per_second"},
    {"gpc__cycles_elapsed.max", "gpc__cycles_elapsed.avg.per_second"},
    {"smsp__cycles_elapsed.avg", "smsp__cycles_elapsed.avg.per_second"}};
constexpr std::string_view kPerSecond = ".per_second", kPerCycle = ".per_cycle_elapsed";

// A metric of Nsight Compute's roofline section, kDerivedMetric + `name`: `factor` times the thread
// instructions of the operation per cycle.
struct DerivedMetric {
  std::string_view name, operation;
  double factor;
};
constexpr std::string_view kDerivedMetric = "derived__smsp__sass_thread_inst_executed_op_";
constexpr DerivedMetric kDerived[] = {
    {"dfma_pred_on_x2", "dfma", 2}, {"ffma_pred_on_x2", "ffma", 2}, {"hfma_pred_on_x4", "hfma", 4}};

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Returns the pipe of a metric: "sm__ops_path_tensor_src_bf16_dst_fp32.sum" -> "bf16.matrix".
// Returns nullopt for other metrics, and for sparse operations, which another metric also counts.
std::optional<std::string> TensorPipe(std::string_view metric) {
  if (!metric.starts_with(kTensorOps) || !metric.ends_with(".sum") ||
      metric.find("sparsity") != std::string_view::npos)
    return std::nullopt;
  auto type = metric.substr(kTensorOps.size());
  if (type.starts_with("fp4_fp6")) type = "fp8";  // one counter for fp4, fp6 and fp8
  auto pipe = std::string(type.substr(0, type.find_first_of("_."))) + ".matrix";
  if (!IsPipeKey(pipe)) return std::nullopt;
  return pipe;
}

// Returns a metric's value; if an sm__sass metric is missing, that of smsp__sass (equal sums).
std::optional<double> Find(const MetricValues& values, std::string_view metric) {
  const auto value = FindCopy(values, metric);
  if (value || !metric.starts_with("sm__sass")) return value;
  return FindCopy(values, "smsp__" + std::string(metric.substr(4)));
}

std::optional<double> Sum(const std::vector<Term>& terms, const MetricValues& values) {
  double sum = 0;
  for (const auto& [metric, weight] : terms) {
    const auto value = Find(values, metric);
    if (!value) return std::nullopt;
    sum += weight * *value;
  }
  return sum;
}

template <class Recipes>
bool Reads(const Recipes& recipes, std::string_view name) {
  return std::ranges::any_of(recipes, [&](const auto& recipe) {
    return std::ranges::any_of(recipe.terms, [&](const Term& term) { return term.metric == name; });
  });
}

// Converts "smsp__sass_x.sum" to "sm__sass_x.sum"; returns other names unchanged.
std::string InSm(std::string_view name) {
  return name.starts_with("smsp__sass") ? "sm__" + std::string(name.substr(6)) : std::string(name);
}

// Returns whether the metric counts thread instructions whose FLOPs this reader does not know.
bool IsUnknownInstruction(std::string_view name) {
  const auto in_sm = InSm(name);
  if (!in_sm.starts_with(kThreadInstructions) || !name.ends_with(".sum")) return false;
  const auto operation = in_sm.substr(kThreadInstructions.size());
  const auto word = operation.substr(0, operation.find("_pred_on.sum"));
  return !Reads(FlopRecipes(), in_sm) && !Has(kNoFlops, fmt::format(" {} ", word));
}

bool IsCounter(std::string_view name) {
  return Reads(ByteRecipes(), name) || Reads(FlopRecipes(), InSm(name));
}

const DerivedMetric* FindDerived(std::string_view name) {
  if (!name.starts_with(kDerivedMetric)) return nullptr;
  name.remove_prefix(kDerivedMetric.size());
  return FindIf(kDerived, [&](const auto& metric) { return metric.name == name; });
}

// Returns the counter of a known rate ("x.sum.per_second" -> "x.sum"); per cycle only those of SMs.
std::optional<std::string> CounterOfRate(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  const auto counter = name.substr(0, name.size() - suffix.size());
  if (!IsCounter(counter) && !TensorPipe(counter)) return std::nullopt;
  if (suffix == kPerCycle && !counter.starts_with("sm")) return std::nullopt;
  return InSm(counter);
}

std::optional<double> CyclesOf(const MetricValues& values) {
  for (const auto& [cycles, rate] : kCycles)
    if (const auto found = Find(values, cycles)) return found;
  const auto seconds = LaunchSeconds(values);
  for (const auto& [cycles, rate] : kCycles)
    if (const auto found = Find(values, rate); found && seconds) return *found * *seconds;
  return std::nullopt;
}

// Adds counters that are missing but can be computed from their rates (per second or per cycle).
MetricValues WithCounters(MetricValues values) {
  const auto seconds = LaunchSeconds(values), cycles = CyclesOf(values);
  const MetricValues given = values;
  for (const auto& [name, value] : given) {
    if (const auto counter = CounterOfRate(name, kPerSecond); counter && seconds)
      values.try_emplace(*counter, value * *seconds);
    if (const auto counter = CounterOfRate(name, kPerCycle); counter && cycles)
      values.try_emplace(*counter, value * *cycles);
    if (const auto* derived = FindDerived(name); derived != nullptr && cycles)
      values.try_emplace(ThreadInstructions(derived->operation), value / derived->factor * *cycles);
  }
  return values;
}

// Parts of the names of tensor-core metrics; "pipe_tc", "utc", "tcgen" and "tmem" are Blackwell's.
constexpr std::string_view kTensorWords[] = {"tensor", "mma", "pipe_tc", "utc", "tcgen", "tmem"};

bool IsTensor(std::string_view name) {
  return (name.starts_with("sm__") || name.starts_with("smsp__")) &&
         std::ranges::any_of(kTensorWords, [&](auto word) { return Has(name, word); }) &&
         !name.ends_with(".peak_sustained") && !name.ends_with(".peak_burst");
}

void AddTensorFlops(const MetricValues& values, bool volta, LaunchWork& work) {
  bool counted = false, uncounted = false;
  for (const auto& [metric, value] : values) {
    if (const auto pipe = TensorPipe(metric)) {
      work.flops[*pipe] += value;
      counted = true;
    } else if (value > 0 && metric != kTensorInstructions && IsTensor(metric) &&
               !IsKnownMetric(metric) && !Has(metric, "sparsity")) {
      uncounted = true;
      // Counts operations on a type for which dlroof has no pipe.
      if (metric.starts_with(kTensorOps) && metric.ends_with(".sum"))
        work.unknown = LaunchWork::Unknown::kTensor;
    }
  }
  if (counted) return;
  const auto instructions = Find(values, kTensorInstructions);
  if (instructions && (volta || *instructions == 0))
    work.flops["fp16.matrix"] = kVoltaTensorFlops * *instructions;
  if (uncounted || (instructions && *instructions > 0 && !volta))
    work.unknown = LaunchWork::Unknown::kTensor;
}

}  // namespace

bool IsWorkMetric(std::string_view name) { return IsTensor(name) || IsUnknownInstruction(name); }

bool IsKnownMetric(std::string_view name) {
  const auto is_cycles = [&](const auto& row) { return row.first == name || row.second == name; };
  return IsCounter(name) || name == kTensorInstructions || TensorPipe(name) ||
         std::ranges::any_of(kCycles, is_cycles) || std::ranges::count(kDuration, name) > 0 ||
         CounterOfRate(name, kPerSecond) || CounterOfRate(name, kPerCycle) ||
         FindDerived(name) != nullptr;
}

bool IsUnitOf(std::string_view metric, const text::Unit& unit) {
  const bool derived = FindDerived(metric) != nullptr,
             per_cycle = derived || metric.ends_with(kPerCycle);
  const auto per = metric.ends_with(kPerSecond) ? Dimension::kSeconds
                   : per_cycle                  ? Dimension::kCycles
                                                : Dimension::kNone;
  if (unit.per != per && !(derived && unit.per == Dimension::kNone)) return false;
  if (Has(metric, "time_duration")) return unit.of == Dimension::kSeconds;
  if (Has(metric, "bytes")) return unit.of == Dimension::kBytes;
  const auto of = Has(metric, "cycles_elapsed") ? Dimension::kCycles : Dimension::kCount;
  return unit.of == of || (unit.of == Dimension::kNone && unit.factor == 1);
}

std::optional<double> LaunchSeconds(const MetricValues& values) {
  for (const auto metric : kDuration)
    if (const auto seconds = Find(values, metric); seconds && *seconds > 0) return seconds;
  for (const auto& [name, per_second] : kCycles) {
    const auto cycles = Find(values, name), rate = Find(values, per_second);
    if (cycles && rate && *cycles > 0 && *rate > 0) return *cycles / *rate;
  }
  return std::nullopt;
}

LaunchWork WorkOfLaunch(const MetricValues& given, std::string_view capability) {
  const auto values = WithCounters(given);
  LaunchWork work;
  for (const auto& [pipe, terms] : FlopRecipes())
    if (const auto flops = Sum(terms, values);
        flops && (pipe != "fp32.vector" || terms.size() > 3 || !capability.starts_with("10.")))
      work.flops.try_emplace(std::string(pipe), *flops);
  // A counter shows that instructions ran on a pipe, but each recipe of the pipe lacks a counter.
  for (const auto& [pipe, terms] : FlopRecipes())
    for (const auto& term : terms)
      if (!work.flops.contains(std::string(pipe)) && Find(values, term.metric).value_or(0) > 0)
        work.unknown = LaunchWork::Unknown::kVector;
  for (const auto& [metric, value] : values)
    if (value > 0 && IsUnknownInstruction(metric)) work.unknown = LaunchWork::Unknown::kVector;
  AddTensorFlops(values, capability == "7.0", work);
  for (const auto& [level, terms] : ByteRecipes())
    if (const auto bytes = Sum(terms, values)) work.bytes.try_emplace(level, *bytes);
  return work;
}

}  // namespace dlroof::imports
