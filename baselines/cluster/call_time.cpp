#include "baselines/cluster/call_time.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "counters/base/keys.h"

namespace dlroof::cluster {
namespace {

using Field = std::optional<double> record::GpuSample::*;

// Replaces the seconds by a sample's field. Returns false, and changes nothing, if a repetition
// lacks it.
bool Replace(Field field, const char* timed, bool is_node, record::Record& record) {
  const auto has = [&](const record::Repetition& one) { return one.gpu && (*one.gpu).*field; };
  if (record.repetitions.empty() || !std::ranges::all_of(record.repetitions, has)) return false;
  record.timed = timed;
  for (auto& repetition : record.repetitions) repetition.seconds = *((*repetition.gpu).*field);
  if (is_node) return true;
  if (timed != record::timed::kCall) {  // the host is not in the device's time
    for (auto& repetition : record.repetitions)
      repetition.noisy = record::IsThrottled(*repetition.gpu);
    return true;
  }
  for (auto& repetition : record.repetitions) {
    auto sample = *repetition.gpu;
    sample.call_seconds.reset();  // MarkNoisy judges repetitions without it as calls
    repetition.gpu = std::make_shared<const record::GpuSample>(sample);
  }
  record::MarkNoisy(record.repetitions);
  return true;
}

}  // namespace

void UseTimes(CallTime wanted, record::RunFile& run) {
  const bool nodes = record::Member(record::Member(run.context, "dlroof"), "cluster").is_number();
  for (auto& record : run.records) {
    if (IsTimed(wanted, record)) continue;
    if (wanted == CallTime::kLatency)
      Replace(&record::GpuSample::call_seconds, record::timed::kCall, nodes, record);
    else
      Replace(&record::GpuSample::throughput_seconds, record::timed::kThroughput, nodes, record);
  }
}

bool IsTimed(CallTime wanted, const record::Record& record) {
  if (record.device != "gpu") return true;
  if (wanted == CallTime::kLatency) return record.timed == record::timed::kCall;
  return record.timed == record::timed::kDevice || record.timed == record::timed::kThroughput;
}

std::string TimedText(const record::Record& record) {
  if (record.device != "gpu") return "";
  if (record.timed == record::timed::kDevice) return "queued calls";
  if (record.timed == record::timed::kThroughput) return "calls back to back";
  if (record.timed == record::timed::kKernels) return "sum of kernels";
  if (record.timed == record::timed::kCall) return "a call with its launch";
  return "kind of time unknown";
}

}  // namespace dlroof::cluster
