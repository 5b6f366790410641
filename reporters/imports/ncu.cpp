#include "reporters/imports/ncu.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/record/kernels.h"
#include "reporters/text/csv.h"
#include "reporters/text/kernel_name.h"
#include "reporters/text/text.h"

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

// Bytes between a level and the next nearer level. A sector is 32 byte; an atomic operation on L2
// reads and writes.
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

// Counters of thread instructions. A multiply-add is 2 FLOPs; an fp16 instruction has two values
// (Nsight Compute's derived__..._hfma_pred_on_x4).
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
constexpr double kVoltaTensorFlops = 512;  // [flop] of one HMMA warp instruction of Volta
constexpr std::string_view kTensorOps = "sm__ops_path_tensor_src_";
constexpr std::string_view kDuration[] = {"gpu__time_duration.sum", "gpu__time_duration.avg",
                                          "gpu__time_duration.max"};
constexpr std::string_view kCycles = "sm__cycles_elapsed.avg";
constexpr std::string_view kCycleRate = "sm__cycles_elapsed.avg.per_second";

// Returns the pipe of a metric: "sm__ops_path_tensor_src_bf16_dst_fp32.sum" -> "bf16.matrix".
// Returns nullopt for metrics of sparsity, which another metric includes.
std::optional<std::string> TensorPipe(std::string_view metric) {
  if (!metric.starts_with(kTensorOps) || !metric.ends_with(".sum") ||
      metric.find("sparsity") != std::string_view::npos)
    return std::nullopt;
  auto type = metric.substr(kTensorOps.size());
  if (type.starts_with("fp4_fp6_fp8")) type.remove_prefix(8);  // one counter for three types
  auto pipe = std::string(type.substr(0, type.find_first_of("_."))) + ".matrix";
  if (!IsPipeKey(pipe)) return std::nullopt;
  return pipe;
}

// Accepts smsp__ (partitions of multiprocessors) in place of sm__, since their sums are equal.
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
    if (const auto pipe = TensorPipe(metric)) {
      work.flops[*pipe] += value;
      counted = true;
    }
  const auto instructions = Find(values, kTensorInstructions);
  if (counted || !instructions) return;
  if (volta || *instructions == 0)
    work.flops["fp16.matrix"] = kVoltaTensorFlops * *instructions;
  else
    work.tensor_unknown = true;
}

// Returns the position of the table's header, after the output of ncu and the profiled program.
std::size_t HeaderAt(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    if (line.starts_with("\"ID\",") && line.find("\"Kernel Name\"") != std::string_view::npos)
      return at;
    at = end + 1;
  }
  return std::string_view::npos;
}

