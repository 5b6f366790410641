// dlroof cluster node: measures the benchmarks on one node of a cluster.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>

#include "bench/cluster_run/commands.h"
#include "bench/cluster_run/node_folder.h"
#include "bench/cluster_run/this_node.h"
#include "bench/supervise/supervise.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/base/json_text.h"
#include "counters/base/process.h"

namespace dlroof::cluster_run {
namespace {

namespace fs = std::filesystem;

struct NodeFlags {
  std::string out;
  std::optional<std::string> order;
  std::optional<std::string> bench;
  std::vector<std::string> arguments;
  int visit = 0;
  double timeout_seconds = 600;  // [s] limit for one benchmark
  bool per_gpu = false;          // this process has one of the node's GPUs
};

std::string OrderText(const cluster::NodeFacts& facts) {
  return std::string(facts.order ? cluster::Key(*facts.order) : "without --order");
}

// Returns whether nodes/NAME.json is complete. Throws BadInput if its order or arguments are other
// ones.
bool IsDone(const NodeFolder& folder, const cluster::NodeFacts& facts) {
  const auto path = folder.Node(facts.name);
  if (!fs::exists(path)) return false;
  const auto there = ReadNodeFile(path);
  if (there.status != cluster::NodeStatus::kComplete) {
    std::cerr << fmt::format("{}; measuring again\n", there.reason);
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

// Writes nodes/NAME.json from the finished run, and removes the files of the run.
void Finish(const NodeFolder& folder, const cluster::NodeFacts& facts) {
  const auto run = folder.Run(facts.name);
  auto file = ParsedJson(ReadFile(run, "a run file"), run.string());
  file.erase("benchmarks");  // the records have all results
  file["context"]["dlroof"]["node"] = cluster::ToJson(facts);
  WriteFile(folder.Node(facts.name), JsonText(file) + '\n', OnDisk::kNow);
  fs::remove(run);
  fs::remove(folder.Facts(facts.name));
}

// Writes each character to both buffers.
class BothBuffers : public std::streambuf {
 public:
  BothBuffers(std::streambuf* first, std::streambuf* second) : first_(first), second_(second) {}

 private:
  int_type overflow(int_type c) override {
    second_->sputc(traits_type::to_char_type(c));
    return first_->sputc(traits_type::to_char_type(c));
  }
  int sync() override { return first_->pubsync() | second_->pubsync(); }

  std::streambuf *first_, *second_;
};

// Measures the remaining benchmarks with all messages in the node's log and on the terminal, if
// there is one. Returns whether all are finished.
bool Measure(const NodeFlags& flags, const NodeFolder& folder, const std::string& name) {
  std::ofstream file(folder.Log(name), std::ios::app);
  BothBuffers both(file.rdbuf(), std::cerr.rdbuf());
  std::ostream log(&both);
  if (isatty(STDERR_FILENO) == 0) log.rdbuf(file.rdbuf());
  log << std::unitbuf;  // unbuffered, so that the log of a lost node shows its last action
  supervise::RunRequest request;
  request.programs = {flags.bench ? fs::absolute(*flags.bench).string()
                                  : supervise::BenchProgram()};
  request.outputs = {folder.Run(name).string()};
  request.arguments = flags.arguments;
  request.timeout_seconds = flags.timeout_seconds;
  request.resume = true;
  request.tables = &file;
  try {
    if (supervise::IsFinished(request)) return true;  // killed before nodes/NAME.json was written
    supervise::Supervise(request, log);
    return !StoppedByInterrupt() && supervise::IsFinished(request);
  } catch (const std::exception& error) {
    log << error.what() << '\n' << std::flush;
    throw;
  }
}

// Sets a file's modification time to now every few seconds during its lifetime, by the clock of the
// file system, as a sign that this node is alive.
class SignOfLife {
 public:
  explicit SignOfLife(fs::path file)
      : thread_([file = std::move(file)](const std::stop_token& stop) {
          constexpr int kPauses = 20;  // of 0.1 s each, so that the thread stops at once
          while (!stop.stop_requested()) {
            utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
            for (int i = 0; i < kPauses && !stop.stop_requested(); ++i) SleepSeconds(0.1);
          }
        }) {}

 private:
  std::jthread thread_;
};

int RunNode(const NodeFlags& flags) {
  const NodeFolder folder(fs::absolute(flags.out), flags.visit);
  auto facts = ThisNode(flags.per_gpu);
  facts.arguments = flags.arguments;
  if (flags.order) facts.order = cluster::NodeOrderFromKey(*flags.order);
  facts.system = SystemOf("/sys");
  folder.Make();
  if (IsDone(folder, facts)) {
    std::cerr << fmt::format("{}: whole, nothing is left to do\n", facts.name);
    return 0;
  }
  if (!facts.gpu.empty()) {
    setenv("CUDA_VISIBLE_DEVICES", facts.gpu.c_str(), 1);
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);  // as nvidia-smi and schedulers count them
  }
  // The folder where this process and its children cache ceilings.
  setenv("XDG_CACHE_HOME", folder.Cache(facts.name).c_str(), 1);
  fs::create_directories(folder.Cache(facts.name));
  WriteFile(folder.Facts(facts.name), JsonText(cluster::ToJson(facts)) + '\n');
  StopOnInterrupt();
  const LoadWatch load(cpu::FactsOfThisProcess("/sys"));
  bool whole = false;
  {
    const SignOfLife lives(folder.Facts(facts.name));
    whole = Measure(flags, folder, facts.name);
  }
  facts.load = load.Load();
  if (whole) Finish(folder, facts);
  std::cerr << fmt::format("{}: {}\n", facts.name,
                           whole ? "whole" : "not finished; run the same command to continue");
  if (whole) return 0;
  return StoppedByInterrupt() ? InterruptCode() : 1;
}

}  // namespace

runner::Command MakeClusterNode() {
  auto flags = std::make_shared<NodeFlags>();
  return {.name = "node",
          .about = "measure on one node and write DIR/nodes/NAME.json; continues after a kill",
          .options = {{"--out",
                       &flags->out,
                       "folder that all nodes share",
                       {.type = runner::kFolder, .required = true}},
                      {"--bench",
                       &flags->bench,
                       "the dlroof_bench to run (default: the one beside this program)",
                       {.type = runner::kFile}},
                      {"--visit",
                       &flags->visit,
                       "the number of a further visit, from 1",
                       {.limits = runner::Range{1, 10000}}},
                      {"--order",
                       &flags->order,
                       "the order in which the caller starts the nodes, to store it in the file",
                       {.choices = {"at-once", "one-by-one"}}},
                      {"--per-gpu", &flags->per_gpu,
                       "this process is one of several on a node, each of which sees only one GPU"},
                      {"--timeout",
                       &flags->timeout_seconds,
                       "[s] limit for one benchmark (default 600)",
                       {.limits = runner::AboveZero{}}},
                      {"ARGUMENTS",
                       &flags->arguments,
                       "after --: arguments for dlroof_bench, such as --dlroof_suite=resnet50",
                       {.type = runner::kFlag}}},
          .run = [flags] { return RunNode(*flags); }};
}

}  // namespace dlroof::cluster_run
