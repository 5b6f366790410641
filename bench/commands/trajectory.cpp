// dlroof trajectory: how benchmarks move under their roofs along threads or a size, and why.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "bench/commands/commands.h"
#include "bench/runner/run_context.h"
#include "bench/supervise/supervised_program.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/process.h"
#include "counters/cpu/cpu.h"
#include "reporters/figure/breakdown_figure.h"
#include "reporters/page/page.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/terminal/tables.h"
#include "reporters/text/text.h"

namespace dlroof::commands {
namespace {

struct TrajectoryFlags {
  std::vector<std::string> what, arguments;
  std::vector<int> threads;
  bool weak = false;
  std::string batch, sweep, along;
  std::vector<std::string> outputs;
  std::string bench, machine;
};

// A size and its values, by rising value.
struct SizeSweep {
  std::string parameter;
  std::set<std::int64_t> values;
};

// "batch=1,4,16". Throws BadInput for anything else.
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
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), value);
    if (error != std::errc() || end != item.data() + item.size() || value < 1) refuse();
    sweep.values.insert(value);
  }
  if (sweep.values.empty()) refuse();
  return sweep;
}

std::optional<SizeSweep> SizeSweepOf(const TrajectoryFlags& flags) {
  if (!flags.batch.empty() && !flags.sweep.empty())
    throw BadInput("--batch and --sweep: one size at a time");
  if (!flags.batch.empty()) return ReadSizeSweep("batch=" + flags.batch);
  if (!flags.sweep.empty()) return ReadSizeSweep(flags.sweep);
  return std::nullopt;
}

// Returns the numbers of threads to measure: those asked for; without any, and without a size, the
// powers of two and all CPUs. Empty: as many as the names say.
std::set<int> ThreadsToMeasure(const TrajectoryFlags& flags, bool with_size) {
  const int allowed = static_cast<int>(cpu::ThisCpu().allowed.size());
  std::set<int> threads(flags.threads.begin(), flags.threads.end());
  if (threads.empty() && !with_size) {
    for (int count = 1; count < allowed; count *= 2) threads.insert(count);
    threads.insert(allowed);
  }
  if (!threads.empty() && *threads.rbegin() > allowed)
    throw BadInput("--threads={}: this process may use {} CPU{}, and each thread needs its own",
                   *threads.rbegin(), allowed, allowed == 1 ? "" : "s");
  return threads;
}

// Returns the names with each of the sizes and numbers of threads; with `weak` the batch is that of
// a thread.
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

// The run that the trajectories go through.
struct TrajectoryRun {
  roofline::PlacedRun run;
  std::string along;
  std::size_t least = 2;  // points of a trajectory
};

// Returns the command line that measures the same again, without its outputs.
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
    if (!value->empty()) words.push_back(fmt::format("{}={}", flag, *value));
  if (flags.weak) words.emplace_back("--weak");
  if (!arguments.empty()) words.emplace_back("--");
  words.insert(words.end(), arguments.begin(), arguments.end());
  return runner::CommandLine(words);
}

// Absent after an interrupt.
std::optional<TrajectoryRun> MeasuredRun(const TrajectoryFlags& flags) {
  std::vector<std::string> names, arguments = flags.arguments;
  for (const auto& one : flags.what) (one.starts_with("-") ? arguments : names).push_back(one);
  if (names.empty()) throw BadInput("trajectory: expected a benchmark's name, or a run file");
  const auto sweep = SizeSweepOf(flags);
  const auto threads = ThreadsToMeasure(flags, sweep.has_value() && !flags.weak);
  if (threads.size() < 2 && (!sweep || sweep->values.size() < 2))
    throw BadInput(
        "trajectory: one number of threads and one size give one point; expected several of "
        "--threads, --batch or --sweep");
  const TemporaryFolder folder;
  StopOnInterrupt();
  const auto path =
      supervise::MeasureExplained({.command = "trajectory",
                                   .names = CrossProduct(names, sweep, threads, flags.weak),
                                   .bench = flags.bench,
                                   .machine = flags.machine,
                                   .output = "",
                                   .arguments = arguments},
                                  folder, std::cerr);
  if (path.empty()) return std::nullopt;
  auto along = flags.weak ? std::string(trajectory::kAlongWeak) : flags.along;
  if (along.empty())
    along = threads.size() > 1 ? std::string(trajectory::kAlongThreads) : sweep->parameter;
  auto file = record::ReadRunFile(path, std::cerr);
  // The names that dlroof_bench was given lay in a file that is gone.
  file.context["dlroof"]["command"] = TrajectoryCommandLine(flags, names, arguments);
  return TrajectoryRun{roofline::PlaceRun(std::move(file)), along, 1};
}

TrajectoryRun RunOfFiles(const TrajectoryFlags& flags) {
  if (!flags.threads.empty() || !flags.batch.empty() || !flags.sweep.empty() || flags.weak)
    throw BadInput(
        "trajectory: --threads, --weak, --batch and --sweep measure benchmarks that are named; run "
        "files hold what was measured (--along chooses among it)");
  std::vector<std::pair<std::string, record::RunFile>> files;
  for (const auto& path : flags.what)
    files.emplace_back(path, record::ReadRunFile(path, std::cerr));
  return {roofline::PlaceRun(record::JoinedRun(std::move(files))), flags.along};
}