// Returns the text with empty lines in place of the lines before the header and of later lines
// "==PROF== ...", so that line numbers in messages are right.
std::string TableOnly(const std::string& text) {
  const auto start = std::min(HeaderAt(text), text.size());
  std::string table(static_cast<std::size_t>(std::count(
                        text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n')),
                    '\n');
  for (std::size_t at = start; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const bool is_message = std::string_view(text).substr(at).starts_with("==");
    table += is_message ? "\n" : text.substr(at, end - at);
    at = end;
  }
  return table;
}

struct Launch {
  std::string kernel;
  std::optional<std::string> capability;  // "7.0", if the table has the column
  MetricValues values;
};

// Reads "53,261,312". Returns nullopt for an empty field and "n/a". Two points mean a locale that
// swaps comma and point; with one point such a locale cannot be detected.
std::optional<double> MetricNumber(const text::CsvField& field, const std::string& where) {
  if (field.text.empty() || field.text == "n/a" || field.text == "nan") return std::nullopt;
  text::CsvField plain = field;
  std::erase(plain.text, ',');
  if (std::ranges::count(plain.text, '.') > 1)
    throw BadInput(
        "{}: '{}' has two decimal points: run ncu with LC_ALL=C, so that it writes 1,234.5",
        text::PlaceOf(field, where), text::Printable(field.text.substr(0, 40)));
  return text::CsvNumber(plain, where);
}

// Columns that describe a launch. All other columns are metrics.
constexpr std::string_view kDescriptions[] = {
    "ID",     "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context",
    "Stream", "Block Size", "Grid Size",    "Device",    "CC",          "Section Name"};

bool IsDescription(std::string_view column) {
  return std::ranges::count(kDescriptions, column) > 0;
}

class NsightTable {
 public:
  NsightTable(const std::string& text, const std::string& where)
      : rows_(text::ReadCsv(TableOnly(text), where)), where_(where) {
    if (rows_.empty())
      throw BadInput(where_ + ":1: expected the header of a table of Nsight Compute, \"ID\",...");
    for (std::size_t i = 0; i < rows_[0].size(); ++i) columns_.emplace(rows_[0][i].text, i);
    Column("ID");
    Column("Kernel Name");
  }

  std::vector<Launch> Launches() {
    return columns_.count("Metric Name") > 0 ? MetricPerRow() : MetricPerColumn();
  }

  const std::vector<std::string>& Unknown() const { return unknown_; }
  int HeaderLine() const { return rows_[0][0].line; }

 private:
  std::size_t Column(const std::string& name) const {
    const auto found = columns_.find(name);
    if (found == columns_.end())
      throw BadInput("{}: expected a column \"{}\"", text::PlaceOf(rows_[0][0], where_), name);
    return found->second;
  }

  const text::CsvField& Field(const text::CsvRow& row, const std::string& column) const {
    return row[Column(column)];
  }

  // Stores the value of a known metric in base units, and collects the names of unknown metrics.
  void Put(const std::string& metric, const std::string& unit, const text::CsvField& field,
           Launch& launch) {
    if (!IsKnownMetric(metric)) {
      if (seen_unknown_.insert(metric).second) unknown_.push_back(metric);
      return;
    }
    const auto value = MetricNumber(field, where_);
    const auto factor = UnitFactor(unit);
    if (!factor)
      throw BadInput("{}: the unit '{}' of '{}' is not known", text::PlaceOf(field, where_),
                     text::Printable(unit), metric);
    if (!value) return;
    if (*value < 0)
      throw BadInput("{}: '{}': expected at least 0", text::PlaceOf(field, where_), metric);
    launch.values[metric] = *value * *factor;
  }

  Launch Begin(const text::CsvRow& row) const {
    Launch launch{.kernel = text::RepairedKernelName(Field(row, "Kernel Name").text)};
    if (launch.kernel.empty())
      throw BadInput("{}: expected a kernel's name",
                     text::PlaceOf(Field(row, "Kernel Name"), where_));
    if (columns_.count("CC") > 0) launch.capability = Field(row, "CC").text;
    return launch;
  }

  // Reads --page raw. The row of units below the header has no ID.
  std::vector<Launch> MetricPerColumn() {
    std::vector<Launch> launches;
    std::vector<std::string> units(rows_[0].size());
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      text::RequireFields(rows_[i], rows_[0], where_);
      if (Field(rows_[i], "ID").text.empty()) {
        for (std::size_t j = 0; j < units.size(); ++j) units[j] = rows_[i][j].text;
        continue;
      }
      launches.push_back(Begin(rows_[i]));
      for (std::size_t j = 0; j < units.size(); ++j)
        if (!IsDescription(rows_[0][j].text))
          Put(rows_[0][j].text, units[j], rows_[i][j], launches.back());
    }
    return launches;
  }

  // Reads --page details. Launches of different processes can have the same ID.
  std::vector<Launch> MetricPerRow() {
    const auto name = Column("Metric Name"), value = Column("Metric Value");
    std::vector<Launch> launches;
    std::map<std::string, std::size_t> found;
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      const text::CsvRow& row = rows_[i];
      text::RequireFields(row, rows_[0], where_);
      std::string key = Field(row, "ID").text + " " + Field(row, "Kernel Name").text;
      if (columns_.count("Process ID") > 0) key += " " + Field(row, "Process ID").text;
      const auto [known, added] = found.try_emplace(key, launches.size());
      if (added) launches.push_back(Begin(row));
      const std::string unit =
          columns_.count("Metric Unit") > 0 ? Field(row, "Metric Unit").text : "";
      if (!row[name].text.empty()) Put(row[name].text, unit, row[value], launches[known->second]);
    }
    return launches;
  }

  std::vector<text::CsvRow> rows_;
  const std::string& where_;
  std::map<std::string, std::size_t> columns_;
  std::vector<std::string> unknown_;
  std::set<std::string> seen_unknown_;
};

