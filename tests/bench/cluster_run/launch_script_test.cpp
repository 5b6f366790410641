#include "bench/cluster_run/launch_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::cluster_run {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

LaunchRequest Request(const std::string& engine) {
  return {.engine = engine,
          .nodes = 4,
          .out = "/shared/it's out",
          .dlroof = "/opt/dlroof",
          .arguments = {"--benchmark_filter=$(touch owned)", "a b"},
          .options = {}};
}

TEST(LaunchScript, TextBecomesNoCommand) {
  for (const char* engine : {"slurm", "mpirun"}) {
    const auto script = LaunchScript(Request(engine));
    EXPECT_THAT(script, HasSubstr("out='/shared/it'\\''s out'\n"));
    EXPECT_THAT(script, HasSubstr("arguments=('--benchmark_filter=$(touch owned)' 'a b')\n"));
    EXPECT_THAT(script, Not(HasSubstr("{{")));
  }
  const auto script = LaunchScript(Request("reframe"));
  EXPECT_THAT(script, HasSubstr("OUT = \"/shared/it's out\"\n"));
  EXPECT_THAT(script, HasSubstr("ARGUMENTS = [\"--benchmark_filter=$(touch owned)\",\"a b\"]\n"));
}

TEST(LaunchScript, SlurmsTasksTakeWholeNodes) {
  auto request = Request("slurm");
  request.options = {"--partition=gpu", "-t 10"};
  const auto script = LaunchScript(request);
  for (const char* line : {"#SBATCH --nodes=4\n", "#SBATCH --partition=gpu\n", "#SBATCH -t 10\n",
                           "-c \"$((cpus < count", "--no-kill", "--kill-on-bad-exit=0"})
    EXPECT_THAT(script, HasSubstr(line));
}

TEST(LaunchScript, MpirunBindsToNoCore) {
  auto request = Request("mpirun");
  request.options = {"--hostfile", "my hosts"};
  const auto script = LaunchScript(request);
  EXPECT_THAT(script, HasSubstr("-np 4 --map-by ppr:1:node --bind-to none"));
  EXPECT_THAT(script, HasSubstr("options=(--hostfile 'my hosts')\n"));
}

TEST(LaunchScript, TheOrderReachesTheNodes) {
  for (const char* engine : {"slurm", "mpirun"}) {
    auto request = Request(engine);
    EXPECT_THAT(LaunchScript(request), HasSubstr("order=\"at-once\"\n"));
    request.order = "one-by-one";
    EXPECT_THAT(LaunchScript(request),
                AllOf(HasSubstr("order=\"one-by-one\"\n"), HasSubstr("--order \"$order\"")));
  }
  auto request = Request("reframe");
  EXPECT_THAT(LaunchScript(request), HasSubstr("'--order', 'at-once'"));
  request.order = "one-by-one";
  EXPECT_THAT(fakes::RefusalOf([&] { LaunchScript(request); }),
              HasSubstr("--order=one-by-one: expected at-once, because ReFrame"));
}

TEST(LaunchScript, NodesAtOnceMeet) {
  for (const char* engine : {"slurm", "mpirun"}) {
    auto request = Request(engine);
    request.meet_seconds = 7.5;
    EXPECT_THAT(LaunchScript(request),
                AllOf(HasSubstr("\nmeet_seconds=7.5\n"), HasSubstr("\"$order\" = at-once ]"),
                      HasSubstr("/meetings\"\n")));
  }
}

TEST(LaunchScript, AProcessForEachGpuSeesThatOneAlone) {
  auto request = Request("slurm");
  request.gpus = 8;
  EXPECT_THAT(
      LaunchScript(request),
      AllOf(HasSubstr("#SBATCH --ntasks-per-node=8\n"), HasSubstr("#SBATCH --gpus-per-node=8\n"),
            HasSubstr("\ngpus=8 "), HasSubstr("per_gpu=(--per-gpu)\n"),
            HasSubstr("gpu_of_task=(--gpus-per-task=1)\n"), HasSubstr("\ntasks=8\n"),
            HasSubstr("'--benchmark_filter=$(touch owned)' 'a b' --dlroof_device=gpu)\n")));
  request.engine = "slurm-revisit";
  EXPECT_THAT(LaunchScript(request),
              AllOf(HasSubstr("#SBATCH --nodes=4\n"), HasSubstr("\ntasks=8\n"),
                    HasSubstr("#SBATCH --gpus-per-node=8\n")));
  request.engine = "mpirun";
  EXPECT_THAT(
      LaunchScript(request),
      AllOf(HasSubstr("mpirun -np 32 --map-by ppr:8:node"), HasSubstr("--host \"$node:8\""),
            HasSubstr("mpirun -np 4 --map-by ppr:1:node"), Not(HasSubstr("gpus-per-node"))));
  request.engine = "reframe";
  EXPECT_THAT(LaunchScript(request), AllOf(HasSubstr("GPUS = 8 "), HasSubstr("num_tasks = 8\n"),
                                           HasSubstr("OPTIONS = [\"--gpus-per-node=8\"]\n")));
}

TEST(LaunchScript, AProcessForEachNodeAsksForNoGpu) {
  for (const char* engine : {"slurm", "mpirun", "reframe"})
    EXPECT_THAT(LaunchScript(Request(engine)),
                AllOf(Not(HasSubstr("gpus-per-node")), Not(HasSubstr("dlroof_device"))));
  EXPECT_THAT(LaunchScript(Request("slurm")),
              AllOf(HasSubstr("#SBATCH --ntasks-per-node=1\n"), HasSubstr("\ngpus=0 ")));
}

TEST(LaunchScript, AProcessOfAGpuMeasuresNothingElse) {
  auto request = Request("slurm");
  request.gpus = 2;
  request.arguments = {"--dlroof_device=gpu"};
  EXPECT_THAT(LaunchScript(request), HasSubstr("arguments=(--dlroof_device=gpu)\n"));
  for (const char* device :
       {"--dlroof_device=auto", "--dlroof_device=cpu", "--dlroof_device=gpu1"}) {
    request.arguments = {device};
    EXPECT_THAT(fakes::RefusalOf([&] { LaunchScript(request); }),
                HasSubstr("expected --dlroof_device=gpu, not --dlroof_device="));
  }
}

TEST(LaunchScript, WhatNoScriptCanHoldIsRefused) {
  auto request = Request("slurm");
  request.options = {"rm -rf /"};
  EXPECT_THAT(fakes::RefusalOf([&] { LaunchScript(request); }),
              HasSubstr("expected an option of sbatch"));
  request.options = {"--comment=a\nrm -rf /"};
  EXPECT_THAT(fakes::RefusalOf([&] { LaunchScript(request); }), HasSubstr("control character"));
  EXPECT_THAT(fakes::RefusalOf([] { LaunchScript(Request("sge")); }),
              HasSubstr("--engine=sge: expected flux, kubernetes, lsf, mpirun, pbs, reframe"));
}

}  // namespace
}  // namespace dlroof::cluster_run
