#include "bench/cluster/node_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/fakes/refusal.h"

namespace dlroof {
namespace {

using testing::HasSubstr;

NodeFacts Identified(std::map<std::string, std::string> variables, bool per_gpu = false) {
  return IdentifyNode([&](const std::string& name) { return variables[name]; }, "host7", per_gpu);
}

TEST(IdentifyNode, SlurmsNameComesBeforeTheHosts) {
  const auto facts = Identified({{"SLURMD_NODENAME", "n3"},
                                 {"SLURM_PROCID", "2"},
                                 {"SLURM_JOB_ID", "41"},
                                 {"SLURM_TOPOLOGY_ADDR", "s0.n3"},
                                 {"PMIX_RANK", "9"},
                                 {"SLURM_STEP_TASKS_PER_NODE", "1(x4)"},
                                 {"SLURM_LOCALID", "0"}});
  EXPECT_EQ(facts.name, "n3");
  EXPECT_EQ(facts.known_by, "SLURMD_NODENAME");
  EXPECT_EQ(facts.engine, "slurm");
  EXPECT_EQ(facts.rank, "2");
  EXPECT_EQ(facts.job, "41");
  EXPECT_EQ(facts.place, "s0.n3");
}

TEST(IdentifyNode, TheOthersHaveTheHostsName) {
  for (const auto& [variable, engine] :
       std::map<std::string, std::string>{{"OMPI_COMM_WORLD_RANK", "openmpi"},
                                          {"PMIX_RANK", "pmix"},
                                          {"PMI_RANK", "pmi"},
                                          {"FLUX_TASK_RANK", "flux"}}) {
    const auto facts = Identified({{variable, "5"}});
    EXPECT_EQ(facts.name, "host7");
    EXPECT_EQ(facts.engine, engine);
    EXPECT_EQ(facts.rank, "5");
  }
  const auto alone = Identified({});
  EXPECT_EQ(alone.name, "host7");
  EXPECT_EQ(alone.known_by, "hostname");
  EXPECT_EQ(alone.engine, "");
}

TEST(IdentifyNode, OpenMpiSetsPmixToo) {
  EXPECT_EQ(Identified({{"OMPI_COMM_WORLD_RANK", "1"}, {"PMIX_RANK", "1"}}).engine, "openmpi");
}

TEST(IdentifyNode, TasksOfOneNodeHaveFilesOfTheirOwn) {
  EXPECT_EQ(Identified({{"SLURMD_NODENAME", "n3"},
                        {"SLURM_STEP_TASKS_PER_NODE", "8(x4)"},
                        {"SLURM_LOCALID", "5"}})
                .name,
            "n3-task5");
  EXPECT_EQ(Identified({{"OMPI_COMM_WORLD_RANK", "3"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}})
                .name,
            "host7-task1");
}

TEST(IdentifyNode, TheHostOfATaskIsKept) {
  const auto facts = Identified({{"SLURMD_NODENAME", "n3"},
                                 {"SLURM_STEP_TASKS_PER_NODE", "8"},
                                 {"SLURM_LOCALID", "5"},
                                 {"CUDA_VISIBLE_DEVICES", "0,1"}});
  EXPECT_EQ(facts.host, "n3");
  EXPECT_EQ(facts.gpu, "");
  EXPECT_EQ(Identified({{"SLURMD_NODENAME", "n3"}}).host, "");
}

TEST(IdentifyNode, AProcessOfAGpuIsNamedByItsNumberOnTheNode) {
  // Slurm gave it the GPU, which alone it sees.
  const auto slurm = Identified({{"SLURMD_NODENAME", "n3"},
                                 {"SLURM_PROCID", "13"},
                                 {"SLURM_STEP_TASKS_PER_NODE", "8(x2)"},
                                 {"SLURM_LOCALID", "5"},
                                 {"SLURM_TOPOLOGY_ADDR", "s0.n3"},
                                 {"CUDA_VISIBLE_DEVICES", "0"}},
                                true);
  EXPECT_EQ(slurm.name, "n3-gpu5");
  EXPECT_EQ(slurm.host, "n3");
  EXPECT_EQ(slurm.gpu, "0");
  EXPECT_EQ(slurm.place, "s0.n3");
  // mpirun gives none.
  const auto mpi = Identified({{"OMPI_COMM_WORLD_RANK", "9"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}},
                              true);
  EXPECT_EQ(mpi.name, "host7-gpu1");
  EXPECT_EQ(mpi.host, "host7");
  EXPECT_EQ(mpi.gpu, "1");
  // A node of one GPU has its number too.
  EXPECT_EQ(
      Identified(
          {{"SLURMD_NODENAME", "n3"}, {"SLURM_STEP_TASKS_PER_NODE", "1"}, {"SLURM_LOCALID", "0"}},
          true)
          .name,
      "n3-gpu0");
}

TEST(IdentifyNode, AProcessOfAGpuThatNobodyNumbersIsRefused) {
  for (const char* variable : {"PMIX_RANK", "HOME"})
    EXPECT_THAT(RefusalOf([&] {
                  Identified({{variable, "3"}}, true);
                }),
                HasSubstr("--per-gpu: nothing numbers the processes of a node"))
        << variable;
}

TEST(GpuOfTask, IsTheLaunchersOrTheEntryOfTheProcess) {
  EXPECT_EQ(GpuOfTask("", "3"), "3");
  EXPECT_EQ(GpuOfTask("7", "3"), "7");
  EXPECT_EQ(GpuOfTask("GPU-1a2b", "0"), "GPU-1a2b");
  EXPECT_EQ(GpuOfTask("4,5,6,7", "3"), "7");
  EXPECT_EQ(GpuOfTask("GPU-aa,GPU-bb", "1"), "GPU-bb");
  EXPECT_THAT(RefusalOf([] { GpuOfTask("4,5", "2"); }),
              HasSubstr("process 2 of the node, and CUDA_VISIBLE_DEVICES=4,5 has 2 GPUs"));
}

TEST(IdentifyNode, ANameThatIsNoFilesIsRefused) {
  for (const char* name : {"../n3", "a b", ".n"})
    EXPECT_THAT(RefusalOf([&] {
                  Identified({{"SLURMD_NODENAME", name}});
                }),
                HasSubstr("cannot name a file"))
        << name;
}

TEST(ThisNode, SaysHowManyCpusItWasGiven) {
  const auto facts = ThisNode();
  EXPECT_GE(facts.cpus_given, 1);
  EXPECT_GE(facts.cpus, facts.cpus_given);
}

}  // namespace
}  // namespace dlroof
