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

#include "bench/runner/run_context.h"
#include "bench/supervise/journal.h"
#include "ceilings/machine/rate.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "reporters/record/record.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/terminal/tables.h"
#include "reporters/text/text.h"

namespace dlroof::supervise {
namespace {

// A benchmark counts as noisy when its time is only an estimate.
bool WasNoisy(const Part& part) {
  return part.failed.empty() && part.record.status == record::Status::kOk &&
         !part.record.repetitions.empty() && !record::Summarize(part.record.repetitions);
}

std::size_t CleanOf(const Part& part) {
  return static_cast<std::size_t>(std::ranges::count_if(
      part.record.repetitions,
      [](const record::Repetition& repetition) { return !repetition.noisy; }));
}

class Supervision {
 public:
  Supervision(OpenRun& run, std::ostream& log) : run_(run), log_(log) {
    for (const auto& entry : run.finished()) Keep(entry);
  }

  int Run() {
    const auto& benchmarks = run_.header().benchmarks;
    std::vector<std::size_t> order(benchmarks.size());
    std::iota(order.begin(), order.end(), 0);
    if (run_.request().random_order) order = ShuffledOrder(order.size(), run_.header().seed);
    for (std::size_t turn = 0; turn < order.size(); ++turn) {
      const auto i = order[turn];
      if (parts_.count(benchmarks[i].contender) > 0) continue;
      if (!run_.Over() && run_.request().before)
        run_.request().before(turn, benchmarks[i].contender);
      if (run_.Over()) break;
      const auto entry = RunOne(benchmarks[i]);
      if (!entry) break;
      run_.Append(*entry);
      Keep(*entry);
      Say(benchmarks[i].contender);
    }
    return Finish();
  }

 private:
  void Keep(const JournalEntry& entry) {
    const auto& listed = entry.benchmark.contender;
    parts_.insert_or_assign(listed, PartFrom(listed, entry.outcomes.front(), std::nullopt));
    seconds_.push_back(entry.seconds);
  }

  // Absent: interrupted. The attempt with most clean repetitions is kept.
  std::optional<JournalEntry> RunOne(const ListedPair& benchmark) {
    JournalEntry best{benchmark, 0, 0, {}};
    std::size_t most = 0;
    double pause = run_.request().cooldown_seconds;
    const double begin = cpu::WallSeconds();
    for (int attempt = 0;; ++attempt, pause *= 2) {
      auto outcome = run_.RunStandalone(0, benchmark.contender, {});
      if (!outcome) return std::nullopt;
      const Part part = PartFrom(benchmark.contender, *outcome, std::nullopt);
      if (attempt == 0 || CleanOf(part) > most) best.outcomes = {std::move(*outcome)};
      most = std::max(most, CleanOf(part));
      if (!WasNoisy(part) || attempt == run_.request().retries || run_.Over()) break;
      log_ << fmt::format("{}: noisy; once more in {:g} s\n", benchmark.contender, pause);
      SleepSeconds(pause);
    }
    best.seconds = cpu::WallSeconds() - begin;
    return best;
  }

  void Say(const std::string& listed) const {
    const record::Record record = RecordOf(listed, {parts_.at(listed)});
    const auto timing =
        record.status == record::Status::kOk ? record::TimeOf(record.repetitions) : std::nullopt;
    const auto left = run_.header().benchmarks.size() - parts_.size();
    std::string said = timing ? fmt::format("{}{}", roofline::MarkOf(timing->noisy),
                                            text::WithPrefix(timing->median, "s"))
                              : std::string(record::Key(record.status));
    if (!timing && !record.reason.empty()) said.append(": ").append(record.reason);
    log_ << fmt::format(
        "[{:{}}/{}] {}  {}{}\n", parts_.size(),
        std::to_string(run_.header().benchmarks.size()).size(), run_.header().benchmarks.size(),
        text::Printable(record::BareName(listed)), text::Printable(said),
        left > 0 ? "; " + LeftText(seconds_, static_cast<double>(left)) + " left" : std::string());
  }

  int Finish() {
    std::vector<Supervised> done;
    for (const auto& benchmark : run_.header().benchmarks)
      if (const auto found = parts_.find(benchmark.contender); found != parts_.end())
        done.push_back({benchmark.contender, {found->second}});
    const auto missing = run_.header().benchmarks.size() - done.size();
    const auto whole = MergedRun(done, run_.machines(), run_.About());
    if (!done.empty()) {
      WriteFile(run_.request().outputs.front(), ToJson(whole).dump(1) + "\n", OnDisk::kNow);
      terminal::WriteTables(whole.run, text::TerminalColumns(), std::cout);
      std::cout << std::flush;
    }
    if (missing == 0)
      run_.Remove();
    else
      log_ << fmt::format("{} of {} benchmarks are left; the same command with --resume goes on\n",
                          missing, run_.header().benchmarks.size());
    if (StoppedByInterrupt()) return 130;
    return std::ranges::any_of(done,
                               [](const Supervised& one) {
                                 const auto status = RecordOf(one.listed, one.parts).status;
                                 return status == record::Status::kFailed ||
                                        status == record::Status::kWrong;
                               })
               ? 1
               : 0;
  }