// Sums over all launches of one kernel name. A sum is unknown if one launch lacks its quantity.
struct Kernel {
  std::string name;
  double seconds = 0, launches = 0;
  bool timed = true, tensor_unknown = false;
  LaunchWork work;
};

template <class Key>
void AddCommon(const std::map<Key, double>& more, bool first, std::map<Key, double>& sums) {
  if (first) sums = more;
  for (auto sum = sums.begin(); !first && sum != sums.end();) {
    const auto value = more.find(sum->first);
    if (value != more.end()) sum->second += value->second;
    sum = value == more.end() ? sums.erase(sum) : std::next(sum);
  }
}

void AddLaunch(const Launch& launch, Kernel& kernel) {
  const bool first = kernel.launches == 0;
  const bool volta = !launch.capability || launch.capability == "7.0";
  const auto work = WorkOfLaunch(launch.values, volta);
  AddCommon(work.flops, first, kernel.work.flops);
  AddCommon(work.bytes, first, kernel.work.bytes);
  kernel.tensor_unknown = kernel.tensor_unknown || work.tensor_unknown;
  const auto seconds = LaunchSeconds(launch.values);
  kernel.timed = kernel.timed && seconds && IsRunTime(*seconds);
  kernel.seconds += seconds.value_or(0);
  kernel.launches += 1;
}

record::Record RecordOf(const Kernel& kernel, Imported& imported) {
  record::Record record{.name = kernel.name, .timed = record::timed::kKernels};
  Work& work = record.work[Provenance::kMeasured];
  work.launches = kernel.launches;
  work.bytes = kernel.work.bytes;
  if (kernel.tensor_unknown)
    imported.remarks.push_back(
        fmt::format("{}: FLOPs left out: tensor instructions were counted, but their FLOPs differ "
                    "by instruction "
                    "(collect sm__ops_path_tensor_src_*.sum)",
                    text::Printable(kernel.name)));
  else
    work.flops = kernel.work.flops;
  if (kernel.timed)
    record.repetitions.push_back({.seconds = kernel.seconds, .iterations = 1});
  else
    record.reason = "no time: a launch lacks both gpu__time_duration and sm__cycles_elapsed";
  return record;
}

}  // namespace

bool IsKnownMetric(std::string_view name) {
  const std::string in_sm =
      name.starts_with("smsp__sass") ? "sm__" + std::string(name.substr(6)) : std::string(name);
  return Reads(ByteRecipes(), name) || Reads(FlopRecipes(), in_sm) || name == kTensorInstructions ||
         TensorPipe(name) || name == kCycles || name == kCycleRate ||
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

bool LooksLikeNsightCompute(std::string_view text) {
  return HeaderAt(text) != std::string_view::npos;
}

Imported ImportNsightCompute(const std::string& text, const std::string& where) {
  NsightTable table(text, where);
  std::vector<Kernel> kernels;
  std::map<std::string, std::size_t> found;
  bool assumed_volta = false;
  for (const Launch& launch : table.Launches()) {
    const auto [known, added] = found.try_emplace(launch.kernel, kernels.size());
    if (added) kernels.emplace_back().name = launch.kernel;
    AddLaunch(launch, kernels[known->second]);
    const auto tensor = launch.values.find("sm__inst_executed_pipe_tensor.sum");
    assumed_volta = assumed_volta ||
                    (!launch.capability && tensor != launch.values.end() && tensor->second > 0);
  }
  Imported imported;
  if (kernels.empty())
    throw BadInput("{}:{}: no launch below the header", where, table.HeaderLine());
  for (const Kernel& kernel : kernels) imported.records.push_back(RecordOf(kernel, imported));
  if (auto left_out = record::LeaveOutClockKernels(imported.records))
    imported.remarks.push_back(fmt::format("{}: {}", where, *left_out));
  if (assumed_volta)
    imported.remarks.push_back(
        where + ": no column \"CC\", so a tensor instruction counts as Volta's 512 FLOPs");
  AddUnknownColumns(table.Unknown(), where, imported);
  return imported;
}

}  // namespace dlroof::imports
