#include "bench/supervise/supervised_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <limits>
#include <ostream>
#include <set>
#include <sstream>
#include <utility>

#include "bench/runner/explain_pass.h"
#include "bench/workload/workload.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/program.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::supervise {
namespace {

using nlohmann::json;

constexpr double kListSeconds = 120;
constexpr int kPipeOfProgress = 4;  // the descriptor that WatchedProcess::ReadLine reads
constexpr std::size_t kTailLines = 3, kTailBytes = 400;
constexpr double kWindowSeconds = 0.02, kBriefWindowSeconds = 0.005;
// Default number of repetitions of a plain program [1], as in dlroof_bench.
constexpr int kPlainRepetitions = 9;
constexpr const char* kNoLiveCheck = "--dlroof_live_check=false";  // a flag of dlroof programs
// Maximum number of repetitions [1] until Google Benchmark has found the number of iterations.
constexpr int kMaxGuesses = 40;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(line);
  return lines;
}

std::string WithTail(const std::string& what, const std::string& err) {
  auto tail = LastLines(ReadFileIfAny(err), kTailLines, " | ");
  if (tail.size() > kTailBytes) tail.erase(0, tail.size() - kTailBytes);
  tail = text::Printable(tail);
  return tail.empty() ? what : fmt::format("{}; it said last: {}", what, tail);
}

bool IsFlag(const std::string& argument, const std::string& flag) {
  return argument == flag || argument.compare(0, flag.size() + 1, flag + "=") == 0;
}

}  // namespace

std::string LastLines(const std::string& text, std::size_t count, const char* separator) {
  auto lines = Lines(text);
  lines.erase(lines.begin(), lines.end() - static_cast<long>(std::min(count, lines.size())));
  return fmt::format("{}", fmt::join(lines, separator));
}

void CheckArguments(const std::vector<std::string>& arguments) {
  for (const auto& argument : arguments)
    for (const char* flag : {"--benchmark_out", "--benchmark_out_format", "--benchmark_format",
                             "--benchmark_list_tests", "--dlroof_html", "--dlroof_turns"})
      if (IsFlag(argument, flag))
        throw BadInput("{}: dlroof run sets this flag itself; -o FILE names the run file",
                       argument);
}

std::optional<std::string> FlagValue(const std::vector<std::string>& arguments,
                                     const std::string& name) {
  std::optional<std::string> value;
  for (const auto& argument : arguments)
    if (argument.compare(0, name.size() + 3, "--" + name + "=") == 0)
      value = argument.substr(name.size() + 3);
  return value;
}

std::string BuildOf(const std::string& program) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(program, error);
  if (error) throw BadInput("{}: {}, expected a dlroof_bench", program, error.message());
  const auto written = std::filesystem::last_write_time(program, error);
  return fmt::format("{} byte of {}", bytes, written.time_since_epoch().count());
}

ListedBenchmarks ListBenchmarks(const std::string& program,
                                const std::vector<std::string>& arguments,
                                const TemporaryFolder& folder) {
  const auto paths = PathsIn(folder, "list");
  const auto succeeds = [&](bool plain) {
    std::vector<std::string> command = {program};
    for (const auto& argument : arguments)
      if (!IsFlag(argument, "--dlroof_live_check")) command.push_back(argument);
    if (!plain) command.emplace_back(kNoLiveCheck);
    command.emplace_back("--benchmark_list_tests=true");
    WatchedProcess process(command, {paths.out, paths.err, false});
    auto end = process.WaitForEnd(kListSeconds);
    if (!end)
      throw BadInput("{}: did not list its benchmarks within {:g} s", program, kListSeconds);
    return std::pair(end->signal == 0 && end->exit_code == 0, *end);
  };
  ListedBenchmarks listed;
  if (const auto first = succeeds(false); !first.first) {
    const auto reason =
        WithTail(fmt::format("{}: cannot list its benchmarks: {}", program, Describe(first.second)),
                 paths.err);
    // A program without dlroof rejects kNoLiveCheck, so it is asked again without this flag.
    const bool asks_dlroof = std::ranges::any_of(
        arguments, [](const std::string& argument) { return argument.starts_with("--dlroof_"); });
    if (asks_dlroof || !succeeds(true).first) throw BadInput(reason);
    listed.plain = true;
  }
  std::set<std::string> seen;
  for (auto& name : Lines(ReadFileIfAny(paths.out)))
    if (seen.insert(name).second) listed.names.push_back(std::move(name));
  if (listed.names.empty()) throw BadInput(program + ": the filter selects no benchmark");
  return listed;
}

