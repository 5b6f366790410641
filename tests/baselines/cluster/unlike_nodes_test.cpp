#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baselines/cluster/gather.h"
#include "tests/baselines/cluster/fake_nodes.h"

namespace dlroof::cluster {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

NodeSummary Like(const std::string& name, const std::string& key = "",
                 const std::string& text = "") {
  NodeSummary summary;
  summary.facts.name = name;
  summary.machines = {{"cpu", "00"}};
  summary.traits = {{"kernel", "6.1"}, {"memory", "23.5 GiB"}};
  summary.algorithms = {{"x", "jit"}};
  if (!key.empty()) summary.traits[key] = text;
  return summary;
}

std::vector<ClusterKind> Kinds(const std::vector<NodeSummary>& nodes, bool mix = false) {
  return KindsOf(nodes, std::vector<bool>(nodes.size(), true), mix);
}

TEST(KindsOf, EachUnlikeSettingIsAGroupOfItsOwn) {
  for (const char* key :
       {"library onednn", "version", "commit", "threads", "kernel", "microcode", "governor",
        "clock limits", "gpu driver", "variable ONEDNN_MAX_CPU_ISA"}) {
    const auto kinds = Kinds({Like("n1"), Like("n2", key, "other"), Like("n3")});
    ASSERT_THAT(kinds, SizeIs(2)) << key;
    EXPECT_THAT(kinds[0].nodes, ElementsAre(0, 2));
    EXPECT_THAT(kinds[1].nodes, ElementsAre(1));
    EXPECT_THAT(DifferencesOf(kinds[1], kinds[0]),
                Contains(HasSubstr(std::string(key) + ": other, most nodes: ")));
    EXPECT_THAT(Kinds({Like("n1"), Like("n2", key, "other")}, true), SizeIs(1));
  }
}

TEST(KindsOf, NearlyEqualMemoryIsEqual) {
  EXPECT_THAT(Kinds({Like("n1"), Like("n2", "memory", "23.6 GiB")}), SizeIs(1));
  EXPECT_THAT(Kinds({Like("n1"), Like("n2", "memory", "15.6 GiB")}), SizeIs(2));
  EXPECT_THAT(Kinds({Like("n1"), Like("n2", "memory", "23.5 TiB")}), SizeIs(2));
}

TEST(KindsOf, AnotherAlgorithmOfABenchmarkIsUnlike) {
  auto other = Like("n3");
  other.algorithms["x"] = "ref";
  auto partial = Like("n4");
  partial.algorithms.clear();  // it has not measured x
  const auto kinds = Kinds({Like("n1"), Like("n2"), other, partial});
  ASSERT_THAT(kinds, SizeIs(2));
  EXPECT_THAT(kinds[0].nodes, ElementsAre(0, 1, 3));
  EXPECT_THAT(DifferencesOf(kinds[1], kinds[0]),
              ElementsAre("algorithms of 1 benchmark, such as x: ref, most nodes: jit"));
}

TEST(Gather, UnlikeNodesAreInNoMedianUnlessAsked) {
  std::map<std::string, record::RunFile> files;
  std::vector<NodeSummary> summaries;
  for (int i = 1; i <= 3; ++i) {
    const auto name = fmt::format("n{}", i);
    files[name] = RunOfNode({name, i == 3 ? 9.0 : 2.0});
    if (i == 3) files[name].machines[0].facts["kernel"] = "5.10";
    summaries.push_back(SummaryOf(files[name], name));
  }
  const auto reread = [&](const std::string& file) { return files.at(file); };
  const auto cluster = Gather(summaries, {}, reread);
  EXPECT_EQ(cluster.run.records[0].repetitions.size(), 2);
  EXPECT_THAT(cluster.remarks, Contains(HasSubstr("unlike most nodes, not in the medians: n3 "
                                                  "(kernel: 5.10, most nodes: unknown)")));
  EXPECT_EQ(Gather(summaries, {}, reread, true).run.records[0].repetitions.size(), 3);
}

}  // namespace
}  // namespace dlroof::cluster
