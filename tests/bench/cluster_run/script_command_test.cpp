#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/cluster_run/commands.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cluster_run {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

LaunchRequest Request() {
  return {.nodes = 4,
          .out = "/shared/it's out",
          .dlroof = "/opt/dlroof",
          .arguments = {"--benchmark_filter=$(touch owned)", "a b"}};
}

TEST(LaunchScript, TextBecomesNoCommand) {
  const auto script = LaunchScript(Request());
  EXPECT_THAT(script, HasSubstr("out='/shared/it'\\''s out'\n"));
  EXPECT_THAT(script, HasSubstr("arguments=('--benchmark_filter=$(touch owned)' 'a b')\n"));
  EXPECT_THAT(script, Not(HasSubstr("{{")));
}

TEST(LaunchScript, SaysWhatIsRequested) {
  auto request = Request();
  EXPECT_THAT(
      LaunchScript(request),
      AllOf(HasSubstr("order=\"at-once\"\n"), HasSubstr("\nvisits=0 "), HasSubstr("\ngpus=0 "),
            HasSubstr("#SBATCH --ntasks-per-node=1\n"), Not(HasSubstr("nodelist=")),
            Not(HasSubstr("gpus-per-node")), Not(HasSubstr("dlroof_device"))));
  request.options = {"--partition=gpu", "-t 10"};
  request.order = cluster::NodeOrder::kOneByOne;
  request.names = std::vector<std::string>{"n1", "n2"};
  request.visits = 5;
  const auto script = LaunchScript(request);
  for (const char* line :
       {"#SBATCH --nodes=4\n", "#SBATCH --partition=gpu\n", "#SBATCH -t 10\n",
        "-c \"$((cpus < count", "--no-kill", "--kill-on-bad-exit=0", "order=\"one-by-one\"\n",
        "--order \"$order\"", "\nvisits=5 ", "#SBATCH --nodelist=n1,n2\n"})
    EXPECT_THAT(script, HasSubstr(line));
}

TEST(LaunchScript, AProcessForEachGpuSeesThatOneAlone) {
  auto request = Request();
  request.gpus = 8;
  EXPECT_THAT(
      LaunchScript(request),
      AllOf(HasSubstr("#SBATCH --ntasks-per-node=8\n"), HasSubstr("#SBATCH --gpus-per-node=8\n"),
            HasSubstr("\ngpus=8 "), HasSubstr("per_gpu=(--per-gpu)\n"),
            HasSubstr("gpu_of_task=(--gpus-per-task=1)\n"), HasSubstr("\ntasks=8\n"),
            HasSubstr("'--benchmark_filter=$(touch owned)' 'a b' --dlroof_device=gpu)\n")));
}

TEST(LaunchScript, AProcessOfAGpuMeasuresNothingElse) {
  auto request = Request();
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
  auto request = Request();
  request.options = {"rm -rf /"};
  EXPECT_THAT(fakes::RefusalOf([&] { LaunchScript(request); }),
              HasSubstr("expected an option of sbatch"));
  request.options = {"--comment=a\nrm -rf /"};
  EXPECT_THAT(fakes::RefusalOf([&] { LaunchScript(request); }), HasSubstr("control character"));
}

}  // namespace
}  // namespace dlroof::cluster_run
