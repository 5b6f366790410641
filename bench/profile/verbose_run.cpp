#include "bench/profile/verbose_run.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "counters/base/error.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::profile {
namespace {

// Keywords that follow marker and comma in oneDNN 1.0 to 3.13. In 2.x a time stamp may be between.
constexpr std::array<std::string_view, 11> kWords = {"info,",   "exec,",   "create",  "primitive,",
                                                     "graph,",  "common,", "ukernel", "error,",
                                                     "profile", "warn",    "stack,"};
constexpr std::string_view kMark = "DLROOF_MARK,";
constexpr std::size_t kMaxMark = 256;  // [byte] longer lines are cut in the log

const std::vector<std::string>& Beginnings() {
  static const auto all = [] {
    std::vector<std::string> texts;
    for (const std::string marker : {"onednn_verbose,", "dnnl_verbose,"}) {
      for (const auto word : kWords) texts.push_back(marker + std::string(word));
      for (char digit = '0'; digit <= '9'; ++digit)
        texts.insert(texts.end(), {marker + digit, marker + 'v' + digit});
    }
    return texts;
  }();
  return all;
}

struct Found {
  std::size_t begin = std::string_view::npos, length = 0;
};

// Finds the first complete beginning of a line of oneDNN. Returns length 0 if there is none.
Found FindBeginning(std::string_view text) {
  for (auto at = logs::FindMarker(text); at != std::string_view::npos;
       at = logs::FindMarker(text, at + 1)) {
    const auto line = text.substr(at);
    if (std::ranges::any_of(Beginnings(), [&](auto& begin) { return line.starts_with(begin); }))
      return {at, line.find(',') + 2};
  }
  return {};
}

// Returns the length [byte] of an incomplete beginning of a line of oneDNN at the text's end, or 0.
std::size_t PartialBeginning(std::string_view text) {
  static const auto longest = std::ranges::max(Beginnings(), {}, &std::string::size).size();
  for (auto length = std::min(longest - 1, text.size()); length > 0; --length) {
    const auto end = text.substr(text.size() - length);
    if (std::ranges::any_of(Beginnings(), [&](auto& begin) { return begin.starts_with(end); }))
      return length;
  }
  return 0;
}

// [s] Time of the first progress line. The intervals between further lines double to kMaxBetween.
constexpr double kFirstProgress = 10, kMaxBetween = 300;

// Returns a process's ancestors up to, but without this process, parent first; {} if it has ended.
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
  VerboseProgram(const std::string& log, std::ostream* progress)
      : log_(log, std::ios::binary | std::ios::trunc), progress_(progress) {
    if (!log_) throw BadInput("{}: {}", log, std::strerror(errno));
  }

  VerboseRun Run(ForegroundRequest request) {
    request.from = [this](std::int64_t process) { process_ = process; };
    request.take = [this](std::string_view bytes) {
      return Pass(separators_[process_].Add(bytes));
    };
    request.idle = [this](double seconds) {
      ShowProgress(seconds);
      return PassAll(&LogSeparator::Release);
    };
    run_.end = RunInForeground(request);
    PassAll(&LogSeparator::End);
    log_.flush();
    run_.log_complete = !log_.fail();
    for (const auto& [process, separator] : separators_) {
      run_.lines += separator.lines();
      run_.executed += separator.executed();
      run_.cut_lines += separator.cut_lines();
      run_.versions += separator.versions();
    }
    return run_;
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

  // Writes a line (logs::LogProcess) to the log if the next lines are of another process than the
  // last ones.
  void NameProcess() {
    if (process_ == logged_process_) return;
    const bool known = !named_.insert(process_).second;
    logged_process_ = process_;
    log_ << logs::kProcessLine << process_;
    if (!known)
      for (const auto ancestor : AncestorsOf(process_)) log_ << ',' << ancestor;
    log_ << '\n';
  }

  // Writes oneDNN's lines to the log, the rest to stdout. Returns false if stdout has no reader.
  bool Pass(const LogSeparator::Output& output) {
    if (!output.log.empty()) NameProcess();
    log_ << output.log;
    run_.log_bytes += output.log.size();
    run_.own_bytes += output.own.size();
    return WriteToStdout(output.own);
  }

  void ShowProgress(double seconds) {
    if (progress_ == nullptr || seconds < next_progress_) return;
    next_progress_ += std::min(next_progress_, kMaxBetween);
    std::size_t lines = 0;
    for (const auto& [process, separator] : separators_) lines += separator.lines();
    *progress_ << fmt::format("dlroof: {:.0f} s, {} lines of oneDNN\n", seconds, lines)
               << std::flush;
  }

  std::ofstream log_;
  std::ostream* progress_;
  std::map<std::int64_t, LogSeparator> separators_;  // by process id; 0 if unknown
  std::int64_t process_ = 0;                         // process that wrote the bytes being read
  std::int64_t logged_process_ = 0;                  // process of the log's last lines
  std::set<std::int64_t> named_;                     // processes whose ancestors the log has
  double next_progress_ = kFirstProgress;
  VerboseRun run_;
};

bool IsSet(const char* variable) { return std::getenv(variable) != nullptr; }

}  // namespace

