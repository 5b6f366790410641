// Reporters for Google Benchmark: convert its Runs to records and write the live table (with
// roofline columns) and the run file. Compatible with Google Benchmark 1.7.1 to 1.9.x.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reporters/live/session.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::live {

// Sets the names of all benchmarks, as Google Benchmark lists them. Record names omit settings such
// as "/iterations:10", unless benchmarks differ only in them. If never called, all are omitted.
void SetListedNames(const std::vector<std::string>& listed);
// Returns the name of the record for a benchmark that Google Benchmark lists as `listed`.
std::string RecordName(const std::string& listed);

// Returns whether the run failed or was skipped.
bool HasNoTime(const benchmark::BenchmarkReporter::Run& run);
// Turns a run into a failed one with this error message.
void MarkFailed(benchmark::BenchmarkReporter::Run& run, const std::string& message);

std::string ResultHeader(size_t name_width);
std::string ResultRow(const record::Record& record, const roofline::Placement& placement,
                      size_t name_width);

// Returns one line: the number of benchmarks per status, and advice if many are noisy. `stopped`:
// the reason, such as a CPU quota, why this process was paused so that waiting does not help.
std::string ResultSummary(const std::vector<record::Record>& records,
                          const std::optional<Reason>& stopped = std::nullopt);

// Returns the repetitions that the runner measured for the runs of one benchmark that have a time,
// in the same order. Empty if no runner measured the benchmark.
std::span<const record::Repetition> RepetitionsOf(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs, const Session& session);

// Returns the record of one benchmark: the runner's measurements with Google Benchmark's times, or
// the times only if no runner measured it. Aggregates are used only without repetitions
// (--benchmark_report_aggregates_only). Returns nullopt for aggregates of a benchmark that already
// has a record, and if nothing was run.
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

  Session& session_;
  bool verbose_;
  std::function<std::optional<Reason>()> stopped_;
  size_t name_width_ = 0;
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
  // Returns false if any write failed (disk full).
  bool Written() const { return written_; }

 private:
  void Check() { written_ = written_ && this->GetOutputStream().flush().good(); }

  bool written_ = true;
};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // deprecated since 1.5 but not removed
using CsvFileReporter = CheckedReporter<benchmark::CSVReporter>;
#pragma GCC diagnostic pop
using ConsoleFileReporter = CheckedReporter<benchmark::ConsoleReporter>;

// Writes the run file as benchmarks finish: first context and machines, then Google Benchmark's
// entries, last the records.
class RunFileReporter : public benchmark::JSONReporter {
 public:
  explicit RunFileReporter(Session& session) : session_(session) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  // Returns false if any write failed (disk full); the file is then truncated.
  bool Written() const { return written_; }

 private:
  void Flush();

  Session& session_;
  bool written_ = true;
  std::int64_t repetitions_ = 1;  // [1] number of repetitions of the last benchmark
};

}  // namespace dlroof::live