  OpenRun& run_;
  std::ostream& log_;
  std::map<std::string, Part> parts_;
  std::vector<double> seconds_;
};

}  // namespace

int Supervise(const RunRequest& request, std::ostream& log) {
  OpenRun run(request, log);
  return Supervision(run, log).Run();
}

namespace {

using nlohmann::json;

std::uint64_t Drawn() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

// BASE's name for each of NEW's; those that only one side has are counted in `alone`.
std::vector<ListedPair> Paired(const std::vector<std::string>& base,
                               const std::vector<std::string>& contender,
                               const compare::NameMap& names, std::size_t& alone) {
  std::map<std::string, std::string> base_of;  // NEW's bare name -> BASE's as listed
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
  alone = base.size() + contender.size() - 2 * pairs.size();
  return pairs;
}

// Returns the causes of results beside programs and arguments.
std::vector<std::string> SettingsText(const RunRequest& request) {
  std::vector<std::string> texts = {request.random_order ? "random order" : "order of the file"};
  if (request.programs.size() < 2) return texts;
  texts.push_back(fmt::format("minimum effect {}", request.min_effect));
  for (const auto& [base, contender] : request.names) texts.push_back(base + " -> " + contender);
  return texts;
}

// A name that does not say its device may be a CPU's.
bool OnCpu(const std::string& listed) {
  record::Record record{.name = listed};
  record::SplitName(record);
  return record.device.empty() || record.device == "cpu";
}

std::string Joined(const std::vector<std::string>& texts) {
  return fmt::format("'{}'", fmt::join(texts, "', '"));
}

std::string JournalPath(const RunRequest& request) { return request.outputs.back() + ".journal"; }

std::string CommandOf(const std::vector<std::string>& programs,
                      const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"dlroof", "run", programs.size() == 1 ? "--bench" : "--ab"};
  command.insert(command.end(), programs.begin(), programs.end());
  command.emplace_back("--");
  command.insert(command.end(), arguments.begin(), arguments.end());
  return runner::CommandLine(command);
}

}  // namespace

bool IsFinished(const RunRequest& request) {
  const auto& output = request.outputs.back();
  if (std::filesystem::exists(JournalPath(request)) || !std::filesystem::exists(output))
    return false;
  std::ostringstream warnings;
  const auto own = record::ReadRunFile(output, warnings).context.value("dlroof", json::object());
  return own.contains("supervised") &&
         own.value("command", "") == CommandOf(request.programs, request.arguments);
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
    machines_kept_ = !machines_.is_null();
    log_ << fmt::format("{}: goes on after {} results\n", journal_.path(), found.entries.size());
    FindCeilings();
  }
}

void OpenRun::Begin() {
  CheckArguments(request_.arguments);
  header_.programs = request_.programs;
  for (const auto& program : request_.programs) header_.builds.push_back(BuildOf(program));
  header_.arguments = request_.arguments;
  header_.settings = SettingsText(request_);
  header_.seed = request_.seed.value_or(Drawn());
  header_.id = fmt::format("{:016x}", Drawn());
  const auto contender = ListBenchmarks(request_.programs.back(), request_.arguments, folder_);
  if (request_.programs.size() == 1) {
    for (const auto& listed : contender) header_.benchmarks.push_back({"", listed});
  } else {
    std::size_t alone = 0;
    header_.benchmarks =
        Paired(ListBenchmarks(request_.programs.front(), request_.arguments, folder_), contender,
               request_.names, alone);
    if (header_.benchmarks.empty())
      throw BadInput("{} and {}: no benchmark in common", request_.programs.front(),
                     request_.programs.back());
    if (alone > 0)
      log_ << fmt::format(
          "{} benchmarks that only one side has, or that are not paired, are left out\n", alone);
  }
  journal_.Append(JournalLine(header_));
}

void OpenRun::CheckResumed() const {
  const auto& path = journal_.path();
  if (!request_.resume)
    throw BadInput(path + ": an unfinished run; go on with --resume, or remove this file");
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

// The CPU's, measured once, or looked up, and handed on to each process.
void OpenRun::FindCeilings() {
  if (FlagValue(request_.arguments, "dlroof_machine")) return;
  const auto& pairs = header_.benchmarks;
  if (std::ranges::none_of(pairs, [](const auto& pair) { return OnCpu(pair.contender); })) return;
  json machine;
  if (machines_.is_array())
    for (const auto& known : machines_)
      if (known.value("device", "") == "cpu") machine = known;
  if (machine.is_null()) {
    runner::RefuseForeignPinning();
    std::vector<std::string> listed;
    for (const auto& pair : pairs) listed.push_back(pair.contender);
    machine_file::MachineOptions options;
    options.threads =
        ThreadsOf(listed, request_.arguments, static_cast<int>(cpu::ThisCpu().allowed.size()));
    options.live_check = FlagValue(request_.arguments, "dlroof_live_check") != "false";
    machine::ProgressPrinter progress(log_, machine::StderrIsTerminal());
    options.progress = std::ref(progress);
    machine = machine::ToJson(machine_file::CachedOrMeasuredCpu(options, log_));
  }
  machine_file_ = folder_ / "machine.json";
  WriteFile(machine_file_, machine.dump());
}

std::vector<std::string> OpenRun::Command(std::size_t side, const std::string& listed,
                                          const ProcessPaths& paths) const {
  return CommandFor(header_.programs.at(side), header_.arguments, listed, machine_file_, paths);
}

std::optional<Outcome> OpenRun::RunStandalone(std::size_t side, const std::string& listed,
                                              const std::vector<std::string>& more) {
  const auto paths = PathsIn(folder_, "alone");
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
  if (!machines_kept_ && !machines_.is_null()) lines = JournalLine(machines_);
  machines_kept_ = !machines_.is_null();
  journal_.Append(lines + JournalLine(entry));
}

bool OpenRun::Over() const {
  return StoppedByInterrupt() || (request_.budget_seconds &&
                                  cpu::WallSeconds() - begin_seconds_ >= *request_.budget_seconds);
}

json OpenRun::About() const {
  return {{"command", CommandOf(header_.programs, header_.arguments)},
          {"supervised", {{"settings", header_.settings}, {"seed", header_.seed}}}};
}

}  // namespace dlroof::supervise
