#include "reporters/import/run.h"

#include <fmt/format.h>

#include <ostream>

namespace dlroof {
namespace {

// "Conv2D/gpu/cudnn/fwd/f16/n16...": what SplitName takes apart is meant so.
bool IsOurName(const Record& record) {
  return !record.problem.empty() && (record.device == "cpu" || record.device == "gpu");
}

void MergeWork(Provenance provenance, Record& record) {
  std::map<Provenance, Work> as_said;
  for (auto& [from, work] : record.work) {
    Work& all = as_said[provenance];
    all.flops.merge(work.flops);
    all.bytes.merge(work.bytes);
    if (!all.launches) all.launches = work.launches;
  }
  record.work = std::move(as_said);
}

}  // namespace

RunFile ImportedRun(std::vector<Record> records, const std::optional<Machine>& machine,
                    const ImportChoice& choice, std::ostream& warnings) {
  RunFile run;
  if (machine) run.machines.push_back(*machine);
  int moved = 0;
  for (Record& record : records) {
    if (!choice.set.empty()) record.name = fmt::format("{}/{}", choice.set, record.name);
    SplitName(record);
    if (!IsOurName(record)) PutOnDevice(record, machine ? machine->device : "");
    if (choice.provenance) MergeWork(*choice.provenance, record);
    if (!machine || record.device != machine->device) continue;
    if (ForThreads(*machine, record.threads) != nullptr) continue;
    moved += record.threads > 0 ? 1 : 0;
    record.threads = machine->by_threads.rbegin()->first;
  }
  if (moved > 0)
    warnings << fmt::format(
        "dlroof: {} of {} records ran with a number of threads that the machine file has no "
        "ceilings for; they stand on those of {}\n",
        moved, records.size(), machine->by_threads.rbegin()->first);
  run.records = std::move(records);
  return run;
}

}  // namespace dlroof