void WriteTrajectoryOutput(const TrajectoryRun& whole,
                           const std::vector<trajectory::Trajectory>& trajectories,
                           const std::string& path) {
  if (path.ends_with(".json")) {
    WriteFile(path, roofline::ToStoredJson(whole.run.file, whole.run.view).dump() + '\n');
  } else if (path.ends_with(".html")) {
    auto content = page::PageContent(whole.run);
    content["trajectories"] = page::TrajectoriesJson(trajectories);
    std::ostringstream page;
    page::WritePage(content, page);
    WriteFile(path, page.str());
  } else {
    figure::WriteTrajectoryFigure(whole.run, trajectories, path);
  }
  std::cerr << "wrote " << path << '\n';
}

void CheckTrajectoryOutputs(const std::vector<std::string>& paths) {
  for (const auto& path : paths) {
    const auto ends = [&](const char* extension) { return path.ends_with(extension); };
    if (!std::ranges::any_of(std::array{".svg", ".pdf", ".png", ".html", ".json"}, ends))
      throw BadInput("-o {}: unknown extension, expected .svg, .pdf, .png, .html or .json", path);
  }
}

// Says why a measured benchmark is on no trajectory. Returns 1 where one failed.
int SayMissing(const roofline::PlacedRun& run) {
  int exit_code = 0;
  for (const auto& record : run.file.records) {
    if (record.status == record::Status::kOk) continue;
    std::cout << fmt::format("{}\n  {}: {}\n\n", text::Printable(record.name),
                             record::Key(record.status), text::Printable(record.reason));
    if (record.status != record::Status::kUnsupported) exit_code = 1;
  }
  return exit_code;
}

// Returns the exit code.
int ShowTrajectories(const TrajectoryFlags& flags) {
  CheckTrajectoryOutputs(flags.outputs);
  const auto& first = flags.what.front();
  const bool files = std::filesystem::exists(first) || first.ends_with(".json");
  const auto whole = files ? RunOfFiles(flags) : MeasuredRun(flags);
  if (!whole) return 130;
  const auto trajectories = trajectory::Trajectories(whole->run, whole->along, whole->least);
  if (files && trajectories.empty())
    throw BadInput("{}: no two records differ in {} alone", text::Printable(flags.what.front()),
                   flags.along.empty() ? "threads or one size" : flags.along);
  terminal::WriteTrajectories(trajectories, std::cout);
  const int exit_code = files ? 0 : SayMissing(whole->run);
  std::cout << std::flush;
  for (const auto& path : flags.outputs) WriteTrajectoryOutput(*whole, trajectories, path);
  return exit_code;
}

void AddPointOptions(CLI::App& command, TrajectoryFlags& flags) {
  command
      .add_option("--threads", flags.threads,
                  "numbers of threads, with commas (default without a size: 1, 2, 4, ... and all)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::PositiveNumber);
  command.add_option("--batch", flags.batch, "batch sizes, with commas: --sweep=batch=...");
  command.add_option("--sweep", flags.sweep, "PARAMETER=v1,v2,... of any size of the problem");
  auto* along = command.add_option(
      "--along", flags.along,
      "join the points along threads, weak (threads with a batch that grows with them) or this "
      "parameter (default: threads where there are several numbers of them; a trajectory for each "
      "other size)");
  command
      .add_flag("--weak", flags.weak,
                "weak scaling: the batch of NAME, or each of --batch, is that of one thread")
      ->excludes(along);
}

void AddTrajectoryCommand(CLI::App& program, int& exit_code) {
  auto flags = std::make_shared<TrajectoryFlags>();
  auto* command = program.add_subcommand(
      "trajectory",
      "how benchmarks move under their roofs along threads or a size, and the largest cause where "
      "they do not scale");
  command
      ->add_option("NAME", flags->what,
                   "benchmarks, which are measured now, or run files of one machine")
      ->required();
  // Its place in the command line is behind --; what stands there reaches NAME, which takes all.
  command->add_option("ARGUMENTS", flags->arguments,
                      "after --: what dlroof_bench is given, such as --benchmark_repetitions=20");
  AddPointOptions(*command, *flags);
  command
      ->add_option("-o,--output", flags->outputs,
                   "also write x.svg, x.pdf, x.png (figure), x.html (page) or x.json (records and "
                   "machines)")
      ->allow_extra_args(false);
  command->add_option("--machine", flags->machine,
                      "machine file of the roofs (default: cached, or measured now)");
  command->add_option("--bench", flags->bench, "the program (dlroof_bench beside this)");
  command->callback([flags, &exit_code] { exit_code = ShowTrajectories(*flags); });
}

[[maybe_unused]] const bool trajectory_registered =
    RegisterCommand("trajectory", AddTrajectoryCommand);

}  // namespace
}  // namespace dlroof::commands
