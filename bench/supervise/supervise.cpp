#include "bench/supervise/supervise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <ostream>
#include <random>

#include "bench/runner/run_context.h"
#include "ceilings/machine/rate.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "reporters/record/record.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::supervise {
namespace {

using nlohmann::json;

constexpr const char* kLibraryFlag = "dlroof_onednn";

std::uint64_t DrawSeed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

// Pairs the benchmarks of BASE and NEW by name. Counts names without a partner in `unpaired`.
std::vector<ListedPair> Paired(const std::vector<std::string>& base,
                               const std::vector<std::string>& contender,
                               const compare::NameMap& names, std::size_t& unpaired) {
  std::map<std::string, std::string> base_of;  // NEW's bare name -> BASE's name as listed
  for (const auto& listed : base) {
    const auto bare = record::BareName(listed);
    const auto mapped = names.find(bare);
    if (mapped != names.end() || base_of.count(bare) == 0)
      base_of[mapped == names.end() ? bare : mapped->second] = listed;
  }
  std::vector<ListedPair> pairs;
  for (const auto& listed : contender)
    if (const auto found = base_of.find(record::BareName(listed)); found != base_of.end())
      pairs.push_back({found->second, listed});
  unpaired = base.size() + contender.size() - 2 * pairs.size();
  return pairs;
}

// Returns as texts the settings that influence results, except programs and arguments.
std::vector<std::string> SettingsText(const RunRequest& request) {
  std::vector<std::string> texts = {request.random_order ? "random order" : "order of the file"};
  if (request.processes > 1) texts.push_back(fmt::format("{} processes", request.processes));
  if (request.programs.size() < 2) return texts;
  texts.push_back(fmt::format("minimum effect {}", request.min_effect));
  for (const auto& library : request.libraries)
    texts.push_back(fmt::format("{} ({})", library, BuildOf(library)));
  for (const auto& [base, contender] : request.names) texts.push_back(base + " -> " + contender);
  return texts;
}

// Returns whether the benchmark may run on the CPU: its name's device is "cpu" or missing.
bool OnCpu(const std::string& listed) {
  record::Record record{.name = listed};
  record::SplitName(record);
  return record.device.empty() || record.device == "cpu";
}

std::string Joined(const std::vector<std::string>& texts) {
  return fmt::format("'{}'", fmt::join(texts, "', '"));
}

std::string JournalPath(const RunRequest& request) { return request.outputs.back() + ".journal"; }

std::string CommandOf(const RunRequest& request) {
  std::vector<std::string> command = {"dlroof", "run"};
  const auto add = [&](const char* flag, const std::vector<std::string>& values) {
    command.emplace_back(flag);
    command.insert(command.end(), values.begin(), values.end());
  };
  if (!request.libraries.empty()) {
    add("--bench", {request.programs.front()});
    add("--ab-library", request.libraries);
  } else {
    add(request.programs.size() == 1 ? "--bench" : "--ab", request.programs);
  }
  if (request.processes > 1) add("--processes", {std::to_string(request.processes)});
  add("--", request.arguments);
  return text::CommandLine(command);
}

}  // namespace

bool IsFinished(const RunRequest& request) {
  const auto& output = request.outputs.back();
  if (std::filesystem::exists(JournalPath(request)) || !std::filesystem::exists(output))
    return false;
  std::ostringstream warnings;
  const auto context = record::Member(record::ReadRunFile(output, warnings).context, "dlroof");
  return context.contains("supervised") && record::Text(context, "command") == CommandOf(request);
}

OpenRun::OpenRun(const RunRequest& request, std::ostream& log)
    : request_(request),
      log_(log),
      begin_seconds_(cpu::WallSeconds()),
      journal_(JournalPath(request)) {
  const auto& found = journal_.found();
  if (!found.header) {
    try {
      Begin();
      FindCeilings();
    } catch (...) {
      journal_.Remove();
      throw;
    }
  } else {
    header_ = *found.header;
    CheckResumed();
    machines_ = found.machines;
    machines_in_journal_ = !machines_.is_null();
    log_ << fmt::format("{}: resuming after {} results\n", journal_.path(), found.entries.size());
    FindCeilings();
  }
}

void OpenRun::Begin() {
  CheckArguments(request_.arguments);
  if (!request_.libraries.empty() && FlagValue(request_.arguments, kLibraryFlag))
    throw BadInput("--{}: --ab-library names the libraries", kLibraryFlag);
  header_.programs = request_.programs;
  for (const auto& program : request_.programs) header_.builds.push_back(BuildOf(program));
  header_.arguments = request_.arguments;
  header_.settings = SettingsText(request_);
  header_.seed = request_.seed.value_or(DrawSeed());
  header_.id = fmt::format("{:016x}", DrawSeed());
  const auto last = request_.programs.size() - 1;
  const auto contender = ListBenchmarks(request_.programs.back(), ArgumentsOf(last), folder_);
  if (request_.programs.size() == 1) {
    for (const auto& listed : contender.names) header_.benchmarks.push_back({std::nullopt, listed});
    header_.plain = {contender.plain};
  } else {
    std::size_t unpaired = 0;
    const auto base = ListBenchmarks(request_.programs.front(), ArgumentsOf(0), folder_);
    header_.plain = {base.plain, contender.plain};
    static bool hinted = false;  // bisect and gate begin several runs
    if (!hinted && (base.plain || contender.plain)) {
      hinted = true;
      log_ << fmt::format(
          "{}: plain Google Benchmark, so the programs' processes take turns; if both were linked "
          "with dlroof_benchmark_main, they would alternate every 20 ms\n",
          base.plain && contender.plain ? "both programs" : request_.programs[base.plain ? 0 : 1]);
    }
    header_.benchmarks = Paired(base.names, contender.names, request_.names, unpaired);
    if (header_.benchmarks.empty())
      throw BadInput("{} and {} have no benchmark in common", request_.programs.front(),
                     request_.programs.back());
    if (unpaired > 0)
      log_ << fmt::format("skipping {} benchmarks that have no partner in the other program\n",
                          unpaired);
  }
  journal_.Append(JournalLine(header_));
}

