#include "bench/library/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <utility>

#include "bench/runner/bench_flags.h"
#include "bench/runner/prepared_calls.h"
#include "ceilings/cpu_ceilings/measure.h"
#include "counters/base/process.h"
#include "counters/base/program.h"
#include "counters/caches/callgrind.h"
#include "counters/cpu/cpu.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::library {
namespace {

// Throws BadInput for flags that select dlroof's operators, such as --dlroof_suite.
void RefuseOperatorFlags(const std::vector<std::string>& args) {
  constexpr std::string_view kFlags[] = {"--dlroof_suite",     "--dlroof_directions",
                                         "--dlroof_types",     "--dlroof_batch",
                                         "--dlroof_algorithm", "--dlroof_onednn"};
  for (const auto& arg : args)
    for (const auto flag : kFlags)
      if (arg.starts_with(flag))
        throw BadInput(
            "{}: this program has benchmarks of its own: choose them by "
            "--benchmark_filter",
            flag);
}

std::set<int> ThreadsOf(const std::vector<std::string>& names) {
  std::set<int> threads;
  for (const auto& name : names)
    if (const auto found = record::ReadBenchmarkName(name).threads) threads.insert(*found);
  return threads;
}

// Returns a command line that restores the flags of Google Benchmark after Program::RunWith: to the
// values in `args`, else to Google Benchmark's defaults.
std::vector<std::string> RestoringArguments(const std::string& program,
                                            const std::vector<std::string>& args) {
  const std::pair<const char*, const char*> kChanged[] = {
      {"out", ""}, {"repetitions", "1"}, {"list_tests", "false"}, {"min_time", "0.5s"}};
  std::vector<std::string> restoring = {program};
  for (const auto& [name, otherwise] : kChanged)
    restoring.push_back(fmt::format("--benchmark_{}={}", name,
                                    runner::SetBenchmarkFlag(args, name).value_or(otherwise)));
  runner::AdaptMinTime(restoring);
  return restoring;
}

class Follower : public benchmark::BenchmarkReporter {
 public:
  explicit Follower(Program& program) : program_(program) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override { program_.MarkEnded(runs); }

 private:
  Program& program_;
};

bool AnyTimesItself(const std::vector<std::string>& names) {
  return std::ranges::any_of(
      names, [](const auto& name) { return record::ReadBenchmarkName(name).manual_time; });
}

}  // namespace

Program& Program::Get() {
  static Program program;
  return program;
}

std::vector<std::string> Program::ReadFlags(std::vector<std::string> args) {
  if (!own_main_) {
    runner::AddDefaultFlags(args);
    runner::AdaptMinTime(args);
  }
  runner::ReadBenchmarkFlags(args, flags_);
  auto own = runner::OwnArguments(args);
  std::vector<std::string> rest = args;
  if (own_main_) std::erase_if(own, [](const auto& arg) { return !arg.starts_with("--dlroof_"); });
  RefuseOperatorFlags(own);
  if (flags_.interleaved)
    throw BadInput(
        "--benchmark_enable_random_interleaving: not supported: the benchmarks of this program run "
        "in their order");
  runner::ReadOwnFlags(own, flags_);
  if (flags_.counters == "simulate" && flags_.cache != workload::CacheState::kWarm)
    throw BadInput(
        "--dlroof_counters=simulate: a program's own benchmarks can be simulated with warm "
        "caches only: remove --dlroof_cache");
  std::erase_if(rest, [](const auto& arg) { return arg.starts_with("--dlroof_"); });
  if (!own_main_) {
    if (const auto stop = runner::RuleFrom(flags_))
      rest.push_back(
          fmt::format("--benchmark_repetitions={}", runner::OfferedRepetitions(*stop, flags_)));
    runner::ProtectOutFile(rest, flags_);
  }
  if (!flags_.filter.empty())
    rest.push_back("--benchmark_filter=" + runner::FilterOfShownNames(flags_.filter));
  return rest;
}

