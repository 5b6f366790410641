#include "reporters/live/session.h"

#include <algorithm>
#include <utility>

#include "reporters/record/record_json.h"

namespace dlroof::live {

void Session::Begin() {
  if (begun_) return;
  begun_ = true;
  if (passes_.idle)
    if (auto idle = record::ToJson(passes_.idle()); !idle.empty())
      dlroof_context_["energy"] = std::move(idle);
  file_.machines = machines_();
  file_.context["dlroof"] = dlroof_context_;
}

const record::Record& Session::Add(record::Record record) {
  const auto [found, added] = index_of_.try_emplace(record.name, file_.records.size());
  if (added)
    file_.records.push_back(std::move(record));
  else
    file_.records[found->second] = std::move(record);
  return file_.records[found->second];
}

void Session::Finish() {
  const auto passes = std::exchange(passes_, {});
  if (passes.parallel) AddParallel(passes.parallel());
  if (passes.energy) AddEnergy(passes.energy());
  if (passes.count) AddCounts(passes.count());
}

void Session::AddParallel(std::map<std::string, ParallelTime> found) {
  for (auto& record : file_.records)
    if (const auto parallel = found.find(record.name);
        parallel != found.end() && record.status == record::Status::kOk)
      record.parallel = std::move(parallel->second);
}

void Session::AddEnergy(const std::map<std::string, energy::EnergyResult>& energies) {
  for (auto& record : file_.records) {
    const auto found = energies.find(record.name);
    if (found == energies.end() || record.status != record::Status::kOk) continue;
    const auto& [energy, reason] = found->second;
    record.energy = energy;
    if (reason) record.counting.push_back({"energy", {}, "not measured: " + reason->text});
  }
}

void Session::AddCounts(const std::map<std::string, Counting>& counted) {
  for (auto& record : file_.records) {
    const auto found = counted.find(record.name);
    if (found == counted.end() || record.status != record::Status::kOk) continue;
    const auto& [work, notes, kernels] = found->second;
    for (const auto& [from, each] : work) {
      const auto launches = record.work[from].launches;  // of the call's graph
      record.work[from] = each;
      if (!each.launches) record.work[from].launches = launches;
    }
    for (const auto& note : notes)
      if (std::find(record.counting.begin(), record.counting.end(), note) == record.counting.end())
        record.counting.push_back(note);
    if (!kernels.empty()) record.kernels = kernels;
    if (!work.empty()) counted_late_.push_back(record.name);
  }
}

bool Session::AnyFailed() const {
  return std::any_of(file_.records.begin(), file_.records.end(), [](const record::Record& record) {
    return record.status == record::Status::kFailed || record.status == record::Status::kWrong;
  });
}

}  // namespace dlroof::live
