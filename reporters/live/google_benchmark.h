// Reporters for Google Benchmark: convert its Runs to records and write the live table (with
// roofline columns) and the run file. Compatible with Google Benchmark 1.7.1 to 1.9.x.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "counters/base/counter_manager.h"
#include "counters/base/parallel_time.h"
#include "counters/energy/energy_meter.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/roofline.h"

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

// The records measured by this process so far; shared by all reporters of a run.
class Session {
 public:
  // `machines` is called once, before the first benchmark; it may measure ceilings.
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
  // Returns the entry for the record name, or null for a benchmark that no runner times.
  const Measured* FindMeasured(const std::string& name) const {
    const auto found = measured_.find(name);
    return found == measured_.end() ? nullptr : &found->second;
  }

  // Sets the passes; call before Begin. Begin runs `idle`, and the first Finish the others.
  void Add(Passes passes) { passes_ = std::move(passes); }
  // Runs the passes after the last benchmark and adds their results. Further calls do nothing.
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

// Sets the names of all benchmarks, as Google Benchmark lists them. Record names omit settings such
// as "/iterations:10", unless benchmarks differ only in them. If never called, all are omitted.
void SetListedNames(const std::vector<std::string>& listed);
// Returns the name of the record for a benchmark that Google Benchmark lists as `listed`.
std::string RecordName(const std::string& listed);

// Returns whether the run failed or was skipped.
bool HasNoTime(const benchmark::BenchmarkReporter::Run& run);
// Turns a run into a failed one with this error message.
void MarkFailed(benchmark::BenchmarkReporter::Run& run, const std::string& message);

// The table whose rows are written while benchmarks finish, so that its widths are chosen before.
class LiveTable {
 public:
  // Fits the names into a terminal of `width` columns (0: any): without FLOP/byte and FLOP/s if
  // necessary, and shortened where they stay different; else they get lines of their own.
  explicit LiveTable(const std::vector<std::string>& names = {}, int width = 0);

  std::string Header() const;
  // Returns the row of a record, as `report` shows it, or its status and reason if it has no time.
  // `machine` may be null.
  std::string Row(const record::Record& record, const machine::Machine* machine) const;
  // Returns a line with these cells; the first is replaced by `name`.
  std::string Line(const std::string& name, std::vector<std::string> cells) const;

 private:
  std::vector<int> widths_;                   // [columns]
  std::map<std::string, std::string> shown_;  // shortened names
};

// Returns one line: the number of benchmarks per status and, if any are noisy, why and what to do.
// `stopped` replaces this: the reason (a CPU quota) why the system paused the process.
std::string ResultSummary(const std::vector<record::Record>& records,
                          const std::optional<Reason>& stopped = std::nullopt);

// Returns the repetitions that the runner measured for the runs of one benchmark that have a time,
// in the same order. Empty if no runner measured the benchmark.
std::span<const record::Repetition> RepetitionsOf(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs, const Session& session);

// Returns the record of one benchmark: the runner's measurements with Google Benchmark's times, or
// the times only if no runner measured it. Aggregates count only without repetitions. Returns
// nullopt for aggregates of a benchmark that already has a record, and if nothing was run.
std::optional<record::Record> RecordFromRuns(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs, const Session& session);

// Writes the live table, one row whenever a benchmark finishes.
class TerminalReporter : public benchmark::BenchmarkReporter {
 public:
  // If `verbose`, lists the names of unsupported benchmarks, not only their number. `stopped`
  // returns the argument of ResultSummary; called once at the end if set.
  explicit TerminalReporter(Session& session, bool verbose = false,
                            std::function<std::optional<Reason>()> stopped = {})
      : session_(session), verbose_(verbose), stopped_(std::move(stopped)) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  void ReportAggregates(const std::vector<Run>& runs);
  void Print(const std::string& text);

  Session& session_;
  bool verbose_;
  std::function<std::optional<Reason>()> stopped_;
  LiveTable table_;
};

// Wraps one of Google Benchmark's reporters, which ignore write errors, to detect them.
template <class Reporter>
class CheckedReporter : public Reporter {
 public:
  using Reporter::Reporter;
  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    Reporter::ReportRuns(runs);
    Check();
  }
  void Finalize() override {
    Reporter::Finalize();
    Check();
  }
  // Returns false if any write failed (disk full); the file is then truncated.
  bool Written() const { return written_; }

 protected:
  void Check() { written_ = written_ && this->GetOutputStream().flush().good(); }

 private:
  bool written_ = true;
};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // deprecated since 1.5 but not removed
using CsvFileReporter = CheckedReporter<benchmark::CSVReporter>;
#pragma GCC diagnostic pop
using ConsoleFileReporter = CheckedReporter<benchmark::ConsoleReporter>;

// Writes the run file as benchmarks finish: context, machines, Google Benchmark's entries, records.
class RunFileReporter : public CheckedReporter<benchmark::JSONReporter> {
 public:
  explicit RunFileReporter(Session& session) : session_(session) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  Session& session_;
  std::int64_t repetitions_ = 1;  // [1] number of repetitions of the last benchmark
};

}  // namespace dlroof::live
