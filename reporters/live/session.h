// Measurements of one process so far, shared by the reporters of a run.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/counter_manager.h"
#include "counters/energy/energy.h"
#include "counters/parallel_time.h"
#include "reporters/record/run_file.h"

namespace dlroof::live {

// Passes beside the timed one. Each may be empty.
struct Passes {
  // Before the first benchmark: of the machine that waits.
  std::function<energy::IdlePowers()> idle;
  // After the last benchmark was timed, in this order: results by the names of records.
  std::function<std::map<std::string, ParallelTime>()> alone;
  std::function<std::map<std::string, energy::EnergyResult>()> energy;
  std::function<std::map<std::string, Counting>()> count;
};

class Session {
 public:
  // `machine` is called once, when the first benchmark is about to run: listing benchmarks must not
  // measure anything.
  explicit Session(nlohmann::json dlroof_context,
                   std::function<std::vector<machine::Machine>()> machines)
      : dlroof_context_(std::move(dlroof_context)), measure_(std::move(machines)) {}

  // Makes `file().machines` and `file().context` ready; further calls do nothing.
  void Begin();
  // Adds a record or replaces the one of the same name (several reporters see the same runs). The
  // reference holds until the next Add.
  const record::Record& Add(record::Record record);

  // Precedes Begin. Each pass is called once, by Begin or the first Finish.
  void Add(Passes passes) { passes_ = std::move(passes); }
  // After the last benchmark: every record's work is then as it will be written. Further calls do
  // nothing.
  void Finish();
  // Names of the records whose work Finish brought, in the order of the file.
  const std::vector<std::string>& counted_late() const { return counted_late_; }

  bool Has(const std::string& name) const { return index_of_.count(name) > 0; }

  const record::RunFile& file() const { return file_; }
  const nlohmann::json& dlroof_context() const { return dlroof_context_; }
  bool AnyFailed() const;

 private:
  void TakeParallel(std::map<std::string, ParallelTime> found);
  void TakeEnergy(const std::map<std::string, energy::EnergyResult>& found);
  void TakeCounts(const std::map<std::string, Counting>& counted);

  nlohmann::json dlroof_context_;
  std::function<std::vector<machine::Machine>()> measure_;
  Passes passes_;
  std::vector<std::string> counted_late_;
  bool begun_ = false;
  record::RunFile file_;
  std::map<std::string, size_t> index_of_;
};

}  // namespace dlroof::live