std::vector<std::string> Program::Initialize(const std::vector<std::string>& arguments,
                                             bool own_main) {
  program_ = ProgramPath().string();
  own_main_ = own_main;
  if (const auto simulated = runner::SimulatedCallIn(arguments)) {
    simulated_ = simulated->name;
    restoring_ = {program_};
    flags_.seed = simulated->seed;
    initialized_ = true;
    return {arguments.front()};
  }
  runner::RefusePinning();
  command_ = text::CommandLine(arguments);
  auto rest = ReadFlags(arguments);
  restoring_ = RestoringArguments(program_, rest);
  settings_ = runner::Settings(flags_);
  settings_.threads = flags_.threads.value_or(1);
  devices_ = runner::FindDevices(flags_);
  if (devices_.HasGpu()) settings_.gpu = devices_.gpu.device.name;
  runner::CheckMachineFiles(flags_, devices_);
  if (const auto warning = runner::CountersWarning(flags_.counters)) std::cerr << *warning;
  quota_ = runner::WatchQuota(cpu::FactsOfThisProcess(energy::SysfsRoot()));
  caches::SimulateCallsOf(program_);
  StopOnInterrupt();

  auto context = runner::Context(command_, flags_, settings_, devices_);
  context.erase("pinned_cpus");  // the program chooses its own threads
  settings_.cpus.clear();
  session_ = std::make_unique<live::Session>(std::move(context), [this] {
    Begin();
    auto threads = ThreadsOf(names_);
    threads.insert({1, settings_.threads});
    std::erase_if(threads, [allowed = cpu::ThisCpu().allowed.size()](int count) {
      return static_cast<std::size_t>(count) > allowed;
    });
    return runner::Machines(flags_,
                            {true,
                             AnyTimesItself(names_),
                             {threads.begin(), threads.end()},
                             cpu_ceilings::PipesOf(cpu::ThisCpu())},
                            devices_);
  });
  session_->Add(Passes());
  reporters_ = std::make_unique<runner::RunReporters>(*session_, flags_, quota_.get());
  initialized_ = true;
  return rest;
}

void Program::Begin() {
  if (runner_) return;
  List();
  auto options = runner::Options(flags_, static_cast<int>(names_.size()), true, devices_, *session_,
                                 quota_.get());
  options.own_seconds = true;
  // With its own main function the program determines the number of repetitions.
  if (own_main_) options.stop.reset();
  runner_ = std::make_unique<runner::Runner>(settings_, options);
}

void Program::RefuseEmptySelection() {
  List();
  // Google Benchmark does not list benchmarks excluded by the filter.
  if (names_.empty() && !flags_.filter.empty() && !flags_.lists_only)
    throw BadInput("--benchmark_filter={}: selects no benchmark of this program", flags_.filter);
  runner::RefuseEmptySelection(flags_, names_.size(), 0);
  auto names = names_;
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    throw BadInput("two benchmarks have the name '{}': rename one by ->Name()", *twice);
  runner::CheckWritable(flags_.html_file);
}

void Program::RunWith(const char* flag, std::ostream* out) {
  std::vector<std::string> args = {program_, "--benchmark_out=", flag};
  runner::AdaptMinTime(args);
  Follower follower(*this);
  follower.SetOutputStream(out);
  runner::InitializeBenchmark(std::move(args));
  benchmark::RunSpecifiedBenchmarks(&follower);
  runner::InitializeBenchmark(restoring_);
}

void Program::List() {
  std::ostringstream out;
  RunWith("--benchmark_list_tests=true", &out);
  names_.clear();
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) names_.push_back(line);
  live::SetListedNames(names_);
}

void Program::MarkEnded(const std::vector<benchmark::BenchmarkReporter::Run>& runs) {
  if (!runs.empty())
    ended_.emplace(runs.front().family_index, runs.front().per_family_instance_index);
}

live::Passes Program::Passes() {
  using runner::Runner;
  live::Passes passes;
  passes.count = [this] {
    return AnyTimesItself(names_) && runner::MeansGpuCounters(flags_.counters)
               ? RunAgain(&Runner::CountLate)
               : std::map<std::string, Counting>();
  };
  if (flags_.explain) passes.parallel = [this] { return RunAgain(&Runner::Explain); };
  if (flags_.energy) passes.energy = [this] { return RunAgain(&Runner::MeasureEnergy); };
  return passes;
}

template <class Result>
std::map<std::string, Result> Program::RunAgain(
    std::optional<Result> (runner::Runner::*pass)(const workload::Workload&)) {
  std::map<std::string, Result> results;
  if (!runner_ || StoppedByInterrupt()) return results;
  pass_ = [&](const workload::Workload& workload) {
    if (auto found = (*runner_.*pass)(workload))
      results.try_emplace(workload::NameOf(workload), std::move(*found));
  };
  passes_done_.clear();
  ended_.clear();
  RunWith("--benchmark_repetitions=1", &std::cout);
  ended_.clear();
  pass_ = {};
  return results;
}

void Program::RunSimulated() {
  Follower follower(*this);
  benchmark::RunSpecifiedBenchmarks(&follower);
}

}  // namespace dlroof::library
