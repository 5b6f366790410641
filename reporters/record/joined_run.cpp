#include "reporters/record/joined_run.h"

#include <algorithm>
#include <set>

#include "counters/base/error.h"
#include "reporters/text/text.h"

namespace dlroof {
namespace {

void AddMachine(Machine machine, const std::string& path, RunFile& whole) {
  const auto known = std::ranges::find(whole.machines, machine.device, &Machine::device);
  if (known == whole.machines.end()) {
    whole.machines.push_back(std::move(machine));
    return;
  }
  if (known->fingerprint != machine.fingerprint)
    throw BadInput("{}: its ceilings are those of another machine ({}, the files before have {})",
                   Printable(path), Printable(machine.name), Printable(known->name));
  known->by_threads.merge(machine.by_threads);
}

}  // namespace

RunFile JoinedRun(std::vector<std::pair<std::string, RunFile>>&& files) {
  RunFile whole;
  std::set<std::pair<std::string, int>> seen;
  bool first = true;
  for (auto& [path, file] : files) {
    if (first) whole.context = std::move(file.context);
    first = false;
    for (auto& machine : file.machines) AddMachine(std::move(machine), path, whole);
    for (auto& record : file.records)
      if (seen.emplace(record.name, record.threads).second)
        whole.records.push_back(std::move(record));
  }
  return whole;
}

}  // namespace dlroof
