// Reporters for Google Benchmark. They convert its Runs to records and write the live table (with
// roofline columns) and the run file. Compiles with Google Benchmark 1.7.1 to 1.9.x.
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

// Says which benchmarks a program has, as Google Benchmark lists them: those that differ only in
// settings such as "/iterations:10" keep these in their records' names. Without it, no name does.
void SetListedNames(const std::vector<std::string>& listed);
// Returns the name of a benchmark's record.
std::string RecordName(const std::string& listed);

// Returns whether the run failed or was skipped.
bool HasNoTime(const benchmark::BenchmarkReporter::Run& run);
// Turns a run into one that failed with this message.
void MarkFailed(benchmark::BenchmarkReporter::Run& run, const std::string& message);

std::string ResultHeader(size_t name_width);
std::string ResultRow(const record::Record& record, const roofline::Placement& placement,
                      size_t name_width);

// Returns one line: the number of benchmarks by status, and what to do if many are noisy. `stopped`
// says what stopped this process that no waiting ends (a quota of CPU time).
std::string ResultSummary(const std::vector<record::Record>& records,
                          const std::optional<Reason>& stopped = std::nullopt);

// Returns the measured repetitions of those runs of one benchmark that have a time, in their order;
// empty if no runner measured them.
std::span<const record::Repetition> RepetitionsOf(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs, const Session& session);

// Returns the record of one benchmark: what its runner measured, with Google Benchmark's times, or
// these times alone. Aggregates, which are derived, count only by themselves
// (--benchmark_report_aggregates_only). Returns nullopt for aggregates of a benchmark that has a
// record, and if nothing was run.
std::optional<record::Record> RecordFromRuns(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs, const Session& session);

// Writes the live table: a row per benchmark as it finishes.
class TerminalReporter : public benchmark::BenchmarkReporter {
 public:
  // If `verbose`, lists the names of unsupported benchmarks instead of their number. `stopped` is
  // called at the end for ResultSummary; it may be empty.
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

// One of Google Benchmark's own reporters, which ignore errors when they write.
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
  // Returns false if a write failed (disk full).
  bool Written() const { return written_; }

 private:
  void Check() { written_ = written_ && this->GetOutputStream().flush().good(); }

  bool written_ = true;
};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // announced since 1.5, and still there
using CsvFileReporter = CheckedReporter<benchmark::CSVReporter>;
#pragma GCC diagnostic pop
using ConsoleFileReporter = CheckedReporter<benchmark::ConsoleReporter>;

// Writes the run file as benchmarks finish: context and machines first, then Google Benchmark's
// entries, records last.
class RunFileReporter : public benchmark::JSONReporter {
 public:
  explicit RunFileReporter(Session& session) : session_(session) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  // Returns false if a write failed (disk full). The file is then truncated.
  bool Written() const { return written_; }

 private:
  void Flush();

  Session& session_;
  bool written_ = true;
  std::int64_t repetitions_ = 1;  // [1] repetitions of the last benchmark that ran
};

}  // namespace dlroof::live