std::string BenchProgram(const std::optional<std::string>& specified) {
  return specified.value_or((ProgramPath().parent_path() / "dlroof_bench").string());
}

std::string ExactFilter(const std::string& listed) {
  std::string filter = "^";
  for (const char c : listed) {
    if (std::string_view("\\^$.[]|()?*+{}").find(c) != std::string_view::npos) filter += '\\';
    filter += c;
  }
  return filter + '$';
}

std::vector<int> ThreadsOf(const std::vector<std::string>& listed,
                           const std::vector<std::string>& arguments, int allowed) {
  std::set<int> counts = {1};
  const auto add = [&](std::string_view digits) {
    const int count = ParseNumber<int>(digits).value_or(0);
    if (count > 0 && count <= allowed) counts.insert(count);
  };
  add(FlagValue(arguments, "dlroof_threads").value_or(std::to_string(allowed)));
  for (const auto& name : listed) {
    constexpr std::string_view kOption = "/threads";
    const auto at = name.rfind(kOption);
    if (at == std::string::npos) continue;
    const auto begin = at + kOption.size();
    add(std::string_view(name).substr(begin, name.find('/', begin) - begin));
  }
  return {counts.begin(), counts.end()};
}

ProcessPaths PathsIn(const TemporaryFolder& folder, const std::string& process) {
  return {folder / (process + ".json"), folder / (process + ".out"), folder / (process + ".err")};
}

std::vector<std::string> CommandFor(const std::string& program,
                                    const std::vector<std::string>& arguments,
                                    const std::string& listed,
                                    const std::optional<std::string>& machine_file,
                                    const ProcessPaths& paths, bool plain) {
  std::vector<std::string> command = {program};
  for (const auto& argument : arguments)
    if (!IsFlag(argument, "--dlroof_live_check") && !IsFlag(argument, "--benchmark_filter"))
      command.push_back(argument);
  command.push_back("--benchmark_filter=" + ExactFilter(listed));
  command.push_back("--benchmark_out=" + paths.run_file);
  if (plain) {
    if (!FlagValue(arguments, "benchmark_repetitions"))
      command.push_back(fmt::format("--benchmark_repetitions={}", kPlainRepetitions));
    return command;
  }
  command.emplace_back(kNoLiveCheck);
  if (machine_file) command.push_back("--dlroof_machine=" + *machine_file);
  return command;
}

Outcome OutcomeOf(const std::optional<ProcessEnd>& end, double timeout_seconds,
                  const ProcessPaths& paths, json& machines) {
  const auto failed = [&](const std::string& what) {
    return Outcome{Reason{WithTail(what, paths.err)}, {}};
  };
  if (!end)
    return failed(fmt::format("still running after {:g} s, so it was ended", timeout_seconds));
  // With exit code 1 the run file has a record that says why the benchmark failed.
  if (end->signal != 0 || end->exit_code > 1) return failed("ended by " + Describe(*end));
  const auto text = ReadFileIfAny(paths.run_file);
  RefuseDeepJson(text, paths.run_file);
  json run = json::parse(text, nullptr, false);
  if (!run.is_object() || !(run.contains("records") || run.contains("benchmarks")))
    return failed("left no run file, " + Describe(*end));
  if (machines.is_null() && run.contains("machines") && run["machines"].is_array() &&
      !run["machines"].empty())
    machines = run["machines"];
  run.erase("machines");
  run.erase("models");
  return {std::nullopt, std::move(run)};
}

