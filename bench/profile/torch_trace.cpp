#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "bench/profile/profile.h"
#include "bench/workload/library_rules.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/base/program.h"

namespace dlroof::profile {
namespace {

constexpr const char* kTraces = "DLROOF_TORCH_TRACES";
constexpr const char* kRanges = "DLROOF_TORCH_RANGES";
constexpr const char* kKinetoLog = "KINETO_LOG_LEVEL";  // Kineto logs to standard error
constexpr double kShort = 0.5;  // [1] skips windows below this share of the maximum weight

// A trace file of the hook, "<process>-<number>.json": a time window of a process.
struct Window {
  int number = 0;
  std::string path;
  std::uintmax_t bytes = 0;
  std::uintmax_t modules = 0;  // [1] number of module calls, set by WeightsOf
};

// Returns the folder's files with this extension, or none if the folder cannot be read.
std::vector<std::filesystem::path> FilesIn(const std::string& folder, const char* extension) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == extension) files.push_back(entry->path());
  return files;
}

std::map<std::string, std::vector<Window>> WindowsIn(const std::string& folder) {
  std::map<std::string, std::vector<Window>> processes;
  for (const auto& path : FilesIn(folder, ".json")) {
    const auto stem = path.stem().string();
    const auto dash = stem.find('-');
    if (dash == std::string::npos) continue;
    std::error_code none;
    processes[stem.substr(0, dash)].push_back({std::atoi(stem.c_str() + dash + 1), path.string(),
                                               std::filesystem::file_size(path, none)});
  }
  for (auto& [process, windows] : processes) std::ranges::sort(windows, {}, &Window::number);
  return processes;
}

std::uintmax_t LargestOf(const std::vector<Window>& windows) {
  return std::ranges::max_element(windows, {}, &Window::bytes)->bytes;
}

// Returns a weight per window that grows with the number of the program's steps: its module calls,
// or its bytes if no window has any. Operator calls would not do: compiling a module calls many.
std::vector<std::uintmax_t> WeightsOf(std::vector<Window>& windows) {
  const std::string mark = fmt::format("\"{}", programs::kModuleSpan);
  for (auto& window : windows) {
    const auto text = ReadFileIfAny(window.path);
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1))
      ++window.modules;
  }
  const bool any =
      std::ranges::any_of(windows, [](const auto& window) { return window.modules > 0; });
  return VectorOf<std::uintmax_t>(
      windows, [&](const auto& window) { return any ? window.modules : window.bytes; });
}

// Returns the pipe of matrix products in the type, or nullopt if it (or `isa`) is unknown.
std::optional<std::string> PipeOf(const std::string& type, const std::string& isa) {
  if (type == "f32" || type == "f64") return workload::NamedMatrixPipe(type, "PyTorch");
  if ((type != "bf16" && type != "f16") || isa.empty()) return std::nullopt;
  return workload::MatrixPipe(type, "PyTorch", isa);
}

// Lets calls that are still running at the end of the window end with it: Kineto writes an invalid
// end time for them, or one centuries away.
void EndWithWindow(imports::Trace& trace) {
  constexpr double kMax = 1e6;  // [s] longer than any window
  const auto begins = VectorOf<double>(trace.calls, [](const auto& call) { return call.begin; });
  if (begins.empty()) return;
  const double middle = Median(begins);
  const auto near = [&](double at) { return std::abs(at - middle) < kMax; };
  double first = middle, last = middle;
  for (const auto& call : trace.calls) {
    if (near(call.begin)) first = std::min(first, call.begin);
    if (near(call.end)) last = std::max(last, call.end);
  }
  for (auto& call : trace.calls) {
    if (!near(call.begin)) call.begin = first;
    if (!near(call.end)) call.end = last;
  }
  if (!near(trace.begin)) trace.begin = first;
  if (!near(trace.end)) trace.end = last;
}

}  // namespace

Variables PrepareTorchHook(HookTask task, const std::string& folder) {
  const auto data = DataFolder();
  const auto hook = data.value_or("") / "torch_hook";
  std::error_code none;
  if (!data || !std::filesystem::exists(hook / "sitecustomize.py", none))
    throw BadInput(
        "profile --torch: the hook share/dlroof/torch_hook/sitecustomize.py is not installed "
        "beside this program");
  std::filesystem::create_directory(folder);
  const char* const before = std::getenv("PYTHONPATH");
  const bool alone = before == nullptr || *before == '\0';
  Variables variables = {{"PYTHONPATH", hook.string() + (alone ? "" : std::string(":") + before)},
                         {task == HookTask::kProfile ? kTraces : kRanges, folder}};
  if (task == HookTask::kProfile && std::getenv(kKinetoLog) == nullptr)
    variables[kKinetoLog] = "99";  // log nothing
  return variables;
}

