// The records measured by this process so far; shared by all reporters of a run.
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

// Measurements in addition to the timed one. Empty functions were not requested.
struct Passes {
  // Runs before the first benchmark: measures the power of the idle machine.
  std::function<energy::IdlePowers()> idle;
  // Run in this order after all benchmarks are timed. Return results by record name.
  std::function<std::map<std::string, ParallelTime>()> parallel;
  std::function<std::map<std::string, energy::EnergyResult>()> energy;
  std::function<std::map<std::string, Counting>()> count;
};

// What a runner knows about a benchmark that it times; reporters make the record from it.
struct Measured {
  // Lacks `status` and `reason`. Of its repetitions Google Benchmark may report only the last.
  record::Record record;
  bool own_seconds = false;  // `record` has the times to use, not Google Benchmark
  bool keep_noisy = false;   // treat noisy repetitions as clean
};

class Session {
 public:
  // `machines` is called once, before the first benchmark runs, and may measure ceilings. Listing
  // benchmarks does not call it.
  explicit Session(nlohmann::json dlroof_context,
                   std::function<std::vector<machine::Machine>()> machines)
      : dlroof_context_(std::move(dlroof_context)), machines_(std::move(machines)) {}

  // Sets machines and context of file() and measures idle power. Further calls do nothing.
  void Begin();
  // Adds a record or replaces the one with the same name (several reporters add the same runs). The
  // returned reference is valid until the next Add.
  const record::Record& Add(record::Record record);

  // Returns the entry for the record name (created if missing), for the runner to fill in.
  // References stay valid.
  Measured& MeasuredOf(const std::string& name) { return measured_[name]; }
  // Returns null for a benchmark that no runner times.
  const Measured* FindMeasured(const std::string& name) const {
    const auto found = measured_.find(name);
    return found == measured_.end() ? nullptr : &found->second;
  }

  // Sets the passes; call before Begin. Begin runs `idle`, and the first Finish the others.
  void Add(Passes passes) { passes_ = std::move(passes); }
  // Runs the passes that follow the last benchmark and adds their results to the records. Further
  // calls do nothing.
  void Finish();
  // Returns the names of the records to which Finish added FLOPs and bytes, in the file's order.
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
  std::map<std::string, Measured> measured_;  // by record name
};

}  // namespace dlroof::live