std::optional<record::RunFile> MeasureExplained(const NamedRunRequest& request, std::ostream& log) {
  StopOnInterrupt();
  const TemporaryFolder folder;
  std::string names, filter;
  for (const auto& name : request.names) {
    if (const auto reason = workload::InvalidReason(name))
      throw BadInput("{}: {}: {}", request.command, name, reason->what());
    names += name + "\n";
    filter += (filter.empty() ? "" : "|") + ExactFilter(name);
  }
  WriteFile(folder / "names.txt", names);
  const auto output = request.output.value_or(folder / "run.json");
  std::vector<std::string> command = {BenchProgram(request.bench)};
  command.insert(command.end(), request.arguments.begin(), request.arguments.end());
  command.insert(command.end(), {"--dlroof_explain", "--dlroof_suite=" + folder / "names.txt",
                                 "--benchmark_filter=" + filter, "--benchmark_out=" + output,
                                 fmt::format("--dlroof_progress={}", kPipeOfProgress)});
  if (request.machine) command.push_back("--dlroof_machine=" + *request.machine);
  log << fmt::format("measuring {} benchmark{}\n", request.names.size(),
                     request.names.size() == 1 ? "" : "s");
  const bool terminal = &log == &std::cerr && machine::StderrIsTerminal();
  machine::ProgressPrinter printer(log, terminal);
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  WatchedProcess process(command, {.out = folder / "out", .err = folder / "err", .turns = true});
  while (const auto line = process.ReadLine(kNoLimit))
    if (const auto progress = runner::ParseProgressLine(*line)) printer(*progress);
  const auto end = process.WaitForEnd(kNoLimit);
  if (!end) {
    if (terminal) printer({});  // clears the line
    return std::nullopt;
  }
  if (end->signal != 0 || end->exit_code > 1)
    throw BadInput("{}: dlroof_bench ended with {}: {}", request.command, Describe(*end),
                   ReadFileIfAny(folder / "err"));
  return record::ReadRunFile(output, log);
}

std::vector<std::string> WindowFlags(bool brief) {
  return {fmt::format("--benchmark_repetitions={}", kWindows + kSettlingRepetitions),
          fmt::format("--benchmark_min_time={}", brief ? kBriefWindowSeconds : kWindowSeconds)};
}

InterleavedProcess::InterleavedProcess(std::vector<std::string> command, ProcessPaths paths,
                                       double timeout_seconds, const Variables& variables)
    : paths_(std::move(paths)), timeout_seconds_(timeout_seconds) {
  std::filesystem::remove(paths_.run_file);
  std::ranges::copy(WindowFlags(), std::back_inserter(command));
  command.emplace_back("--dlroof_turns=3,4");
  process_ = std::make_unique<WatchedProcess>(command, ProcessFiles{paths_.out, paths_.err, true},
                                              variables);
}

void InterleavedProcess::Ready() {
  answers_ = process_->ReadLine(timeout_seconds_) == "ready";
  if (answers_) process_->Stop();
}

void InterleavedProcess::Settle() {
  for (int i = 0; i < kMaxGuesses; ++i) {
    const auto before = iterations_;
    Turn();
    if (!answers_ || iterations_ == before) return;
  }
  answers_ = false;
}

void InterleavedProcess::Turn() {
  if (!answers_) return;
  process_->Continue();
  process_->Send('t');
  const auto iterations = process_->ReadLine(timeout_seconds_);
  process_->Stop();
  answers_ = iterations.has_value();
  iterations_ = iterations.value_or("");
}

std::optional<ProcessEnd> InterleavedProcess::End() {
  process_->Continue();
  // A process that does not answer gets only 1 s: its timeout has passed, or it is ending.
  return process_->WaitForEnd(answers_ ? timeout_seconds_ : 1);
}

}  // namespace dlroof::supervise
