// A row of the live table: Google Benchmark's columns and what placement adds.
//
// Google Benchmark's side of the reporters: its Runs become our entries, its reporters write our
// table and our file. Compiles with Google Benchmark 1.7.1 to 1.9.x.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "reporters/live/session.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::live {

// "123.4 us": four digits, the unit that keeps the number readable.
std::string TimeText(double seconds);

std::string ResultHeader(size_t name_width);
std::string ResultRow(const record::Record& record, const roofline::Placement& placement,
                      size_t name_width);

// One line: how many there are, how many of them without a result, and why.
std::string ResultSummary(const std::vector<record::Record>& records);

// The repetitions among `runs` (aggregates are derived, so left out), in order.
std::vector<record::Entry> EntriesFromRuns(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs);

// The table in the terminal: a row per benchmark as it finishes.
class TerminalReporter : public benchmark::BenchmarkReporter {
 public:
  // `verbose`: unsupported benchmarks are named one by one, not counted by reason.
  explicit TerminalReporter(Session& session, bool verbose = false)
      : session_(session), verbose_(verbose) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  void ReportAggregates(const std::vector<Run>& runs);

  Session& session_;
  bool verbose_;
  size_t name_width_ = 0;
};

// The run file, written as benchmarks finish: context and machines first, then Google Benchmark's
// entries, records last.
class RunFileReporter : public benchmark::JSONReporter {
 public:
  explicit RunFileReporter(Session& session) : session_(session) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  // False when something could not be written (disk full); what was written stays readable as a
  // cut-off file.
  bool Written() const { return written_; }

 private:
  void Flush();

  Session& session_;
  bool written_ = true;
  std::int64_t repetitions_ = 1;  // [1] that ran, of the last benchmark
};

}  // namespace dlroof::live
