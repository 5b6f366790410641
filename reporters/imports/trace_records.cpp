// Converts the operators or kernels of a trace to records (import.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reporters/imports/import.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

// Returns the name and the input sizes, e.g. "aten::addmm 64 32x64 64x64".
std::string NameOf(const TraceOp& op) {
  std::string name = text::Printable(op.name);
  for (const auto& sizes : op.sizes)
    if (!sizes.empty()) name += fmt::format(" {}", fmt::join(sizes, "x"));
  return name;
}

// Returns the work of all calls of a product, a convolution or attention in f32 or f64. Returns
// nullopt for other operators and types: the trace does not name the pipe of narrower types.
std::optional<Work> WorkOf(const TraceOp& op) {
  const auto count = CountOfOp(op);
  if (!count || !(count->matrix > 0) || (count->type != "f32" && count->type != "f64"))
    return std::nullopt;
  Work work;
  work.flops[count->type == "f64" ? "fp64.vector" : "fp32.vector"] = *count->matrix * op.calls;
  work.bytes[Level::kDram] = count->bytes * op.calls;
  return work;
}

record::Record RecordOf(const TraceOp& op) {
  record::Record record{.name = NameOf(op), .device = op.gpu.empty() && op.on_gpu ? "gpu" : op.gpu};
  if (op.on_gpu) record.timed = record::timed::kKernels;
  record.repetitions.push_back({.seconds = op.seconds, .iterations = 1});
  Work work = WorkOf(op).value_or(Work{});
  work.launches = op.calls;
  record.work[Provenance::kModelled] = std::move(work);
  return record;
}

// Appends a number to repeated names, of operators that differ only in types or scalars.
void MakeUnique(std::vector<record::Record>& records) {
  std::map<std::string, int> seen;
  for (auto& record : records)
    if (const int number = ++seen[record.name]; number > 1)
      record.name += fmt::format(" ({})", number);
}

double SecondsOfAll(const std::vector<const TraceOp*>& ops) {
  double seconds = 0;
  for (const auto* op : ops) seconds += op->seconds;
  return seconds;
}

void AddRemarks(const Trace& trace, const std::vector<const TraceOp*>& taken,
                const std::vector<const TraceOp*>& others, const std::string& where,
                std::vector<std::string>& remarks) {
  double unknown = 0;
  for (const auto* op : taken)
    if (!WorkOf(*op)) unknown += op->seconds;
  const double all = SecondsOfAll(taken);
  const bool kernels = !taken.empty() && taken.front()->on_gpu;
  remarks.push_back(
      fmt::format("{}: {:.0f} events in {:.4g} s, on {:.0f} threads or streams; the time of {}",
                  where, trace.events, trace.end - trace.begin, trace.threads,
                  kernels ? "a kernel is its own duration"
                          : "a call excludes the calls within it (self time)"));
  if (!others.empty())
    remarks.push_back(
        fmt::format("{}: {} operators of the host, {:.4g} s, are left out, since the trace has "
                    "kernels of a GPU",
                    where, others.size(), SecondsOfAll(others)));
  if (unknown > 0)
    remarks.push_back(fmt::format("{}: FLOPs and bytes are not known for {:.0f} % of the time",
                                  where, 100 * unknown / all));
  for (const auto& [reason, count] : trace.left_out)
    remarks.push_back(fmt::format("{}: {:.0f} events {} are left out", where, count, reason));
  for (const auto& [what, count] : trace.assumed)
    remarks.push_back(fmt::format("{}: {:.0f} events {}", where, count, what));
  if (trace.cut) remarks.push_back(where + ": the file is cut off: later events are missing");
}

}  // namespace

Imported ImportTrace(const std::string& text, const std::string& where) {
  const Trace trace = ReadTrace(text, where);
  std::vector<const TraceOp*> kernels, operators;
  for (const auto& op : trace.ops)
    if (IsRunTime(op.seconds)) (op.on_gpu ? kernels : operators).push_back(&op);
  const bool gpu = !kernels.empty();
  auto& taken = gpu ? kernels : operators;
  if (taken.empty()) throw BadInput(where + ": 'traceEvents': no event has a self time above 0");
  std::ranges::stable_sort(taken, std::greater<>(), &TraceOp::seconds);
  Imported imported;
  const bool several = std::ranges::any_of(taken, [&](const TraceOp* op) {
    return !op->gpu.empty() && op->process != taken.front()->process;
  });
  for (const auto* op : taken) {
    imported.records.push_back(RecordOf(*op));
    if (several) imported.records.back().name += "/Device=" + text::Printable(op->process);
  }
  MakeUnique(imported.records);
  AddRemarks(trace, taken, gpu ? operators : std::vector<const TraceOp*>(), where,
             imported.remarks);
  return imported;
}

}  // namespace dlroof::imports
