#include "bench/supervise/supervise.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <ostream>
#include <random>

#include "bench/runner/process_limits.h"
#include "bench/runner/run_context.h"
#include "bench/supervise/journal.h"
#include "ceilings/machine/rate.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "reporters/document/tables.h"
#include "reporters/record/record.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::supervise {
namespace {

using nlohmann::json;

constexpr const char* kLibraryFlag = "dlroof_onednn";

// Returns whether so many repetitions are noisy that the time is only an estimate.
bool WasNoisy(const Part& part) {
  return !part.failure && part.record.status == record::Status::kOk &&
         !part.record.repetitions.empty() && !record::Summarize(part.record.repetitions);
}

std::size_t CleanRepetitions(const Part& part) {
  return static_cast<std::size_t>(std::ranges::count_if(
      part.record.repetitions,
      [](const record::Repetition& repetition) { return !repetition.noisy; }));
}

class SupervisedRun {
 public:
  SupervisedRun(OpenRun& run, std::ostream& log) : run_(run), log_(log) {
    for (const auto& entry : run.finished()) Add(entry);
  }

  int Run() {
    for (int process = 0; process < run_.request().processes; ++process)
      if (!Pass(process)) break;
    return Finish();
  }

 private:
  // Measures all benchmarks that no process with this number has measured. Returns false if the run
  // has to end.
  bool Pass(int process) {
    const auto& benchmarks = run_.header().benchmarks;
    std::vector<std::size_t> order(benchmarks.size());
    std::iota(order.begin(), order.end(), 0);
    if (run_.request().random_order)
      order = ShuffledOrder(order.size(), run_.header().seed + static_cast<std::uint64_t>(process));
    for (const auto position : order) {
      const auto& benchmark = benchmarks[position];
      if (!IsLeft(benchmark.contender, process)) continue;
      if (run_.Over() || !MeasureAndAdd(benchmark, process)) return false;
    }
    return true;
  }

  // A benchmark that failed in one process is not measured in another.
  bool IsLeft(const std::string& listed, int process) const {
    const auto found = parts_.find(listed);
    if (found == parts_.end()) return true;
    return found->second.back().block.value_or(0) < process &&
           RecordOf(listed, found->second).status == record::Status::kOk;
  }

  bool MeasureAndAdd(const ListedPair& benchmark, int process) {
    const auto entry = Measure(benchmark, process);
    if (!entry) return false;
    run_.Append(*entry);
    Add(*entry);
    PrintProgress(benchmark.contender);
    return true;
  }

  void Add(const JournalEntry& entry) {
    const auto& listed = entry.benchmark.contender;
    const bool several = run_.request().processes > 1;
    Part part = PartFrom(listed, entry.outcomes.front(),
                         several ? std::optional(entry.block) : std::nullopt, run_.IsPlain(0));
    part.settling = 0;
    parts_[listed].push_back(std::move(part));
    seconds_.push_back(entry.seconds);
  }

  // Measures the benchmark in a process; if it is the only one, again while it is noisy. Returns
  // the attempt with the most clean repetitions, or nothing after an interrupt.
  std::optional<JournalEntry> Measure(const ListedPair& benchmark, int process) {
    JournalEntry best{benchmark, process, 0, {}};
    std::size_t most = 0;
    const int retries = run_.request().processes > 1 ? 0 : run_.request().retries;
    double pause = run_.request().cooldown_seconds;
    const double begin = cpu::WallSeconds();
    for (int attempt = 0;; ++attempt, pause *= 2) {
      auto outcome = run_.RunStandalone(0, benchmark.contender, {});
      if (!outcome) return std::nullopt;
      const Part part = PartFrom(benchmark.contender, *outcome, std::nullopt, run_.IsPlain(0));
      if (attempt == 0 || CleanRepetitions(part) > most) best.outcomes = {std::move(*outcome)};
      most = std::max(most, CleanRepetitions(part));
      if (!WasNoisy(part) || attempt == retries || run_.Over()) break;
      log_ << fmt::format("{}: noisy; measuring it again in {:g} s\n", benchmark.contender, pause);
      SleepSeconds(pause);
    }
    best.seconds = cpu::WallSeconds() - begin;
    return best;
  }

