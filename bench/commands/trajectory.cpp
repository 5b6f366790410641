// dlroof trajectory: shows how benchmarks move under their roofs with threads or sizes, and why.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "bench/commands/commands.h"
#include "bench/supervise/supervised_program.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "counters/cpu/cpu.h"
#include "reporters/document/document.h"
#include "reporters/document/tables.h"
#include "reporters/figure/outputs.h"
#include "reporters/figure/page.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::commands {
namespace {

struct TrajectoryFlags {
  std::vector<std::string> what, arguments;
  std::vector<int> threads;
  bool weak = false;
  std::optional<std::string> batch, sweep, along, bench, machine;
  std::vector<std::string> outputs;
};

// A size parameter in benchmark names, and its values to measure.
struct SizeSweep {
  std::string parameter;
  std::set<std::int64_t> values;
};

// Parses "batch=1,4,16". Throws BadInput for other text.
SizeSweep ReadSizeSweep(const std::string& text) {
  const auto refuse = [&] {
    throw BadInput("--sweep={}: expected a parameter and its values, such as hidden=64,128,256",
                   text);
  };
  const auto equals = text.find('=');
  SizeSweep sweep{.parameter = text.substr(0, equals)};
  if (equals == std::string::npos || equals == 0) refuse();
  std::istringstream list(text.substr(equals + 1));
  for (std::string item; std::getline(list, item, ',');) {
    const auto value = ParseNumber<std::int64_t>(item).value_or(0);
    if (value < 1) refuse();
    sweep.values.insert(value);
  }
  if (sweep.values.empty()) refuse();
  return sweep;
}

std::optional<SizeSweep> SizeSweepOf(const TrajectoryFlags& flags) {
  if (flags.batch && flags.sweep)
    throw BadInput("--batch and --sweep: expected one of them, because only one size can vary");
  if (flags.batch) return ReadSizeSweep("batch=" + *flags.batch);
  if (flags.sweep) return ReadSizeSweep(*flags.sweep);
  return std::nullopt;
}

// Returns the numbers of threads to measure: those of --threads or, if it is absent and no size
// varies, powers of two and all CPUs. If the set is empty, each benchmark's name sets the number.
std::set<int> ThreadsToMeasure(const TrajectoryFlags& flags, bool with_size) {
  const int allowed = static_cast<int>(cpu::ThisCpu().allowed.size());
  std::set<int> threads(flags.threads.begin(), flags.threads.end());
  if (threads.empty() && !with_size) {
    for (int count = 1; count < allowed; count *= 2) threads.insert(count);
    threads.insert(allowed);
  }
  if (!threads.empty() && *threads.rbegin() > allowed)
    throw BadInput("--threads={}: this process may use {} CPU{}, and each thread needs its own CPU",
                   *threads.rbegin(), allowed, allowed == 1 ? "" : "s");
  return threads;
}

// Returns each name with each size and number of threads. `weak`: its batch is that of a thread.
std::vector<std::string> CrossProduct(const std::vector<std::string>& names,
                                      const std::optional<SizeSweep>& sweep,
                                      const std::set<int>& threads, bool weak) {
  std::vector<std::string> sized, all;
  for (const auto& name : names) {
    if (!sweep) sized.push_back(name);
    for (const auto value : sweep ? sweep->values : std::set<std::int64_t>())
      sized.push_back(workload::WithSize(name, sweep->parameter, value));
  }
  for (const auto& name : sized) {
    if (threads.empty()) all.push_back(name);
    for (const int count : threads)
      all.push_back(workload::WithThreads(
          weak ? workload::WithSize(name, "batch", workload::SizeOf(name, "batch") * count) : name,
          count));
  }
  return all;
}

struct TrajectoryRun {
  roofline::PlacedRun run;
  std::string along;
  std::size_t least = 2;  // [1] minimum number of points of a trajectory
};

// Returns the command that repeats the measurement, without output flags.
std::string TrajectoryCommandLine(const TrajectoryFlags& flags,
                                  const std::vector<std::string>& names,
                                  const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"dlroof", "trajectory"};
  words.insert(words.end(), names.begin(), names.end());
  if (!flags.threads.empty())
    words.push_back(fmt::format("--threads={}", fmt::join(flags.threads, ",")));
  for (const auto& [flag, value] : {std::pair("--batch", &flags.batch),
                                    {"--sweep", &flags.sweep},
                                    {"--machine", &flags.machine},
                                    {"--bench", &flags.bench}})
    if (*value) words.push_back(fmt::format("{}={}", flag, **value));
  if (flags.weak) words.emplace_back("--weak");
  if (!arguments.empty()) words.emplace_back("--");
  words.insert(words.end(), arguments.begin(), arguments.end());
  return text::CommandLine(words);
}

// Measures the points of the trajectories. Returns nullopt after an interrupt.
std::optional<TrajectoryRun> MeasuredRun(const TrajectoryFlags& flags) {
  const auto &names = flags.what, &arguments = flags.arguments;
  const auto sweep = SizeSweepOf(flags);
  const auto threads = ThreadsToMeasure(flags, sweep.has_value() && !flags.weak);
  if (threads.size() < 2 && (!sweep || sweep->values.size() < 2))
    throw BadInput(
        "trajectory: one number of threads and one size give one point; expected several values of "
        "--threads, --batch or --sweep");
  auto file = supervise::MeasureExplained({.command = "trajectory",
                                           .names = CrossProduct(names, sweep, threads, flags.weak),
                                           .bench = flags.bench,
                                           .machine = flags.machine,
                                           .arguments = arguments},
                                          std::cerr);
  if (!file) return std::nullopt;
  auto along = flags.weak ? std::string(roofline::kAlongWeak) : flags.along.value_or("");
  if (along.empty())
    along = threads.size() > 1 ? std::string(roofline::kAlongThreads) : sweep->parameter;
  // Replaces dlroof_bench's command line, which names a temporary file.
  file->context["dlroof"]["command"] = TrajectoryCommandLine(flags, names, arguments);
  return TrajectoryRun{roofline::PlaceRun(std::move(*file)), along, 1};
}

