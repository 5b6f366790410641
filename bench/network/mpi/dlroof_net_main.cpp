// dlroof_net: measures the network between the ranks of an MPI job. Only this program uses MPI,
// because MPI ends the whole job if one node is lost.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <ctime>
#include <iostream>

#include "baselines/cluster/network.h"
#include "bench/network/mpi/mpi_messages.h"
#include "bench/network/net_flags.h"
#include "bench/network/probe.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/program.h"

namespace dlroof::network {
namespace {

constexpr int kLate = 4;  // exit code: the deadline ended the job

extern "C" void EndAtDeadline(int) {
  constexpr char kText[] = "dlroof_net: ended by --deadline; a rank may be lost\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(kLate);
}

void WriteNetwork(const cluster::MeasuredNetwork& measured, const NetFlags& flags) {
  WriteFile(flags.output, JsonText(cluster::ToJson(measured), 1) + '\n');
  for (const auto& note : cluster::NetworkNotes(measured)) std::cout << note << '\n';
  std::cout << std::flush;
  std::cerr << "wrote " << flags.output << '\n';
}

void Run(const NetFlags& flags) {
  const auto started_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  MpiMessages messages(flags.rules.most_bytes);
  if (messages.size() < 2)
    throw BadInput("expected at least 2 ranks, such as by mpirun -n 2 dlroof_net");
  auto measured = MeasureNetwork(messages, flags.rules);
  if (!measured) return;
  measured->started_at = started_at;
  WriteNetwork(*measured, flags);
}

// Runs on every rank. What BadInput says is thrown on all ranks, or at the end on rank 0.
int RunRanks(int argc, char** argv) {
  NetFlags flags;
  CLI::App program(kAboutNet, "dlroof_net");
  AddNetFlags(program, flags);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  }
  if (flags.rules.most_bytes % 4 != 0)
    throw BadInput("--max-bytes={}: expected a multiple of 4", flags.rules.most_bytes);
  std::signal(SIGALRM, EndAtDeadline);
  alarm(static_cast<unsigned>(flags.deadline));
  MPI_Init(&argc, &argv);
  const int code = RunProgram("dlroof_net", [&] {
    Run(flags);
    return 0;
  });
  MPI_Finalize();
  return code;
}

}  // namespace
}  // namespace dlroof::network

int main(int argc, char** argv) {
  return dlroof::RunProgram("dlroof_net", [&] { return dlroof::network::RunRanks(argc, argv); });
}
