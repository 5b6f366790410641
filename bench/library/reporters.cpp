// The public functions of <dlroof/benchmark.h> except Measure.

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "bench/library/program.h"
#include "counters/base/error.h"
#include "counters/base/program.h"
#include "reporters/document/tables.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof {
namespace {

using library::Program;

// Checks runs (Program::Checked) and passes them on.
class Passing : public benchmark::BenchmarkReporter {
 public:
  explicit Passing(benchmark::BenchmarkReporter& inner) : inner_(inner) {}
  bool ReportContext(const Context& context) override {
    inner_.SetOutputStream(&GetOutputStream());
    inner_.SetErrorStream(&GetErrorStream());
    Program::Get().HasBegun();
    return inner_.ReportContext(context);
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    Program::Get().MarkEnded(runs);
    inner_.ReportRuns(Program::Get().Checked(runs));
  }
  void Finalize() override { inner_.Finalize(); }

 private:
  benchmark::BenchmarkReporter& inner_;
};

benchmark::BenchmarkReporter* Passed(benchmark::BenchmarkReporter* inner) {
  static std::vector<std::unique_ptr<Passing>> all;
  if (inner == nullptr) return nullptr;
  return all.emplace_back(std::make_unique<Passing>(*inner)).get();
}

int Run(const std::vector<std::string>& args) {
  if (runner::AsksForHelp(args)) {
    runner::PrintHelp();
    return 0;
  }
  auto& program = Program::Get();
  runner::RefuseBenchmarkFlags(runner::InitializeBenchmark(program.Initialize(args, false)));
  if (program.IsSimulation()) {
    program.RunSimulated();
    throw BadInput("this program has no benchmark of the name that was to be simulated");
  }
  program.RefuseEmptySelection();
  auto& reporters = program.reporters();
  benchmark::RunSpecifiedBenchmarks(Passed(reporters.display()), Passed(reporters.file()));
  return reporters.End();
}

}  // namespace

int Main(int argc, char** argv) {
  return RunProgram("dlroof", [&] { return Run({argv, argv + argc}); });
}

void Initialize(int* argc, char** argv) {
  const int failed = RunProgram("dlroof", [&] {
    const auto rest = Program::Get().Initialize({argv, argv + *argc}, true);
    int kept = 0;  // number of arguments that are not dlroof's flags
    for (int i = 0; i < *argc; ++i)
      if (std::ranges::count(rest, std::string(argv[i])) > 0) argv[kept++] = argv[i];
    argv[kept] = nullptr;
    *argc = kept;
    return 0;
  });
  if (failed != 0) std::exit(failed);
}

bool Reporter::ReportContext(const Context& context) {
  if (!Program::Get().IsSimulation()) Program::Get().session().Begin();
  Program::Get().HasBegun();
  return inner_ == nullptr || inner_->ReportContext(context);
}

void Reporter::ReportRuns(const std::vector<Run>& runs) {
  auto& program = Program::Get();
  program.MarkEnded(runs);
  const auto checked = program.Checked(runs);
  if (inner_ != nullptr) inner_->ReportRuns(checked);
  if (program.IsSimulation()) return;
  if (auto record = live::RecordFromRuns(checked, program.session()))
    program.session().Add(*std::move(record));
}

void Reporter::Finalize() {
  if (inner_ != nullptr) inner_->Finalize();
}

benchmark::BenchmarkReporter* FileReporter() {
  if (Program::Get().IsSimulation()) return nullptr;
  return Passed(Program::Get().reporters().file());
}

int Report() {
  auto& program = Program::Get();
  return RunProgram("dlroof", [&] {
    // A simulated call ends the process, so the benchmark was not found.
    if (program.IsSimulation())
      throw BadInput("this program has no benchmark of the name that was to be simulated");
    program.session().Finish();
    document::Write(document::RunDocument(roofline::PlaceRun(program.session().file())),
                    text::TerminalColumns(), std::cout);
    return program.reporters().End();
  });
}

}  // namespace dlroof
