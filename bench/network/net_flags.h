// The flags of dlroof_net. They are apart from the program, which needs MPI, so that its manual
// page and its completion can be written without MPI.
#pragma once

#include <string>

#include "bench/network/probe.h"

namespace CLI {
class App;
}

namespace dlroof::network {

inline constexpr const char* kAboutNet =
    "measure the network between the ranks of an MPI job: messages of each pair in both "
    "directions, and allreduces; started by mpirun or srun --mpi=pmix";

struct NetFlags {
  std::string output = "network.json";
  int deadline = 600;  // [s]
  ProbeRules rules;
};

void AddNetFlags(CLI::App& program, NetFlags& flags);

}  // namespace dlroof::network
