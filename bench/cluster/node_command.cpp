// dlroof cluster node: one node's part of a cluster's run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>

#include "bench/cluster/commands.h"
#include "bench/cluster/node_folder.h"
#include "bench/cluster/node_identity.h"
#include "bench/supervise/open_run.h"
#include "bench/supervise/supervise.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/interrupt.h"
#include "counters/base/json_reader.h"

namespace dlroof {
namespace {

namespace fs = std::filesystem;

struct NodeFlags {
  std::string out, bench, order;
  std::vector<std::string> arguments;
  int visit = 0;
  double timeout_seconds = 600;  // [s] as RunRequest
};

// Sends standard output into a file while it lives: of 1000 nodes nobody reads the tables.
class RedirectedOutput {
 public:
  explicit RedirectedOutput(std::ostream& to) : before_(std::cout.rdbuf(to.rdbuf())) {}
  ~RedirectedOutput() { std::cout.rdbuf(before_); }
  RedirectedOutput(const RedirectedOutput&) = delete;
  RedirectedOutput& operator=(const RedirectedOutput&) = delete;

 private:
  std::streambuf* before_;
};

std::string OrderText(const NodeFacts& facts) {
  return facts.order.empty() ? "without --order" : facts.order;
}

// Returns whether the node's file is there, of these arguments. Throws BadInput for others.
bool IsDone(const NodeFolder& folder, const NodeFacts& facts) {
  const auto path = folder.Node(facts.name);
  if (!fs::exists(path)) return false;
  const auto there = ReadNodeFile(path);
  if (there.status != NodeStatus::kWhole) {
    std::cerr << fmt::format("{}; measured anew\n", there.reason);
    return false;
  }
  if (there.facts.order != facts.order)
    throw BadInput("{}: was measured {}, now {}; use another --out", path.string(),
                   OrderText(there.facts), OrderText(facts));
  if (there.facts.arguments == facts.arguments) return true;
  throw BadInput("{}: was measured with other arguments: '{}', now '{}'; use another --out",
                 path.string(), fmt::join(there.facts.arguments, " "),
                 fmt::join(facts.arguments, " "));
}

// Writes nodes/NAME.json from the finished run, and removes what it is made of.
void Finish(const NodeFolder& folder, const NodeFacts& facts) {
  const auto run = folder.Run(facts.name);
  auto file = ParsedJson(ReadFile(run, "a run file"), run.string());
  file.erase("benchmarks");  // the records say it all
  file["context"]["dlroof"]["node"] = ToJson(facts);
  WriteFile(folder.Node(facts.name), file.dump() + '\n', OnDisk::kNow);
  fs::remove(run);
  fs::remove(folder.Facts(facts.name));
}

// Measures what is left. Returns whether all is there.
bool Measure(const RunRequest& request, std::ostream& log) {
  if (IsFinished(request)) return true;  // killed before nodes/NAME.json was written
  if (Supervise(request, log) == 130) return false;
  return IsFinished(request);
}

int RunNode(const NodeFlags& flags) {
  const NodeFolder folder(fs::absolute(flags.out), flags.visit);
  auto facts = ThisNode();
  facts.arguments = flags.arguments;
  facts.order = flags.order;
  folder.Make();
  if (IsDone(folder, facts)) {
    std::cerr << fmt::format("{}: whole, nothing is left to do\n", facts.name);
    return 0;
  }
  // The ceilings' folder, of this process and of those that it starts.
  setenv("XDG_CACHE_HOME", folder.Cache(facts.name).c_str(), 1);
  fs::create_directories(folder.Cache(facts.name));
  WriteFile(folder.Facts(facts.name), ToJson(facts).dump() + '\n');
  RunRequest request;
  request.programs = {flags.bench.empty() ? BenchBesideUs() : fs::absolute(flags.bench).string()};
  request.outputs = {folder.Run(facts.name).string()};
  request.arguments = flags.arguments;
  request.timeout_seconds = flags.timeout_seconds;
  request.resume = true;
  request.random_order = true;
  StopOnInterrupt();
  std::ofstream log(folder.Log(facts.name), std::ios::app);
  bool whole = false;
  try {
    const RedirectedOutput redirected(log);
    whole = Measure(request, log);
  } catch (const std::exception& error) {
    log << error.what() << '\n' << std::flush;
    throw;
  }
  if (whole) Finish(folder, facts);
  std::cerr << fmt::format("{}: {}\n", facts.name,
                           whole ? "whole" : "not finished; the same command goes on");
  return whole ? 0 : 130;
}

}  // namespace

void AddClusterNode(CLI::App& cluster, int& exit_code) {
  auto flags = std::make_shared<NodeFlags>();
  auto* command = cluster.add_subcommand(
      "node", "one node's part: measures into DIR/nodes/NAME.json; goes on where a kill ended it");
  command->add_option("--out", flags->out, "folder that all nodes share")->required();
  command->add_option("--bench", flags->bench, "the program (dlroof_bench beside this)");
  command->add_option("--visit", flags->visit, "the number of a further visit, from 1")
      ->check(CLI::Range(1, 10000));
  command->add_option("--order", flags->order, "which the caller starts the nodes in: kept")
      ->check(CLI::IsMember({"at-once", "one-by-one"}));
  command->add_option("--timeout", flags->timeout_seconds, "[s] for one benchmark (600)")
      ->check(CLI::PositiveNumber);
  command->add_option("ARGUMENTS", flags->arguments,
                      "after --: what dlroof_bench is given, such as --dlroof_suite=resnet50");
  command->callback([flags, &exit_code] { exit_code = RunNode(*flags); });
}

}  // namespace dlroof
