#include "bench/supervise/open_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <ostream>
#include <random>

#include "bench/run/run_context.h"
#include "ceilings/cache/machine_cache.h"
#include "ceilings/machine/progress.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/interrupt.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "reporters/record/record.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_json.h"

namespace dlroof::supervise {
namespace {

using nlohmann::json;

std::uint64_t Drawn() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

// BASE's name for each of NEW's; those that only one side has are counted in `alone`.
std::vector<ListedPair> Paired(const std::vector<std::string>& base,
                               const std::vector<std::string>& fresh, const compare::NameMap& names,
                               std::size_t& alone) {
  std::map<std::string, std::string> base_of;  // NEW's bare name -> BASE's as listed
  for (const auto& listed : base) {
    const auto bare = record::BareName(listed);
    const auto mapped = names.find(bare);
    if (mapped != names.end() || base_of.count(bare) == 0)
      base_of[mapped == names.end() ? bare : mapped->second] = listed;
  }
  std::vector<ListedPair> pairs;
  for (const auto& listed : fresh)
    if (const auto found = base_of.find(record::BareName(listed)); found != base_of.end())
      pairs.push_back({found->second, listed});
  alone = base.size() + fresh.size() - 2 * pairs.size();
  return pairs;
}

// Returns the causes of results beside programs and arguments.
std::vector<std::string> SettingsText(const RunRequest& request) {
  std::vector<std::string> texts = {request.random_order ? "random order" : "order of the file"};
  if (request.programs.size() < 2) return texts;
  texts.push_back(fmt::format("minimum effect {}", request.min_effect));
  for (const auto& [base, fresh] : request.names) texts.push_back(base + " -> " + fresh);
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
    : request_(request), log_(log), begin_seconds_(cpu::WallSeconds()), journal_(JournalPath(request)) {
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
  const auto fresh = ListBenchmarks(request_.programs.back(), request_.arguments, folder_);
  if (request_.programs.size() == 1) {
    for (const auto& listed : fresh) header_.benchmarks.push_back({"", listed});
  } else {
    std::size_t alone = 0;
    header_.benchmarks =
        Paired(ListBenchmarks(request_.programs.front(), request_.arguments, folder_), fresh,
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
  if (std::ranges::none_of(pairs, [](const auto& pair) { return OnCpu(pair.fresh); })) return;
  json machine;
  if (machines_.is_array())
    for (const auto& known : machines_)
      if (known.value("device", "") == "cpu") machine = known;
  if (machine.is_null()) {
    runner::RefuseForeignPinning();
    std::vector<std::string> listed;
    for (const auto& pair : pairs) listed.push_back(pair.fresh);
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

std::optional<Outcome> OpenRun::RunAlone(std::size_t side, const std::string& listed,
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
  return StoppedByInterrupt() ||
         (request_.budget_seconds && cpu::WallSeconds() - begin_seconds_ >= *request_.budget_seconds);
}

json OpenRun::About() const {
  return {{"command", CommandOf(header_.programs, header_.arguments)},
          {"supervised", {{"settings", header_.settings}, {"seed", header_.seed}}}};
}

}  // namespace dlroof::supervise
