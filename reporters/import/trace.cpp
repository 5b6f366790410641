// Traces of PyTorch's and TensorFlow's profilers (import.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "counters/base/error.h"
#include "reporters/import/import.h"
#include "reporters/import/trace_events.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

// "aten::addmm 64 32x64 64x64".
std::string NameOf(const TraceOp& op) {
  std::string name = text::Printable(op.name);
  for (const auto& sizes : op.sizes)
    if (!sizes.empty()) name += fmt::format(" {}", fmt::join(sizes, "x"));
  return name;
}

void Multiply(Work& work, double calls) {
  for (auto& [pipe, flops] : work.flops) flops *= calls;
  for (auto& [level, bytes] : work.bytes) bytes *= calls;
  work.launches = calls;
}

record::Record RecordOf(const TraceOp& op) {
  record::Record record{.name = NameOf(op)};
  record.repetitions.push_back({.seconds = op.seconds, .iterations = 1});
  Work work = WorkOfOp(op).value_or(Work{});
  Multiply(work, op.calls);
  record.work[Provenance::kModelled] = std::move(work);
  return record;
}

// Later ops of a name that is taken, which differ in types or scalars, get a number.
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
    if (!WorkOfOp(*op)) unknown += op->seconds;
  const double all = SecondsOfAll(taken);
  remarks.push_back(fmt::format(
      "{}: {:.0f} events in {:.4g} s, on {:.0f} threads or streams; a call's time is its own, "
      "without the calls within it",
      where, trace.events, trace.end - trace.begin, trace.threads));
  if (!others.empty())
    remarks.push_back(
        fmt::format("{}: {} operators of the host, {:.4g} s, are left out: the trace has a GPU's "
                    "kernels",
                    where, others.size(), SecondsOfAll(others)));
  if (unknown > 0)
    remarks.push_back(fmt::format("{}: FLOPs and bytes are not known for {:.0f} % of the time",
                                  where, 100 * unknown / all));
  for (const auto& [reason, count] : trace.left_out)
    remarks.push_back(fmt::format("{}: {:.0f} events {} are left out", where, count, reason));
}

}  // namespace

bool LooksLikeTrace(std::string_view text) {
  return text.find("\"traceEvents\"") != std::string_view::npos;
}

Imported ImportTrace(const std::string& text, const std::string& where) {
  const Trace trace = ReadTrace(text, where);
  std::vector<const TraceOp*> kernels, operators;
  for (const auto& op : trace.ops)
    if (IsRunTime(op.seconds)) (op.on_gpu ? kernels : operators).push_back(&op);
  const bool gpu = !kernels.empty();
  auto& taken = gpu ? kernels : operators;
  if (taken.empty()) throw BadInput(where + ": 'traceEvents': no event took any time of its own");
  std::ranges::stable_sort(taken, std::greater<>(), &TraceOp::seconds);
  Imported imported;
  for (const auto* op : taken) imported.records.push_back(RecordOf(*op));
  MakeUnique(imported.records);
  AddRemarks(trace, taken, gpu ? operators : std::vector<const TraceOp*>(), where,
             imported.remarks);
  return imported;
}

}  // namespace dlroof::imports
