#include "baselines/network/smpi.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <sstream>

#include "counters/base/files.h"
#include "counters/base/folders.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"

namespace dlroof::cluster {
namespace {

constexpr int kFloat = 4;  // [byte]

// Returns SimGrid's first error, without the place in its sources, else the last line.
std::string Complaint(const std::string& text) {
  constexpr std::string_view kError = "/ERROR] ";
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (const auto at = line.find(kError); at != std::string::npos)
      return line.substr(at + kError.size());
    if (!line.empty()) last = line;
  }
  return last.empty() ? "no message" : last;
}

// Returns the number after the last "Simulation time ".
double SimulatedSeconds(const ChildResult& ran) {
  constexpr std::string_view kBefore = "Simulation time ";
  const auto text = ran.out + ran.err;
  if (ran.exit_code != 0)
    throw SimulationFailed("smpirun ended with exit code {}: {}", ran.exit_code, Complaint(text));
  const auto at = text.rfind(kBefore);
  double seconds = 0;
  if (at != std::string::npos)
    std::from_chars(text.data() + at + kBefore.size(), text.data() + text.size(), seconds);
  if (seconds > 0) return seconds;
  throw SimulationFailed("smpirun simulated no time above 0 s");
}

// Returns smpirun's options for an allreduce algorithm. The simulator's corrections for real
// networks are off: its messages take latency + bytes / bandwidth.
std::vector<std::string> SmpiOptions(Allreduce algorithm) {
  std::vector<std::string> options = {
      "--cfg=network/model:CM02",         "--cfg=network/TCP-gamma:0",
      "--cfg=network/crosstraffic:0",     "--cfg=network/latency-factor:1",
      "--cfg=network/bandwidth-factor:1", "--cfg=smpi/bw-factor:1",
      "--cfg=smpi/lat-factor:1",          "--cfg=smpi/os:0:0:0:0:0",
      "--cfg=smpi/or:0:0:0:0:0",          "--cfg=smpi/ois:0:0:0:0:0"};
  constexpr KeyRow<Allreduce> kNames[] = {
      {Allreduce::kRing, "lr"},
      {Allreduce::kRecursiveDoubling, "rdb"},
      {Allreduce::kTree, "redbcast"},
      {Allreduce::kRabenseifner, "mvapich2_rs"}};  // "rab" takes 5 GB for 64 ranks of 100 MB
  options.push_back(fmt::format("--cfg=smpi/allreduce:{}", KeyIn(kNames, algorithm)));
  if (algorithm == Allreduce::kTree)
    options.insert(options.end(), {"--cfg=smpi/reduce:binomial", "--cfg=smpi/bcast:binomial_tree"});
  return options;
}

}  // namespace

std::string SmpiPlatform(const Network& network, int nodes) {
  const auto& large = network.pieces.back();
  return fmt::format(
      "<?xml version='1.0'?>\n"
      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\">\n"
      "  <cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-{}\" speed=\"1Gf\" "
      "bw=\"{:.17g}Bps\" "
      "lat=\"{:.17g}s\"/>\n</platform>\n",
      nodes - 1, large.bytes_per_second, large.latency_seconds / 2);
}

std::string SmpiTrace(int nodes, long elements) {
  std::string trace;
  for (int rank = 0; rank < nodes; ++rank)
    trace += fmt::format("{0} init\n{0} allreduce {1} 0 1\n{0} finalize\n", rank, elements);
  return trace;
}

SimulatedAllreduce SimulateAllreduce(const Network& network, Allreduce algorithm, int nodes,
                                     double bytes) {
  if (!IsInPath("smpirun"))
    throw BadInput(
        "smpirun is not installed, so nothing is simulated (apt-get install libsimgrid-dev)");
  // A ring of vectors that the nodes do not divide sends what is left over in another way.
  const auto elements = nodes * static_cast<long>(std::ceil(bytes / (kFloat * nodes)));
  const TemporaryFolder folder;
  std::string hosts;
  for (int node = 0; node < nodes; ++node) hosts += fmt::format("n{}\n", node);
  WriteFile(folder / "platform.xml", SmpiPlatform(network, nodes));
  WriteFile(folder / "hosts", hosts);
  WriteFile(folder / "trace", SmpiTrace(nodes, elements));
  WriteFile(folder / "traces", folder / "trace" + "\n");
  std::vector<std::string> command = {"smpirun",
                                      "-np",
                                      std::to_string(nodes),
                                      "-platform",
                                      folder / "platform.xml",
                                      "-hostfile",
                                      folder / "hosts",
                                      "-replay",
                                      folder / "traces"};
  const auto options = SmpiOptions(algorithm);
  command.insert(command.end(), options.begin(), options.end());
  const double sent = static_cast<double>(elements) * kFloat;
  const Network plain{.name = "",
                      .pieces = {{std::nullopt, network.pieces.back().latency_seconds,
                                  network.pieces.back().bytes_per_second}}};
  return {.nodes = nodes,
          .bytes = sent,
          .algorithm = algorithm,
          .closed_seconds = AllreduceSeconds(algorithm, plain, nodes, sent),
          .simulated_seconds = SimulatedSeconds(RunChild(command))};
}

}  // namespace dlroof::cluster
