#include "bench/cluster/node_identity.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cstdlib>

#include "counters/base/error.h"
#include "counters/cpu/cpu.h"

namespace dlroof {
namespace {

struct Engine {
  const char* name;
  const char* rank;     // variable that only this engine sets
  const char* local;    // variable: number of the task on its node; null: it does not say
  const char* several;  // variable: tasks of a node, "2" or Slurm's "2(x4)"
};
constexpr std::array<Engine, 5> kEngines = {{
    {"slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"pmix", "PMIX_RANK", nullptr, nullptr},
    {"pmi", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"flux", "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", nullptr},
}};

bool CanBeAFile(const std::string& name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

// Returns whether a node has several tasks: "2", or Slurm's "2(x4)".
bool IsSeveral(const std::string& tasks) { return std::atoi(tasks.c_str()) > 1; }

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

}  // namespace

NodeFacts IdentifyNode(const Environment& environment, const std::string& host) {
  NodeFacts facts{.name = host,
                  .known_by = "hostname",
                  .engine = "",
                  .rank = "",
                  .job = "",
                  .place = "",
                  .order = "",
                  .arguments = {}};
  for (const auto& engine : kEngines) {
    const bool slurm = &engine == &kEngines.front();
    const auto node = slurm ? environment("SLURMD_NODENAME") : std::string();
    const auto rank = environment(engine.rank);
    if (slurm ? node.empty() : rank.empty()) continue;
    facts.engine = engine.name;
    facts.rank = rank;
    if (slurm) {
      facts.name = node;
      facts.known_by = "SLURMD_NODENAME";
    }
    if (engine.local != nullptr && engine.several != nullptr &&
        IsSeveral(environment(engine.several)))
      facts.name += "-task" + environment(engine.local);
    break;
  }
  facts.job = environment("SLURM_JOB_ID");
  facts.place = environment("SLURM_TOPOLOGY_ADDR");
  if (!CanBeAFile(facts.name))
    throw BadInput(
        "cluster node: the node's name '{}' ({}) cannot name a file: expected letters, "
        "digits, '-', '_' and '.'",
        facts.name, facts.known_by);
  return facts;
}

NodeFacts ThisNode() {
  const auto environment = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
  auto facts = IdentifyNode(environment, HostName());
  facts.cpus_given = static_cast<int>(ThisCpu().allowed.size());
  if (const long online = sysconf(_SC_NPROCESSORS_ONLN); online > 0)
    facts.cpus = static_cast<int>(online);
  return facts;
}

}  // namespace dlroof
