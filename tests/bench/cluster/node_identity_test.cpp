#include "bench/cluster/node_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/fakes/refusal.h"

namespace dlroof {
namespace {

using testing::HasSubstr;

NodeFacts Identified(std::map<std::string, std::string> variables) {
  return IdentifyNode([&](const std::string& name) { return variables[name]; }, "host7");
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
