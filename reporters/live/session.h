// The records that one process has measured so far. All reporters of a run share them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/counter_manager.h"
#include "counters/base/parallel_time.h"
#include "counters/energy/energy.h"
#include "reporters/record/run_file.h"

namespace dlroof::live {

// Measurement passes other than the timed one. A pass that was not requested is an empty function.
struct Passes {
  // Runs before the first benchmark: the power of the idle machine.
  std::function<energy::IdlePowers()> idle;
  // Run after all benchmarks are timed, in this order. They return results by record name.
  std::function<std::map<std::string, ParallelTime>()> parallel;
  std::function<std::map<std::string, energy::EnergyResult>()> energy;
  std::function<std::map<std::string, Counting>()> count;
};

// What a runner knows of a benchmark that it times, from which the reporters make its record.
struct Measured {
  // All but `status` and `reason`. Of its repetitions Google Benchmark may report only the last.
  record::Record record;
  bool own_seconds = false;  // its times are not Google Benchmark's
  bool keep_noisy = false;   // noisy repetitions count as clean ones
};

class Session {
 public:
  // Calls `machines`, which may measure ceilings, once before the first benchmark runs, so that
  // listing benchmarks measures nothing.
  explicit Session(nlohmann::json dlroof_context,
                   std::function<std::vector<machine::Machine>()> machines)
      : dlroof_context_(std::move(dlroof_context)), machines_(std::move(machines)) {}

  // Sets `file().machines` and `file().context`. Further calls do nothing.
  void Begin();
  // Adds a record, or replaces the record of the same name, since several reporters see the same
  // runs. The returned reference is valid until the next Add.
  const record::Record& Add(record::Record record);

  // Returns what is known of the benchmark whose record has this name, for its runner to complete.
  // References stay valid.
  Measured& MeasuredOf(const std::string& name) { return measured_[name]; }
  // Returns null for a benchmark that no runner times.
  const Measured* FindMeasured(const std::string& name) const {
    const auto found = measured_.find(name);
    return found == measured_.end() ? nullptr : &found->second;
  }

  // Sets the passes. Call before Begin. Begin and the first Finish run each pass once.
  void Add(Passes passes) { passes_ = std::move(passes); }
  // Runs the passes that follow the last benchmark and completes the records with their results.
  // Further calls do nothing.
  void Finish();
  // Returns the names of the records whose FLOPs and bytes Finish added, in the order of the file.
  const std::vector<std::string>& counted_late() const { return counted_late_; }

  bool Has(const std::string& name) const { return index_of_.count(name) > 0; }

  const record::RunFile& file() const { return file_; }
  const nlohmann::json& dlroof_context() const { return dlroof_context_; }
  bool AnyFailed() const;

 private:
  void AddParallel(std::map<std::string, ParallelTime> found);
  void AddEnergy(const std::map<std::string, energy::EnergyResult>& found);
  void AddCounts(const std::map<std::string, Counting>& counted);

  nlohmann::json dlroof_context_;
  std::function<std::vector<machine::Machine>()> machines_;
  Passes passes_;
  std::vector<std::string> counted_late_;
  bool begun_ = false;
  record::RunFile file_;
  std::map<std::string, size_t> index_of_;
  std::map<std::string, Measured> measured_;  // by name
};

}  // namespace dlroof::live
