#include "reporters/import/ncu_metrics.h"

#include <algorithm>
#include <utility>

namespace dlroof::imports {
namespace {

struct Term {
  std::string_view metric;
  double weight;
};
template <class Key>
struct Recipe {
  Key key;
  std::vector<Term> terms;
};

// Bytes between a level and the next nearer one. A sector is 32 byte; an atomic operation on the
// L2 reads and writes.
const std::vector<Recipe<Level>>& ByteRecipes() {
  static const std::vector<Recipe<Level>> recipes = {
      {Level::kDram, {{"dram__bytes.sum", 1}}},
      {Level::kDram, {{"dram__bytes_read.sum", 1}, {"dram__bytes_write.sum", 1}}},
      {Level::kDram, {{"dram__bytes_op_read.sum", 1}, {"dram__bytes_op_write.sum", 1}}},
      {Level::kDram, {{"dram__sectors_read.sum", 32}, {"dram__sectors_write.sum", 32}}},
      {Level::kL2, {{"lts__t_sectors_srcunit_tex.sum", 32}}},  // as counters/cupti has it
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

// Thread instructions; a multiply-add is 2, a half instruction works on two numbers (Nsight
// Compute's own derived__..._hfma_pred_on_x4).
const std::vector<Recipe<std::string_view>>& FlopRecipes() {
  static const std::vector<Recipe<std::string_view>> recipes = {
      {"fp64.vector",
       {{"sm__sass_thread_inst_executed_op_dadd_pred_on.sum", 1},
        {"sm__sass_thread_inst_executed_op_dmul_pred_on.sum", 1},
        {"sm__sass_thread_inst_executed_op_dfma_pred_on.sum", 2}}},
      {"fp32.vector",
       {{"sm__sass_thread_inst_executed_op_fadd_pred_on.sum", 1},
        {"sm__sass_thread_inst_executed_op_fmul_pred_on.sum", 1},
        {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum", 2},
        {"sm__sass_thread_inst_executed_op_fadd2_pred_on.sum", 2},
        {"sm__sass_thread_inst_executed_op_fmul2_pred_on.sum", 2},
        {"sm__sass_thread_inst_executed_op_ffma2_pred_on.sum", 4}}},
      {"fp32.vector",
       {{"sm__sass_thread_inst_executed_op_fadd_pred_on.sum", 1},
        {"sm__sass_thread_inst_executed_op_fmul_pred_on.sum", 1},
        {"sm__sass_thread_inst_executed_op_ffma_pred_on.sum", 2}}},
      {"fp16.vector",
       {{"sm__sass_thread_inst_executed_op_hadd_pred_on.sum", 2},
        {"sm__sass_thread_inst_executed_op_hmul_pred_on.sum", 2},
        {"sm__sass_thread_inst_executed_op_hfma_pred_on.sum", 4}}}};
  return recipes;
}

constexpr std::string_view kTensorInstructions = "sm__inst_executed_pipe_tensor.sum";
constexpr double kVoltaTensorFlops = 512;  // of one warp instruction, Volta's HMMA alone
constexpr std::string_view kTensorOps = "sm__ops_path_tensor_src_";
constexpr std::string_view kDuration[] = {"gpu__time_duration.sum", "gpu__time_duration.avg",
                                          "gpu__time_duration.max"};
constexpr std::string_view kCycles = "sm__cycles_elapsed.avg";
constexpr std::string_view kCycleRate = "sm__cycles_elapsed.avg.per_second";

// "sm__ops_path_tensor_src_bf16_dst_fp32.sum" -> "bf16.matrix"; empty for a part of another one
// (sparsity).
std::string TensorPipe(std::string_view metric) {
  if (!metric.starts_with(kTensorOps) || !metric.ends_with(".sum") ||
      metric.find("sparsity") != std::string_view::npos)
    return "";
  auto type = metric.substr(kTensorOps.size());
  if (type.starts_with("fp4_fp6_fp8")) type.remove_prefix(8);  // one counter for the three
  const auto pipe = std::string(type.substr(0, type.find_first_of("_."))) + ".matrix";
  return IsPipeKey(pipe) ? pipe : "";
}

// The counters of a streaming multiprocessor and of one of its parts sum up to the same.
std::optional<double> Find(const MetricValues& values, std::string_view metric) {
  auto found = values.find(metric);
  if (found == values.end() && metric.starts_with("sm__sass"))
    found = values.find("smsp__" + std::string(metric.substr(4)));
  return found == values.end() ? std::nullopt : std::optional(found->second);
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

void AddTensorFlops(const MetricValues& values, bool volta, LaunchWork& work) {
  bool counted = false;
  for (const auto& [metric, value] : values)
    if (const auto pipe = TensorPipe(metric); !pipe.empty()) {
      work.flops[pipe] += value;
      counted = true;
    }
  const auto instructions = Find(values, kTensorInstructions);
  if (counted || !instructions) return;
  if (volta || *instructions == 0)
    work.flops["fp16.matrix"] = kVoltaTensorFlops * *instructions;
  else
    work.tensor_unknown = true;
}

}  // namespace

bool IsKnownMetric(std::string_view name) {
  const std::string in_sm =
      name.starts_with("smsp__sass") ? "sm__" + std::string(name.substr(6)) : std::string(name);
  return Reads(ByteRecipes(), name) || Reads(FlopRecipes(), in_sm) || name == kTensorInstructions ||
         !TensorPipe(name).empty() || name == kCycles || name == kCycleRate ||
         std::find(std::begin(kDuration), std::end(kDuration), name) != std::end(kDuration);
}

std::optional<double> UnitFactor(std::string_view unit) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},
                                                                   {"nsecond", 1e-9},
                                                                   {"usecond", 1e-6},
                                                                   {"msecond", 1e-3},
                                                                   {"second", 1},
                                                                   {"ns", 1e-9},
                                                                   {"us", 1e-6},
                                                                   {"ms", 1e-3},
                                                                   {"s", 1},
                                                                   {"cycle/nsecond", 1e9},
                                                                   {"cycle/usecond", 1e6},
                                                                   {"cycle/msecond", 1e3},
                                                                   {"cycle/second", 1},
                                                                   {"hz", 1},
                                                                   {"Khz", 1e3},
                                                                   {"Mhz", 1e6},
                                                                   {"Ghz", 1e9},
                                                                   {"Hz", 1},
                                                                   {"KHz", 1e3},
                                                                   {"MHz", 1e6},
                                                                   {"GHz", 1e9}};
  for (const auto& [name, factor] : kUnits)
    if (name == unit) return factor;
  static constexpr std::pair<char, double> kPrefixes[] = {
      {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};
  double factor = 1;
  for (const auto& [prefix, value] : kPrefixes)
    if (unit.starts_with(prefix)) factor = value;
  if (factor != 1) unit.remove_prefix(1);
  for (const std::string_view base : {"byte", "inst", "sector", "cycle", "wavefront", "op"})
    if (unit == base) return factor;
  return std::nullopt;
}

std::optional<double> LaunchSeconds(const MetricValues& values) {
  for (const auto metric : kDuration)
    if (const auto seconds = Find(values, metric); seconds && *seconds > 0) return seconds;
  const auto cycles = Find(values, kCycles), rate = Find(values, kCycleRate);
  if (!cycles || !rate || *cycles <= 0 || *rate <= 0) return std::nullopt;
  return *cycles / *rate;
}

LaunchWork WorkOfLaunch(const MetricValues& values, bool volta) {
  LaunchWork work;
  for (const auto& [pipe, terms] : FlopRecipes())
    if (const auto flops = Sum(terms, values)) work.flops.try_emplace(std::string(pipe), *flops);
  AddTensorFlops(values, volta, work);
  for (const auto& [level, terms] : ByteRecipes())
    if (const auto bytes = Sum(terms, values)) work.bytes.try_emplace(level, *bytes);
  return work;
}

}  // namespace dlroof::imports
