
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "bench/cluster_run/commands.h"
#include "bench/cluster_run/node_folder.h"
#include "counters/base/files.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cluster_run {
namespace {

using testing::HasSubstr, testing::Not;

cluster::NodeFacts Identified(std::map<std::string, std::string> variables, bool per_gpu = false) {
  return IdentifyNode([&](const std::string& name) { return variables[name]; }, "host7", per_gpu);
}

// Open MPI sets PMIX_RANK too.
TEST(IdentifyNode, TheOthersHaveTheHostsName) {
  for (const auto& [variables, engine] :
       std::vector<std::pair<std::map<std::string, std::string>, std::string>>{
           {{{"OMPI_COMM_WORLD_RANK", "5"}, {"PMIX_RANK", "5"}}, "openmpi"},
           {{{"PMIX_RANK", "5"}}, "pmix"},
           {{{"PMI_RANK", "5"}}, "pmi"},
           {{{"FLUX_TASK_RANK", "5"}}, "flux"},
           {{}, ""}}) {
    const auto facts = Identified(variables);
    EXPECT_EQ(facts.name, "host7") << engine;
    EXPECT_EQ(facts.known_by, "hostname");
    EXPECT_EQ(facts.engine, engine);
    EXPECT_EQ(facts.rank, engine.empty() ? "" : "5");
  }
}

// A process with a GPU of its own has that in its name, also where a node has one alone. Slurm
// gives it the GPU, which alone it sees; Open MPI gives none.
TEST(IdentifyNode, ProcessesOfOneNodeHaveFilesOfTheirOwnAndKeepTheirHost) {
  using Variables = std::map<std::string, std::string>;
  const auto slurm = [](const char* tasks, const char* local, const char* visible) {
    return Variables{{"SLURMD_NODENAME", "n3"},
                     {"SLURM_PROCID", "13"},
                     {"SLURM_STEP_TASKS_PER_NODE", tasks},
                     {"SLURM_LOCALID", local},
                     {"SLURM_TOPOLOGY_ADDR", "s0.n3"},
                     {"CUDA_VISIBLE_DEVICES", visible}};
  };
  const Variables openmpi = {{"OMPI_COMM_WORLD_RANK", "3"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  auto named = openmpi;
  named["DLROOF_NODE"] = "n9";
  struct Row {
    Variables variables;
    bool per_gpu;
    std::string name, host, gpu;
  };
  for (const auto& [variables, per_gpu, name, host, gpu] :
       {Row{slurm("8(x4)", "5", ""), false, "n3-task5", "n3", ""},
        Row{slurm("8", "5", "0,1"), false, "n3-task5", "n3", ""},
        Row{openmpi, false, "host7-task1", "host7", ""}, Row{named, false, "n9-task1", "n9", ""},
        Row{named, true, "n9-gpu1", "n9", "1"},
        Row{{{"SLURMD_NODENAME", "n3"}}, false, "n3", "", ""},
        Row{slurm("8(x2)", "5", "0"), true, "n3-gpu5", "n3", "0"},
        Row{openmpi, true, "host7-gpu1", "host7", "1"},
        Row{slurm("1", "0", ""), true, "n3-gpu0", "n3", "0"}}) {
    const auto facts = Identified(variables, per_gpu);
    EXPECT_EQ(facts.name, name);
    EXPECT_EQ(facts.host, host) << name;
    EXPECT_EQ(facts.gpu, gpu) << name;
    EXPECT_EQ(facts.place, variables.contains("SLURM_TOPOLOGY_ADDR") ? "s0.n3" : "") << name;
  }
}

TEST(GpuOfTask, IsTheLaunchersOrTheEntryOfTheProcess) {
  EXPECT_EQ(GpuOfTask("", "3"), "3");
  EXPECT_EQ(GpuOfTask("7", "3"), "7");
  EXPECT_EQ(GpuOfTask("GPU-1a2b", "0"), "GPU-1a2b");
  EXPECT_EQ(GpuOfTask("4,5,6,7", "3"), "7");
  EXPECT_EQ(GpuOfTask("GPU-aa,GPU-bb", "1"), "GPU-bb");
}

TEST(IdentifyNode, ANameThatIsNoFilesIsRefused) {
  for (const char* name : {"../n3", "a b", ".n", "$(id)", "n1,n2"})
    EXPECT_THAT(fakes::RefusalOf([&] {
                  Identified({{"SLURMD_NODENAME", name}});
                }),
                HasSubstr("the node's name (SLURMD_NODENAME): "))
        << name;
}

// Between the two 10 + 0 + 10 + 70 + 0 + 0 + 0 + 10 units passed, 10 of them stolen; guests' times,
// the last two, are part of user and nice.
TEST(StealShare, IsOfAllCpusTime) {
  EXPECT_DOUBLE_EQ(*StealShare("cpu  100 0 50 800 0 0 0 5 0 0\ncpu0 1\n",
                               "cpu  110 0 60 870 0 0 0 15 9 0\ncpu0 1\n"),
                   0.1);
  EXPECT_FALSE(StealShare("cpu  1 2 3 4\n", "cpu  1 2 3 9\n"));  // an old kernel
  EXPECT_FALSE(StealShare("", ""));
  EXPECT_FALSE(StealShare("cpu  1 0 0 0 0 0 0 0\n", "cpu  1 0 0 0 0 0 0 0\n"));
}

TEST(SystemOf, ReadsGovernorAndClockLimits) {
  const TemporaryFolder folder;
  const std::filesystem::path cpus = std::filesystem::path(folder / "devices/system/cpu");
  std::filesystem::create_directories(cpus / "cpu0/cpufreq");
  std::filesystem::create_directories(cpus / "cpufreq");
  EXPECT_FALSE(SystemOf(folder / "").contains("governor"));
  std::ofstream(cpus / "cpu0/cpufreq/scaling_governor") << "powersave\n";
  std::ofstream(cpus / "cpu0/cpufreq/scaling_min_freq") << "800000\n";
  std::ofstream(cpus / "cpu0/cpufreq/scaling_max_freq") << "3600000\n";
  std::ofstream(cpus / "cpufreq/boost") << "0\n";
  const auto system = SystemOf(folder / "");
  EXPECT_EQ(system.at("governor"), "powersave");
  EXPECT_EQ(system.at("clock limits"), "800 to 3600 MHz, boost off");
  EXPECT_FALSE(system.at("kernel").empty());
}

// A quota of half a CPU; 3 of 8 periods pass while it is watched.
TEST(LoadWatch, CountsFromItsBegin) {
  std::string stat = "nr_periods 100\nnr_throttled 50\nthrottled_time 7\n";
  cpu::LimitFacts facts;
  facts.read = [&stat](const std::filesystem::path& path) -> std::string {
    if (path == "/proc/self/cgroup") return "0::/job\n";
    if (path == "/sys/fs/cgroup/job/cpu.max") return "50000 100000\n";
    if (path == "/sys/fs/cgroup/job/cpu.stat") return stat;
    return "";
  };
  const LoadWatch watch(facts);
  stat = "nr_periods 108\nnr_throttled 53\nthrottled_usec 9\n";
  const auto load = watch.Load();
  EXPECT_EQ(load.quota_cpus, 0.5);
  EXPECT_EQ(load.periods, 8);
  EXPECT_EQ(load.throttled, 3);
  EXPECT_FALSE(load.steal_share);
}

LaunchRequest Request() {
  return {.nodes = 4,
          .out = "/shared/it's out",
          .dlroof = "/opt/dlroof",
          .arguments = {"--benchmark_filter=$(touch owned)", "a b"}};
}

TEST(NodeFolder, PipesOfOthersAreNoFilesOfNodes) {
  const TemporaryFolder temporary;
  const NodeFolder folder(temporary / "out");
  folder.Make();
  for (const char* pipe : {"out/nodes/n1.json", "out/runs/n1.node", "out/asked.txt"})
    ASSERT_EQ(mkfifo((temporary / pipe).c_str(), 0600), 0);
  EXPECT_TRUE(folder.NodeFiles().empty() && folder.Unfinished().empty() && !folder.Asked());
}

TEST(LaunchScript, TextBecomesNoCommand) {
  const auto script = LaunchScript(Request());
  EXPECT_THAT(script, HasSubstr("out='/shared/it'\\''s out'\n"));
  EXPECT_THAT(script, HasSubstr("arguments=('--benchmark_filter=$(touch owned)' 'a b')\n"));
  EXPECT_THAT(script, Not(HasSubstr("{{")));
  auto request = Request();
  request.options = {"rm -rf /"};
  EXPECT_THAT(fakes::RefusalOf(LaunchScript, request), HasSubstr("expected an option of sbatch"));
  request.options = {"--comment=a\nrm -rf /"};
  EXPECT_THAT(fakes::RefusalOf(LaunchScript, request), HasSubstr("control character"));
}

TEST(LaunchScript, AProcessForEachGpuMeasuresNothingElse) {
  auto request = Request();
  request.gpus = 2;
  request.arguments = {"--dlroof_device=gpu"};
  EXPECT_THAT(LaunchScript(request), HasSubstr("arguments=(--dlroof_device=gpu)\n"));
  for (const char* device :
       {"--dlroof_device=auto", "--dlroof_device=cpu", "--dlroof_device=gpu1"}) {
    request.arguments = {device};
    EXPECT_THAT(fakes::RefusalOf(LaunchScript, request),
                HasSubstr("expected --dlroof_device=gpu, not --dlroof_device="));
  }
}

}  // namespace
}  // namespace dlroof::cluster_run
