#include "bench/profile/verbose_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "bench/profile/cpu_sampler.h"
#include "counters/base/error.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/text/text.h"

namespace dlroof::profile {
namespace {

// [s] Time of the first progress line, doubled for each further one up to a longest interval.
constexpr double kFirstProgress = 10, kMaxBetween = 300;

// Returns the ancestors of a process that are this process's descendants, the parent first. Returns
// none if the process has ended.
std::vector<std::int64_t> AncestorsOf(std::int64_t process) {
  constexpr std::size_t kMax = 100;
  std::vector<std::int64_t> ancestors;
  while (ancestors.size() < kMax) {
    std::ifstream status(fmt::format("/proc/{}/stat", process));
    std::string text;
    std::getline(status, text);
    // "1240 (name of the program) S 1200 ..."
    std::istringstream rest(text.substr(std::min(text.rfind(')') + 1, text.size())));
    char state = 0;
    if (!(rest >> state >> process) || process <= 1 || process == getpid()) break;
    ancestors.push_back(process);
  }
  return ancestors;
}

class VerboseProgram {
 public:
  explicit VerboseProgram(const VerboseRequest& request) : request_(request) {
    if (!request.log) return;
    log_.open(*request.log, std::ios::binary | std::ios::trunc);
    if (!log_) throw BadInput("{}: {}", *request.log, std::strerror(errno));
  }

  VerboseRun Run() {
    ForegroundRequest foreground{.command = request_.command, .variables = request_.variables};
    foreground.no_input = !request_.shown;
    std::optional<CpuSampler> sampler;
    if (request_.sampled) foreground.started = [&](int pid) { sampler.emplace(pid); };
    foreground.pipe = request_.pipe;
    foreground.most_seconds = request_.most_seconds;
    foreground.from = [this](std::int64_t process) { process_ = process; };
    foreground.take = [this](std::string_view bytes) {
      return Pass(separators_[process_].Add(bytes));
    };
    foreground.idle = [this](double seconds) {
      ShowProgress(seconds);
      return PassAll(&LogSeparator::Release);
    };
    run_.end = RunInForeground(foreground);
    if (sampler) run_.samples = sampler->Stop();
    PassAll(&LogSeparator::End);
    log_.flush();
    if (request_.log && !log_)
      throw BadInput("{}: not all could be written (disk full?)", *request_.log);
    for (const auto& [process, separator] : separators_) {
      run_.lines += separator.lines();
      run_.executed += separator.executed();
      run_.cut_lines += separator.cut_lines();
      run_.versions += separator.versions();
    }
    return std::move(run_);
  }

 private:
  bool PassAll(LogSeparator::Output (LogSeparator::*give)()) {
    bool read = true;
    for (auto& [process, separator] : separators_) {
      process_ = process;
      read = Pass((separator.*give)()) && read;
    }
    return read;
  }

  // Names the process of the next lines in the log, and before its first line its ancestors up to
  // the program.
  void NameProcess() {
    if (process_ == logged_process_) return;
    const bool known = !named_.insert(process_).second;
    logged_process_ = process_;
    log_ << logs::kProcessLine << process_;
    if (!known)
      for (const auto ancestor : AncestorsOf(process_)) log_ << ',' << ancestor;
    log_ << '\n';
  }

  // Logs a piece of the program's output and writes its own part to standard output. Returns false
  // once that has no reader.
  bool Pass(const LogSeparator::Output& output) {
    if (!output.log.empty()) NameProcess();
    log_ << output.log;
    run_.log_bytes += output.log.size();
    run_.own_bytes += output.own.size();
    run_.own_hash = HashOf(output.own, run_.own_hash);
    if (request_.keep_own) run_.own += output.own;
    return !request_.shown || WriteToStdout(output.own);
  }

  void ShowProgress(double seconds) {
    if (request_.progress == nullptr || seconds < next_progress_) return;
    next_progress_ += std::min(next_progress_, kMaxBetween);
    std::size_t lines = 0;
    for (const auto& [process, separator] : separators_) lines += separator.lines();
    *request_.progress << fmt::format("dlroof: {:.0f} s, {} lines of oneDNN\n", seconds, lines)
                       << std::flush;
  }

  const VerboseRequest& request_;
  std::ofstream log_;
  std::map<std::int64_t, LogSeparator> separators_;  // by process; 0 if that is not known
  std::int64_t process_ = 0;                         // of the bytes that are read
  std::int64_t logged_process_ = 0;                  // of the last lines in the log
  std::set<std::int64_t> named_;                     // processes in the log
  double next_progress_ = kFirstProgress;
  VerboseRun run_;
};

bool IsSet(const char* variable) { return std::getenv(variable) != nullptr; }

}  // namespace

VerboseMode VerboseModeOn() {
  VerboseMode mode;
  for (const char* known : {"ONEDNN_VERBOSE", "DNNL_VERBOSE"})
    if (IsSet(known))
      mode.remark = fmt::format("{}={} is set already and stays; unset it and profile sets its own",
                                known, std::getenv(known));
  // 3.2 and later read the first variable. 2.4 to 3.1 take no value of more than 11 characters and
  // then read the second one, the only one that older versions know.
  if (!mode.remark) mode.variables = {{"ONEDNN_VERBOSE", "profile_exec"}, {"DNNL_VERBOSE", "1"}};
  if (!IsSet("ONEDNN_VERBOSE_TIMESTAMP") && !IsSet("DNNL_VERBOSE_TIMESTAMP"))
    for (const char* stamp : {"ONEDNN_VERBOSE_TIMESTAMP", "DNNL_VERBOSE_TIMESTAMP"})
      mode.variables[stamp] = "1";
  return mode;
}

VerboseRun RunVerbose(const VerboseRequest& request) { return VerboseProgram(request).Run(); }

}  // namespace dlroof::profile