LogSeparator::Output LogSeparator::Add(std::string_view bytes) {
  held_ += bytes;
  Output output;
  Drain(output);
  return output;
}

LogSeparator::Output LogSeparator::Release() {
  Output output;
  if (in_line_) return output;
  TakeOwn(Rest(), output);
  held_.clear();
  at_ = 0;
  return output;
}

LogSeparator::Output LogSeparator::End() {
  Output output;
  if (in_line_) {
    line_ += Rest();
    held_.clear();
    at_ = 0;
    ++cut_lines_;
    output.log += line_ + '\n';
    line_.clear();
    in_line_ = false;
  }
  output.own += Release().own;
  return output;
}

void LogSeparator::Drain(Output& output) {
  while (in_line_ ? DrainLine(output) : DrainOwn(output)) continue;
  held_.erase(0, at_);
  at_ = 0;
}

void LogSeparator::TakeOwn(std::string_view bytes, Output& output) {
  output.own += bytes;
  while (!bytes.empty()) {
    const auto end = bytes.find_first_of("\r\n");
    const auto available = kMaxMark - std::min(kMaxMark, own_line_.size());
    own_line_ += bytes.substr(0, std::min(end, available));
    if (end == std::string_view::npos) return;
    if (bytes[end] == '\n' && own_line_.starts_with(kMark)) output.log += own_line_ + '\n';
    if (bytes[end] == '\n' || !own_line_.starts_with(kMark)) own_line_.clear();
    bytes.remove_prefix(end + 1);
  }
}

bool LogSeparator::DrainOwn(Output& output) {
  const auto rest = Rest();
  const auto found = FindBeginning(rest);
  if (found.length == 0) {
    const auto certain = rest.size() - PartialBeginning(rest);
    TakeOwn(rest.substr(0, certain), output);
    at_ += certain;
    return false;
  }
  TakeOwn(rest.substr(0, found.begin), output);
  at_ += found.begin;
  BeginLine(found.length);
  return true;
}

void LogSeparator::BeginLine(std::size_t marker) {
  line_ = Rest().substr(0, marker);
  at_ += marker;
  in_line_ = true;
}

bool LogSeparator::DrainLine(Output& output) {
  const auto rest = Rest();
  const auto newline = rest.find('\n');
  const auto found = FindBeginning(rest.substr(0, newline));
  if (found.length > 0) {
    line_ += rest.substr(0, found.begin);
    at_ += found.begin;
    ++cut_lines_;
    output.log += line_ + '\n';
    BeginLine(found.length);
    return true;
  }
  if (newline == std::string_view::npos) {
    const auto certain = rest.size() - PartialBeginning(rest);
    line_ += rest.substr(0, certain);
    at_ += certain;
    return false;
  }
  line_ += rest.substr(0, newline);
  at_ += newline + 1;
  ++lines_;
  if (line_.find(",exec,") != std::string::npos) ++executed_;
  const auto info = line_.find(",info,");
  if (info != std::string::npos && line_.find("NN v", info) != std::string::npos) ++versions_;
  output.log += line_ + '\n';
  in_line_ = false;
  return true;
}

VerboseMode VerboseModeOn() {
  VerboseMode mode;
  for (const char* known : {"ONEDNN_VERBOSE", "DNNL_VERBOSE"})
    if (IsSet(known))
      mode.remark = fmt::format("{}={} is set already and stays; unset it and profile sets its own",
                                known, std::getenv(known));
  // 3.2 and later read the first variable. 2.4 to 3.1 reject values longer than 11 characters and
  // then read the second one, the only one that older versions know.
  if (!mode.remark) mode.variables = {{"ONEDNN_VERBOSE", "profile_exec"}, {"DNNL_VERBOSE", "1"}};
  if (!IsSet("ONEDNN_VERBOSE_TIMESTAMP") && !IsSet("DNNL_VERBOSE_TIMESTAMP"))
    for (const char* stamp : {"ONEDNN_VERBOSE_TIMESTAMP", "DNNL_VERBOSE_TIMESTAMP"})
      mode.variables[stamp] = "1";
  return mode;
}

VerboseRun RunVerbose(const ForegroundRequest& request, const std::string& log,
                      std::ostream* progress) {
  return VerboseProgram(log, progress).Run(request);
}

}  // namespace dlroof::profile