void OpenRun::CheckResumed() const {
  const auto& path = journal_.path();
  if (!request_.resume)
    throw BadInput(path + ": an unfinished run; continue it with --resume, or remove this file");
  const auto refuse = [&](const char* what, const std::vector<std::string>& then,
                          const std::vector<std::string>& now) {
    if (then != now)
      throw BadInput("{}: cannot be continued: it was begun with other {}: {}; now {}", path, what,
                     Joined(then), Joined(now));
  };
  refuse("programs", header_.programs, request_.programs);
  refuse("arguments", header_.arguments, request_.arguments);
  refuse("settings", header_.settings, SettingsText(request_));
  std::vector<std::string> builds;
  for (const auto& program : header_.programs) builds.push_back(BuildOf(program));
  refuse("builds of its programs", header_.builds, builds);
}

// Sets the CPU's ceilings for all processes: from the journal, the cache or a new measurement.
void OpenRun::FindCeilings() {
  if (FlagValue(request_.arguments, "dlroof_machine") ||
      std::ranges::count(header_.plain, true) == std::ssize(header_.programs))
    return;
  const auto& pairs = header_.benchmarks;
  if (std::ranges::none_of(pairs, [](const auto& pair) { return OnCpu(pair.contender); })) return;
  json machine;
  if (machines_.is_array())
    for (const auto& known : machines_)
      if (known.value("device", "") == "cpu") machine = known;
  if (machine.is_null()) {
    runner::RefusePinning();
    std::vector<std::string> listed;
    for (const auto& pair : pairs) listed.push_back(pair.contender);
    machine_file::MachineOptions options;
    options.threads =
        ThreadsOf(listed, request_.arguments, static_cast<int>(cpu::ThisCpu().allowed.size()));
    options.needs.emplace();
    options.live_check = FlagValue(request_.arguments, "dlroof_live_check") != "false";
    machine::ProgressPrinter progress(log_, machine::StderrIsTerminal());
    options.progress = std::ref(progress);
    machine = machine::ToJson(machine_file::CachedOrMeasuredCpu(options, log_));
  }
  machine_file_ = folder_ / "machine.json";
  WriteFile(*machine_file_, JsonText(machine));
}

std::vector<std::string> OpenRun::ArgumentsOf(std::size_t side) const {
  auto arguments = request_.arguments;
  if (!request_.libraries.empty())
    arguments.push_back(fmt::format("--{}={}", kLibraryFlag, request_.libraries.at(side)));
  return arguments;
}

std::vector<std::string> OpenRun::Command(std::size_t side, const std::string& listed,
                                          const ProcessPaths& paths) const {
  return CommandFor(header_.programs.at(side), ArgumentsOf(side), listed, machine_file_, paths,
                    IsPlain(side));
}

std::ostream& OpenRun::tables() const {
  return request_.tables != nullptr ? *request_.tables : std::cout;
}

std::optional<Outcome> OpenRun::RunStandalone(std::size_t side, const std::string& listed,
                                              const std::vector<std::string>& more) {
  const auto paths = PathsIn(folder_, "standalone");
  std::filesystem::remove(paths.run_file);
  auto command = Command(side, listed, paths);
  command.insert(command.end(), more.begin(), more.end());
  WatchedProcess process(command, {paths.out, paths.err, false});
  const auto end = process.WaitForEnd(request_.timeout_seconds);
  if (!end && StoppedByInterrupt()) return std::nullopt;
  return Finished(end, paths);
}

Outcome OpenRun::Finished(const std::optional<ProcessEnd>& end, const ProcessPaths& paths) {
  return OutcomeOf(end, request_.timeout_seconds, paths, machines_);
}

void OpenRun::Append(const JournalEntry& entry) {
  std::string lines;
  if (!machines_in_journal_ && !machines_.is_null()) lines = JournalLine(machines_);
  machines_in_journal_ = !machines_.is_null();
  journal_.Append(lines + JournalLine(entry));
}

double OpenRun::SecondsLeft() const {
  if (!request_.budget_seconds) return HUGE_VAL;
  return std::max(0.0, *request_.budget_seconds - (cpu::WallSeconds() - begin_seconds_));
}

bool OpenRun::Over() const { return StoppedByInterrupt() || SecondsLeft() <= 0; }

json OpenRun::About() const {
  return {{"command", CommandOf(request_)},
          {"supervised", {{"settings", header_.settings}, {"seed", header_.seed}}}};
}

}  // namespace dlroof::supervise