  void PrintProgress(const std::string& listed) const {
    const record::Record record = RecordOf(listed, {parts_.at(listed).back()});
    const auto timing =
        record.status == record::Status::kOk ? record::TimeOf(record.repetitions) : std::nullopt;
    const std::size_t all =
        run_.header().benchmarks.size() * static_cast<std::size_t>(run_.request().processes);
    std::size_t done = 0;
    for (const auto& [name, parts] : parts_) done += parts.size();
    const auto left = all - std::min(all, done);
    std::string result = timing ? fmt::format("{}{}", roofline::MarkOf(timing->noisy),
                                              text::WithPrefix(timing->median, "s"))
                                : std::string(record::Key(record.status));
    if (!timing && !record.reason.empty()) result.append(": ").append(record.reason);
    log_ << fmt::format(
        "[{:{}}/{}] {}  {}{}\n", done, std::to_string(all).size(), all,
        text::Printable(record::BareName(listed)), text::Printable(result),
        left > 0 ? "; " + LeftText(seconds_, static_cast<double>(left)) + " left" : std::string());
  }

  int Finish() {
    std::vector<Supervised> done;
    std::size_t missing = 0;
    const int last = run_.request().processes - 1;
    for (const auto& benchmark : run_.header().benchmarks) {
      if (const auto found = parts_.find(benchmark.contender); found != parts_.end())
        done.push_back({benchmark.contender, found->second});
      missing += IsLeft(benchmark.contender, last) ? 1 : 0;
    }
    const auto merged = MergedRun(done, run_.machines(), run_.About());
    if (!done.empty()) {
      WriteFile(run_.request().outputs.front(), JsonText(ToJson(merged), 1) + "\n", OnDisk::kNow);
      document::Write(document::RunDocument(merged.run), text::TerminalColumns(), run_.tables());
      run_.tables() << std::flush;
    }
    if (missing == 0)
      run_.RemoveJournal();
    else if (run_.request().tables == nullptr)
      log_ << fmt::format(
          "{} of {} benchmarks are left; run the same command with --resume to continue\n", missing,
          run_.header().benchmarks.size());
    if (StoppedByInterrupt()) return 130;
    return std::ranges::any_of(
               done,
               [](const Supervised& benchmark) {
                 const auto status = RecordOf(benchmark.listed, benchmark.parts).status;
                 return status == record::Status::kFailed || status == record::Status::kWrong;
               })
               ? 1
               : 0;
  }

  OpenRun& run_;
  std::ostream& log_;
  std::map<std::string, std::vector<Part>> parts_;  // by process
  std::vector<double> seconds_;
};

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

// Returns, as text, the settings beside programs and arguments that influence results.
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

// Returns whether the benchmark may run on the CPU: its name has the device "cpu" or none.
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
  return runner::CommandLine(command);
}

}  // namespace

int Supervise(const RunRequest& request, std::ostream& log) {
  OpenRun run(request, log);
  return SupervisedRun(run, log).Run();
}

bool IsFinished(const RunRequest& request) {
  const auto& output = request.outputs.back();
  if (std::filesystem::exists(JournalPath(request)) || !std::filesystem::exists(output))
    return false;
  std::ostringstream warnings;
  const auto context =
      record::ReadRunFile(output, warnings).context.value("dlroof", json::object());
  return context.contains("supervised") && context.value("command", "") == CommandOf(request);
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
      throw BadInput("{}: its run had other {}: {}; now {}", path, what, Joined(then), Joined(now));
  };
  refuse("programs", header_.programs, request_.programs);
  refuse("arguments", header_.arguments, request_.arguments);
  refuse("settings", header_.settings, SettingsText(request_));
  std::vector<std::string> builds;
  for (const auto& program : header_.programs) builds.push_back(BuildOf(program));
  refuse("builds of its programs", header_.builds, builds);
}

// Measures the CPU's ceilings once for all processes, or reads them from the journal or the cache.
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

bool OpenRun::Over() const {
  return StoppedByInterrupt() || (request_.budget_seconds &&
                                  cpu::WallSeconds() - begin_seconds_ >= *request_.budget_seconds);
}

json OpenRun::About() const {
  return {{"command", CommandOf(request_)},
          {"supervised", {{"settings", header_.settings}, {"seed", header_.seed}}}};
}

}  // namespace dlroof::supervise