TrajectoryRun RunOfFiles(const TrajectoryFlags& flags) {
  if (!flags.threads.empty() || flags.batch || flags.sweep || flags.weak)
    throw BadInput(
        "trajectory: --threads, --weak, --batch and --sweep apply to benchmark names; for run "
        "files --along chooses the parameter");
  std::vector<std::pair<std::string, record::RunFile>> files;
  for (const auto& path : flags.what)
    files.emplace_back(path, record::ReadRunFile(path, std::cerr));
  return {roofline::PlaceRun(record::JoinedRun(std::move(files))), flags.along.value_or("")};
}

using Trajectories = std::vector<roofline::Trajectory>;

std::string TrajectoryPage(const roofline::PlacedRun& run, const Trajectories& trajectories,
                           const std::string&) {
  auto content = figure::PageContent(run);
  content["trajectories"] = figure::TrajectoriesJson(trajectories);
  std::ostringstream page;
  figure::WritePage(content, page);
  return page.str();
}

std::string TrajectoryJson(const roofline::PlacedRun& run, const Trajectories&,
                           const std::string&) {
  return JsonText(roofline::ToStoredJson(run.file, run.view)) + '\n';
}

std::string TrajectoryScript(const roofline::PlacedRun& run, const Trajectories& trajectories,
                             const std::string& extension) {
  return figure::TrajectoryScript(figure::MakeTrajectoryFigure(run, trajectories), extension);
}

// Adds the reasons why benchmarks have no result. Returns the exit code: 1 if a benchmark failed.
int AddMissing(const roofline::PlacedRun& run, document::Document& document) {
  int exit_code = 0;
  for (const auto& record : run.file.records) {
    if (record.status == record::Status::kOk) continue;
    const auto reason = fmt::format("{}: {}", record::Key(record.status), record.reason);
    document.Add(document::List{record.name, {{reason}}});
    if (record.status != record::Status::kUnsupported) exit_code = 1;
  }
  return exit_code;
}

int ShowTrajectories(const TrajectoryFlags& flags) {
  const figure::Outputs<roofline::PlacedRun, Trajectories> outputs(
      {{"html", TrajectoryPage}, {"json", TrajectoryJson}}, TrajectoryScript);
  outputs.Check(flags.outputs, flags.what);
  const auto& first = flags.what.front();
  const bool files = std::filesystem::exists(InputPath(first)) || first.ends_with(".json");
  const auto found = files ? RunOfFiles(flags) : MeasuredRun(flags);
  if (!found) return InterruptCode();
  const auto trajectories = roofline::Trajectories(found->run, found->along, found->least);
  if (files && trajectories.empty())
    throw BadInput("{}: no two records differ only in {}", text::Printable(flags.what.front()),
                   flags.along.value_or("threads or one size"));
  auto document = document::TrajectoriesDocument(trajectories);
  const int exit_code = files ? 0 : AddMissing(found->run, document);
  document::Print(document);
  std::cout << std::flush;
  outputs.Write(flags.outputs, found->run, trajectories);
  return exit_code;
}

Command MakeTrajectory() {
  auto flags = std::make_shared<TrajectoryFlags>();
  return {
      .name = "trajectory",
      .about =
          "show how benchmarks move under their roofs with threads or a size, and the main cause "
          "if they do not scale",
      .options =
          {Ruled("NAME", {.type = runner::kBenchmark, .required = true}, &flags->what,
                 "names of benchmarks to measure now, or run files of one machine"),
           Ruled("ARGUMENTS", {.type = runner::kFlag}, &flags->arguments,
                 "after --: arguments for dlroof_bench, such as --benchmark_repetitions=20"),
           Ruled("--threads", {.limits = AboveZero{}, .one_each = true, .comma = true},
                 &flags->threads,
                 "numbers of threads, separated by commas (default, unless a size varies: 1, 2, 4, "
                 "... and all CPUs)"),
           {"--batch", &flags->batch,
            "batch sizes, separated by commas (same as --sweep=batch=...)"},
           {"--sweep", &flags->sweep, "PARAMETER=v1,v2,...: values of any size of the problem"},
           {"--along", &flags->along,
            "join the points along threads, weak (threads, with a batch proportional to them) or "
            "this parameter (default: threads if their number varies, with one trajectory for each "
            "size)"},
           Ruled("--weak", {.excludes = {"--along"}}, &flags->weak,
                 "weak scaling: the batch in NAME, or each of --batch, is the batch of one thread"),
           Ruled("-o,--output", {.type = kFile, .one_each = true}, &flags->outputs,
                 "also write x.svg, x.pdf, x.png (figure), x.html (page) or x.json (records and "
                 "machines)"),
           MeasuredMachineOption(flags->machine),
           BenchOption(flags->bench)},
      .run = [flags] { return ShowTrajectories(*flags); }};
}

[[maybe_unused]] const bool trajectory_registered = RegisterCommand(MakeTrajectory);

}  // namespace
}  // namespace dlroof::commands
