#include "bench/program/spoken_run.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ostream>

#include "counters/base/error.h"

namespace dlroof::profile {
namespace {

// [s] from the start to the first line of progress; each later one comes after twice the time.
constexpr double kFirstProgress = 10, kMostBetween = 300;

class SpokenProgram {
 public:
  explicit SpokenProgram(const SpokenRequest& request) : request_(request) {
    if (request.log.empty()) return;
    log_.open(request.log, std::ios::binary | std::ios::trunc);
    if (!log_) throw BadInput("{}: {}", request.log, std::strerror(errno));
  }

  SpokenRun Run() {
    ForegroundRequest foreground{.command = request_.command, .variables = request_.variables};
    foreground.no_input = !request_.shown;
    foreground.take = [this](std::string_view bytes) { return Pass(separator_.Add(bytes)); };
    foreground.idle = [this](double seconds) {
      ShowProgress(seconds);
      return Pass(separator_.Release());
    };
    run_.end = RunInForeground(foreground);
    Pass(separator_.End());
    log_.flush();
    if (!request_.log.empty() && !log_) throw BadInput("{}: cannot be written whole", request_.log);
    run_.lines = separator_.lines();
    run_.executed = separator_.executed();
    run_.cut_lines = separator_.cut_lines();
    run_.versions = separator_.versions();
    return std::move(run_);
  }

 private:
  // Returns false when nobody reads our output any more.
  bool Pass(const LogSeparator::Output& output) {
    log_ << output.log;
    run_.log_bytes += output.log.size();
    run_.own_bytes += output.own.size();
    run_.own_hash = HashOf(output.own, run_.own_hash);
    if (request_.keep_own) run_.own += output.own;
    return !request_.shown || WriteToStdout(output.own);
  }

  void ShowProgress(double seconds) {
    if (request_.progress == nullptr || seconds < next_progress_) return;
    next_progress_ += std::min(next_progress_, kMostBetween);
    *request_.progress << fmt::format("dlroof: {:.0f} s, {} lines of oneDNN\n", seconds,
                                      separator_.lines())
                       << std::flush;
  }

  const SpokenRequest& request_;
  std::ofstream log_;
  LogSeparator separator_;
  double next_progress_ = kFirstProgress;
  SpokenRun run_;
};

bool IsSet(const char* variable) { return std::getenv(variable) != nullptr; }

}  // namespace

Variables SpeakingVariables(std::string& remark) {
  Variables variables;
  for (const char* known : {"ONEDNN_VERBOSE", "DNNL_VERBOSE"})
    if (IsSet(known))
      remark = fmt::format("{}={} is set already and stays; without it profile sets 2", known,
                           std::getenv(known));
  // 2 is "executed and made" in every version; words such as profile_exec came with 3.1.
  if (remark.empty()) variables = {{"ONEDNN_VERBOSE", "2"}, {"DNNL_VERBOSE", "2"}};
  if (!IsSet("ONEDNN_VERBOSE_TIMESTAMP") && !IsSet("DNNL_VERBOSE_TIMESTAMP"))
    for (const char* stamp : {"ONEDNN_VERBOSE_TIMESTAMP", "DNNL_VERBOSE_TIMESTAMP"})
      variables[stamp] = "1";
  return variables;
}

SpokenRun RunSpoken(const SpokenRequest& request) { return SpokenProgram(request).Run(); }

}  // namespace dlroof::profile
