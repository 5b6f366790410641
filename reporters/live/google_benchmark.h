// Reporters for Google Benchmark 1.7.1 to 1.9.x. They convert its Runs to records and write the
// live table (with roofline columns) and the run file.
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
#include "counters/base/keys.h"
#include "counters/base/parallel_time.h"
#include "counters/energy/energy_meter.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::live {

// Measurements besides the timing. An empty function means that its measurement was not requested.
struct Passes {
  // Return results by record name. Called in this order after all benchmarks were timed.
  std::function<std::map<std::string, ParallelTime>()> parallel;
  std::function<std::map<std::string, energy::EnergyResult>()> energy;
  std::function<std::map<std::string, Counting>()> count;
};

// The runner's measurements of a benchmark, from which the reporters make the record.
struct Measured {
  // Without `status` and `reason`. Google Benchmark may report only the last of its repetitions.
  record::Record record;
  bool own_seconds = false;  // use the times in `record` instead of Google Benchmark's times
  bool keep_noisy = false;   // treat noisy repetitions as clean
};

// The records that this process has measured so far. All reporters of a run share one Session.
class Session {
 public:
  // `machines` returns the machines for the run file; it may measure ceilings. Begin calls it once.
  explicit Session(nlohmann::json dlroof_context,
                   std::function<std::vector<machine::Machine>()> machines)
      : dlroof_context_(std::move(dlroof_context)), machines_(std::move(machines)) {}

  // Sets the machines and the context of file(). Further calls do nothing.
  void Begin();
  // Adds a record, or replaces the record with the same name: each reporter of a run adds it. The
  // returned reference is valid until the next Add.
  const record::Record& Add(record::Record record);

  // Returns the measurements by record name, for the runner to fill in; creates them if missing.
  // References stay valid.
  Measured& MeasuredOf(const std::string& name) { return measured_[name]; }
  // Returns the measurements by record name, or null for a benchmark that no runner times.
  const Measured* FindMeasured(const std::string& name) const { return FindValue(measured_, name); }

  // Sets the passes; call it before Begin, which calls `idle`. Finish calls the others.
  void Add(Passes passes) { passes_ = std::move(passes); }
  // Call it after the last benchmark: adds the passes' results. Further calls do nothing.
  void Finish();
  // Returns the names of the records to which Finish added work (Passes::count), in file() order.
  const std::vector<std::string>& counted_late() const { return counted_late_; }

  bool Has(const std::string& name) const { return index_of_.count(name) > 0; }

  const record::RunFile& file() const { return file_; }
  const nlohmann::json& dlroof_context() const { return dlroof_context_; }
  bool AnyFailed() const;

 private:
  nlohmann::json dlroof_context_;
  std::function<std::vector<machine::Machine>()> machines_;
  Passes passes_;
  std::vector<std::string> counted_late_;
  bool begun_ = false;
  record::RunFile file_;
  std::map<std::string, size_t> index_of_;
  std::map<std::string, Measured> measured_;  // by record name
};

// Sets the names of all benchmarks, as Google Benchmark lists them. RecordName omits settings such
// as "/iterations:10", unless (by this list) benchmarks differ only in settings.
void SetListedNames(const std::vector<std::string>& listed);
// Returns the name of the record for a benchmark that Google Benchmark lists as `listed`.
std::string RecordName(const std::string& listed);

// Returns whether the run failed or was skipped.
bool HasNoTime(const benchmark::BenchmarkReporter::Run& run);
// Marks the run as failed with this error message.
void MarkFailed(benchmark::BenchmarkReporter::Run& run, const std::string& message);

// The table of which a row is written when a benchmark finishes, in widths that are chosen before.
class LiveTable {
 public:
  // If a row with these names is wider than `width` [columns] (0: no limit), drops FLOP/byte and
  // FLOP/s, shortens the names (ShortenNames) or gives them lines of their own.
  explicit LiveTable(const std::vector<std::string>& names = {}, int width = 0);

  std::string Header() const;
  // Returns the row of a record, placed under the roofs of `machine` (which may be null), or its
  // status and reason if it has no time.
  std::string Row(const record::Record& record, const machine::Machine* machine) const;
  // Returns a line with these cells, in which `name` replaces the first cell.
  std::string Line(const std::string& name, std::vector<std::string> cells) const;

 private:
  std::vector<int> widths_;                   // [columns]
  std::map<std::string, std::string> shown_;  // shortened names by record name
};

// Returns a line with the number of benchmarks per status and, if some are noisy, why and what to
// do. `stopped` replaces this reason: why the system paused the process, e.g. a CPU quota.
std::string ResultSummary(const std::vector<record::Record>& records,
                          const std::optional<Reason>& stopped = std::nullopt);

// `runs` are of one benchmark. Returns the repetitions that the runner measured for the runs with a
// time, in the same order; an empty span if no runner measured the benchmark.
std::span<const record::Repetition> RepetitionsOf(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs, const Session& session);

// Returns the record of one benchmark: the runner's measurements with Google Benchmark's times, or
// only these times if no runner measured it. Uses aggregates only if `runs` has no repetitions.
// Returns nullopt for aggregates of a benchmark that already has a record, and if nothing was run.
std::optional<record::Record> RecordFromRuns(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs, const Session& session);

// Writes the live table, one row whenever a benchmark finishes.
class TerminalReporter : public benchmark::BenchmarkReporter {
 public:
  // If `verbose`, lists the names of unsupported benchmarks, not only their number. `stopped`, if
  // set, is called once at the end and returns the argument `stopped` of ResultSummary.
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

// Adds the detection of write errors to one of Google Benchmark's reporters, which ignore them.
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

// Writes the run file: context and machines, then entries as benchmarks finish, last the records.
class RunFileReporter : public CheckedReporter<benchmark::JSONReporter> {
 public:
  explicit RunFileReporter(Session& session) : session_(session) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  Session& session_;
  std::int64_t repetitions_ = 1;  // [1] number of the last benchmark's repetitions
};

}  // namespace dlroof::live
