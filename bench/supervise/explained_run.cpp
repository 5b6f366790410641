#include "bench/supervise/explained_run.h"

#include <fmt/format.h>

#include <limits>
#include <ostream>

#include "bench/supervise/supervised_program.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/process.h"

namespace dlroof {
namespace {

void CheckName(const std::string& command, const std::string& name) {
  try {
    MakeWorkload(name);
  } catch (const BadInput& error) {
    throw BadInput("{}: {}: {}", command, name, error.what());
  }
}

}  // namespace

std::string MeasureExplained(const ExplainRequest& request, const TemporaryFolder& folder,
                             std::ostream& log) {
  const auto in = [&](const char* name) { return folder / name; };
  std::string names, filter;
  for (const auto& name : request.names) {
    CheckName(request.command, name);
    names += name + "\n";
    filter += (filter.empty() ? "" : "|") + FilterOfName(name);
  }
  WriteFile(in("names.txt"), names);
  const auto output = request.output.empty() ? in("run.json") : request.output;
  std::vector<std::string> command = {request.bench.empty() ? BenchBesideUs() : request.bench};
  command.insert(command.end(), request.arguments.begin(), request.arguments.end());
  command.insert(command.end(), {"--dlroof_explain", "--dlroof_suite=" + in("names.txt"),
                                 "--benchmark_filter=" + filter, "--benchmark_out=" + output});
  if (!request.machine.empty()) command.push_back("--dlroof_machine=" + request.machine);
  log << fmt::format("measuring {} benchmark{}\n", request.names.size(),
                     request.names.size() == 1 ? "" : "s");
  WatchedProcess process(command, {.out = in("out"), .err = in("err")});
  const auto end = process.WaitForEnd(std::numeric_limits<double>::infinity());
  if (!end) return "";
  if (end->signal != 0 || end->exit_code > 1)
    throw BadInput("{}: dlroof_bench ended with {}: {}", request.command, Describe(*end),
                   ReadFileIfAny(in("err")));
  return output;
}

}  // namespace dlroof
