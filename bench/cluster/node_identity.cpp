#include "bench/cluster/node_identity.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

#include "counters/base/error.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cluster_run {
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

void NameByGpu(const Environment& environment, const std::string& local, cluster::NodeFacts& facts) {
  if (local.empty() || local.find_first_not_of("0123456789") != std::string::npos)
    throw BadInput(
        "--per-gpu: nothing numbers the processes of a node; expected SLURM_LOCALID, "
        "OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID or FLUX_TASK_LOCAL_ID of the launcher");
  facts.gpu = GpuOfTask(environment("CUDA_VISIBLE_DEVICES"), local);
  facts.host = std::exchange(facts.name, facts.name + "-gpu" + local);
}

}  // namespace

std::string GpuOfTask(const std::string& visible, const std::string& local) {
  if (visible.empty()) return local;
  std::vector<std::string> entries;
  std::istringstream list(visible);
  for (std::string entry; std::getline(list, entry, ',');) entries.push_back(entry);
  if (entries.size() == 1) return entries.front();
  const auto number = static_cast<std::size_t>(std::atoi(local.c_str()));
  if (number < entries.size()) return entries[number];
  throw BadInput(
      "--per-gpu: process {} of the node, and CUDA_VISIBLE_DEVICES={} has {} GPUs: start one "
      "process for each",
      local, visible, entries.size());
}

cluster::NodeFacts IdentifyNode(const Environment& environment, const std::string& host, bool per_gpu) {
  cluster::NodeFacts facts;
  facts.name = host;
  facts.known_by = "hostname";
  std::string local;
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
    if (engine.local != nullptr) local = environment(engine.local);
    if (per_gpu || engine.local == nullptr || engine.several == nullptr ||
        !IsSeveral(environment(engine.several)))
      break;
    facts.host = std::exchange(facts.name, facts.name + "-task" + local);
    break;
  }
  if (per_gpu) NameByGpu(environment, local, facts);
  facts.job = environment("SLURM_JOB_ID");
  facts.place = environment("SLURM_TOPOLOGY_ADDR");
  if (!CanBeAFile(facts.name))
    throw BadInput(
        "cluster node: the node's name '{}' ({}) cannot name a file: expected letters, "
        "digits, '-', '_' and '.'",
        facts.name, facts.known_by);
  return facts;
}

cluster::NodeFacts ThisNode(bool per_gpu) {
  const auto environment = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
  auto facts = IdentifyNode(environment, HostName(), per_gpu);
  facts.cpus_given = static_cast<int>(cpu::ThisCpu().allowed.size());
  if (const long online = sysconf(_SC_NPROCESSORS_ONLN); online > 0)
    facts.cpus = static_cast<int>(online);
  return facts;
}

}  // namespace dlroof::cluster_run