std::vector<std::string> TorchNotes(const std::string& folder) {
  std::vector<std::string> notes;
  for (const auto& path : FilesIn(folder, ".txt")) {
    std::istringstream lines(ReadFileIfAny(path));
    for (std::string line; std::getline(lines, line);)
      notes.push_back(fmt::format("--torch: process {}: {}", path.stem().string(), line));
  }
  return notes;
}

std::vector<record::Repetition> RepetitionsOf(const std::vector<double>& seconds) {
  constexpr std::size_t kMax = 256;
  const std::size_t together = (seconds.size() + kMax - 1) / kMax;
  std::vector<record::Repetition> repetitions;
  for (std::size_t begin = 0; begin < seconds.size(); begin += together) {
    const auto end = std::min(begin + together, seconds.size());
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += seconds[i];
    const auto calls = static_cast<double>(end - begin);
    // The sum is 0 if the calls are shorter than the clock's resolution.
    if (sum > 0) repetitions.push_back({.seconds = sum / calls, .iterations = calls});
  }
  return repetitions;
}

TorchTrace ReadTorchTrace(const std::string& folder) {
  TorchTrace result{.remarks = TorchNotes(folder)};
  auto processes = WindowsIn(folder);
  std::vector<Window>* windows = nullptr;
  for (auto& [process, all] : processes)
    if (windows == nullptr || LargestOf(all) > LargestOf(*windows)) windows = &all;
  if (windows == nullptr) {
    result.remarks.push_back(
        "--torch: no trace: the program did not import torch, was killed, or its Python ignores "
        "PYTHONPATH (-I, -E, -S)");
    return result;
  }
  if (processes.size() > 1)
    result.remarks.push_back(fmt::format(
        "--torch: {} processes have traces; the largest one is used", processes.size()));
  const auto weights = WeightsOf(*windows);
  const auto enough = kShort * static_cast<double>(std::ranges::max(weights));
  for (std::size_t i = windows->size(); i-- > 0 && !result.trace;) {
    if (static_cast<double>(weights[i]) < enough) continue;
    const auto& path = (*windows)[i].path;
    try {
      result.trace = imports::ReadTrace(ReadFile(path, "a trace"), path, true);
      EndWithWindow(*result.trace);
    } catch (const BadInput& error) {
      result.remarks.push_back(fmt::format("--torch: {}", error.what()));
    }
  }
  return result;
}

void AddWork(const logs::PrimitiveWork& found, const std::optional<std::string>& pipe, bool wide,
             std::string_view unknown, record::Record& record) {
  Work& work = record.work[Provenance::kModelled];
  work.launches = 1;
  if (found.bytes) work.bytes[Level::kDram] = *found.bytes;
  if (found.reason) record.counting.push_back({.text = found.reason->text});
  if (!found.matrix) return;
  if (*found.matrix > 0 && !pipe) {
    record.counting.push_back({.text = fmt::format("FLOPs are not known: {}", unknown)});
    return;
  }
  if (*found.matrix > 0) work.flops[*pipe] += *found.matrix;
  if (*found.elementwise > 0 || *found.matrix == 0)
    work.flops[wide ? "fp64.vector" : "fp32.vector"] += *found.elementwise;
  if (*found.matrix > 0 && *found.elementwise > 0)
    work.parts = {{"matrix", *found.matrix}, {"elementwise", *found.elementwise}};
}

std::vector<record::Record> OperatorRecords(const imports::Trace& trace,
                                            const std::vector<programs::OperatorTime>& operators,
                                            const std::string& isa, std::optional<int> threads) {
  std::vector<record::Record> records;
  for (const auto& time : operators) {
    record::Record record{.algorithm = "PyTorch", .isa = isa, .threads = threads};
    record.repetitions = RepetitionsOf(time.each);
    if (record.repetitions.empty()) record.reason = "no call began in the traced steps";
    const auto count = imports::CountOfOp(trace.ops.at(time.op));
    if (time.by_onednn) {
      record.counting.push_back({.text = "its FLOPs are those of oneDNN's primitives in it"});
    } else if (!count) {
      AddWork({.reason = Reason{"FLOPs are not counted for this operator of PyTorch"}}, {}, false,
              "", record);
    } else {
      AddWork({.matrix = count->matrix,
               .elementwise = count->elementwise,
               .bytes = count->bytes > 0 ? std::optional(count->bytes) : std::nullopt},
              PipeOf(count->type, isa), count->type == "f64",
              "the unit that multiplies this type is not known", record);
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace dlroof::profile
