#include "baselines/cluster/gather.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <tuple>

#include "baselines/cluster/cluster_file.h"
#include "baselines/cluster/node_effects.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "tests/baselines/cluster/fake_nodes.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/run_files.h"

namespace dlroof::cluster {
namespace {

using testing::Contains, testing::ElementsAre, testing::HasSubstr, testing::SizeIs;

NodeSummary Failed(const std::string& name, const std::string& reason) {
  NodeSummary summary;
  summary.facts.name = name;
  summary.status = NodeStatus::kFailed;
  summary.reason = reason;
  summary.file = "f";
  return summary;
}

std::vector<std::string> Names(const Cluster& cluster) {
  return VectorOf<std::string>(cluster.nodes, &ClusterNode::name);
}

TEST(NodeNameLess, NumbersCountAsNumbers) {
  std::vector<std::string> names = {"n10",      "n2",  "n1",   "m3",  "n",
                                    "n2-task1", "n1b", "r010", "r009"};
  std::ranges::sort(names, NodeNameLess);
  EXPECT_THAT(names, ElementsAre("m3", "n", "n1", "n1b", "n2", "n2-task1", "n10", "r009", "r010"));
}

TEST(Gather, ARepetitionIsANodesMedianAndACeilingTheMedianOverNodes) {
  const auto cluster = Gathered({{"n2", 4, 2}, {"n1", 2, 1}, {"n10", 8, 4}});
  EXPECT_THAT(Names(cluster), ElementsAre("n1", "n2", "n10"));
  ASSERT_EQ(cluster.run.records.size(), 2);
  const auto& record = cluster.run.records[0];
  EXPECT_EQ(record.name, fakes::Name("n1"));
  ASSERT_EQ(record.repetitions.size(), 3);
  EXPECT_DOUBLE_EQ(record.repetitions[0].seconds, 2);
  EXPECT_DOUBLE_EQ(record.repetitions[2].seconds, 8);
  EXPECT_THAT(cluster.nodes_of[0], ElementsAre(0, 1, 2));
  const auto& set = cluster.run.machines.at(0).by_threads.at(2);
  EXPECT_DOUBLE_EQ(set.flops.at("fp32.vector").per_second, 200);  // of 100, 200, 400
  EXPECT_DOUBLE_EQ(set.bytes.at(Level::kDram).per_second, 20);
  EXPECT_TRUE(set.bytes.at(Level::kDram).IsValidated());
  EXPECT_FALSE(set.bytes.at(Level::kDram).ci95);  // three nodes are too few for an interval
  EXPECT_EQ(cluster.nodes[2].roofs.at("cpu.bytes.dram"), 40);
}

// Of nodes with 2, 4 and 8 s the two faster ones are noisy: their times are estimates, the fastest
// repetition, which is 1 % faster than their median. The record's time is the median of the nodes'
// times and not the only clean one, nor the fastest.
TEST(Gather, ANoisyNodeCountsInTheMedianAsAnyOther) {
  const auto noisy = [](record::RunFile& run) {
    for (auto& repetition : run.records[0].repetitions) repetition.noisy = true;
  };
  const auto cluster = Gathered({{.name = "n1", .seconds = 2, .change = noisy},
                                 {.name = "n2", .seconds = 4, .change = noisy},
                                 {"n3", 8}});
  const auto time = record::TimeOf(cluster.run.records[0].repetitions);
  constexpr double kTime = 0.99 * 4;
  EXPECT_DOUBLE_EQ(time->median, kTime);
  EXPECT_FALSE(time->noisy);
  EXPECT_THAT(cluster.estimates[0], ElementsAre(true, true, false));
  EXPECT_EQ(EstimatesOf(cluster).estimates, 2);
  const auto written = ToJson(cluster, "x");
  EXPECT_EQ(written["records"][0]["seconds"]["median"], kTime);
  EXPECT_DOUBLE_EQ(written["benchmarks"][0]["real_time"].get<double>(), 1e9 * kTime);
  EXPECT_EQ(EstimatesIn(written["context"])->estimates, 2);
  // As files were written once: nodes with estimates are noisy repetitions.
  auto older = written;
  for (auto& repetition : older["records"][0]["repetitions"])
    if (repetition.contains("estimate")) {
      repetition.erase("estimate");
      repetition["disturbed"] = true;
    }
  for (const auto& text : {written.dump(), older.dump()})
    EXPECT_DOUBLE_EQ(record::TimeOf(fakes::ParsedRun(text).records[0].repetitions)->median, kTime);
}

TEST(Gather, ARoofThatMostNodesDidNotValidateIsNotValidated) {
  const auto refute = [](record::RunFile& run) {
    run.machines[0].by_threads[2].bytes.at(Level::kDram).status =
        machine::CeilingStatus::kNotValidated;
  };
  const auto cluster =
      Gathered({{"n0"}, {.name = "n1", .change = refute}, {.name = "n2", .change = refute}});
  const auto& dram = cluster.run.machines[0].by_threads.at(2).bytes.at(Level::kDram);
  EXPECT_FALSE(dram.IsValidated());
  EXPECT_THAT(dram.reasons, ElementsAre("validated on 1 of 3 nodes"));
}

TEST(Gather, RequestedNodesWithoutAFileAreMissingAndThoseOfAnotherKindNotInTheMedians) {
  const auto cluster =
      Gathered({{"n1"}, {"n2-task0"}, {"n2-task1"}}, std::vector<std::string>{"n1", "n2", "n3"});
  EXPECT_THAT(Names(cluster), ElementsAre("n1", "n2-task0", "n2-task1", "n3"));
  EXPECT_EQ(cluster.nodes[3].status, NodeStatus::kMissing);
  EXPECT_TRUE(cluster.asked_known);
  EXPECT_THAT(Gathered({{"n1"}}).remarks, Contains(HasSubstr("no list of requested nodes")));
  const auto mixed = Gathered({{"n1", 2}, {"n2", 9, 1, "ff"}, {"n3", 4}});
  ASSERT_EQ(mixed.kinds.size(), 2);
  EXPECT_THAT(mixed.kinds[0].nodes, ElementsAre(0, 2));
  EXPECT_EQ(mixed.run.records[0].repetitions.size(), 2);
  EXPECT_EQ(mixed.nodes[1].kind, 1);
  EXPECT_THAT(mixed.remarks,
              Contains(HasSubstr("other machines than most nodes, not in the medians: n2")));
}

TEST(Gather, AFailedNodeCostsNothingElseAndOneThatLacksBenchmarksIsNamed) {
  const auto failed = Gathered({{"n1"}, {"n3"}}, std::nullopt, {Failed("n2", "half a file")});
  EXPECT_EQ(failed.nodes[1].reason, "half a file");
  EXPECT_EQ(failed.run.records[0].repetitions.size(), 2);
  EXPECT_THAT(failed.nodes_of[0], ElementsAre(0, 2));
  auto lacking = SummaryOf(RunOfNode({"n2"}), "n2");
  const auto name = lacking.times.back().name;
  lacking.times.pop_back();
  EXPECT_THAT(Gathered({{"n1"}}, std::nullopt, {lacking}).remarks,
              Contains("n2 lacks 1 of 2 benchmarks: " + name));
  const auto cluster = Gathered({{"n1"}, {"n2", 2, 1, "00", {"--y"}}, {"n3"}});
  EXPECT_EQ(cluster.nodes[1].status, NodeStatus::kFailed);
  EXPECT_EQ(cluster.nodes[1].reason, "measured with other arguments: '--y', most nodes with '--x'");
  EXPECT_THAT(cluster.nodes_of[0], ElementsAre(0, 2));
  EXPECT_THAT(fakes::RefusalOf([] { Gathered({}, std::nullopt, {Failed("n1", "half a file")}); }),
              HasSubstr("no node has a benchmark with a time; the first one: n1: half a file"));
}

// --- The file ---

class ClusterFile : public testing::Test {
 protected:
  Cluster Again(const nlohmann::json& file) {
    WriteFile(folder_ / "c.json", file.dump());
    return ReadClusterFile(folder_ / "c.json");
  }
  std::string RefusalOfFile(const nlohmann::json& file) {
    return fakes::RefusalOf([&] { Again(file); });
  }

  TemporaryFolder folder_;
  nlohmann::json file_ = ToJson(
      Gathered({{"n1", 1.0 / 3}, {"n2", 4}}, std::vector<std::string>{"n1", "n2", "n3"}), "x");
};

TEST_F(ClusterFile, HasAllThatIsKnownOfANode) {
  auto cluster = Gathered({{"n1"}});
  auto& node = cluster.nodes[0];
  node.facts = {.name = "n1",
                .host = "n",
                .known_by = "hostname",
                .engine = "slurm",
                .rank = "1",
                .job = "2",
                .place = "s0.n",
                .gpu = "3",
                .cpus_specified = 4,
                .cpus = 5,
                .arguments = {"--x"},
                .system = {{"kernel", "6.1"}},
                .load = {.wall_seconds = 9, .steal_share = 0, .quota_cpus = 0.5, .throttled = 3}};
  node.interference = {.repetitions = 9, .noisy = 4, .wall_over_clean = 1.5};
  node.untimed = {{"gone", "no time"}};
  const auto again = Again(ToJson(cluster, "x")).nodes.at(0);
  EXPECT_EQ(again.facts, node.facts);
  EXPECT_EQ(again.interference, node.interference);
  EXPECT_EQ(std::tie(again.untimed, again.roofs, again.kind, again.file),
            std::tie(node.untimed, node.roofs, node.kind, node.file));
  EXPECT_DOUBLE_EQ(again.interference.NoisyShare(), 4.0 / 9);
}

TEST_F(ClusterFile, FaultsAreNamed) {
  for (const auto& [member, value, fault] :
       std::vector<std::tuple<const char*, nlohmann::json, const char*>>{
           {"/cluster/schema", 2, "written by a newer dlroof (schema 2"},
           {"/records/0/repetitions/1/node", 3, "'node': expected an index into cluster.nodes"},
           {"/cluster/nodes/0/status", "well", "expected whole, partial, missing or failed"},
           {"/cluster/nodes/0/name", "n1 --export=ALL", "expected a node's name of letters"},
           {"/cluster/nodes/2/host", "n$(id)", "expected a node's name of letters"},
           {"/cluster/nodes/0/facts/order", "$(id)", "'order': expected at-once or one-by-one"}}) {
    auto broken = file_;
    broken[nlohmann::json::json_pointer(member)] = value;
    EXPECT_THAT(RefusalOfFile(broken), HasSubstr(fault)) << member;
  }
  file_.erase("cluster");
  EXPECT_THAT(RefusalOfFile(file_), HasSubstr("has no 'cluster'"));
}

// --- How nodes differ ---

// Over 2, 4 and 8 s the median is 4: n1 takes half, n10 twice as long.
TEST(MakeNodeEffects, ANodesRatioIsTheMedianOverItsBenchmarks) {
  const auto cluster = Gathered({{"n1", 2, 1}, {"n2", 4, 2}, {"n10", 8, 4}});
  const auto effects = MakeNodeEffects(cluster);
  ASSERT_EQ(effects.nodes.size(), 3);
  EXPECT_EQ(effects.nodes[0].node, 2);
  EXPECT_DOUBLE_EQ(effects.nodes[0].ratio, 2);
  EXPECT_EQ(effects.nodes[0].benchmarks, 2);
  EXPECT_DOUBLE_EQ(effects.nodes[0].worst_ratio, 2);
  EXPECT_DOUBLE_EQ(effects.nodes[2].ratio, 0.5);
  EXPECT_DOUBLE_EQ(effects.benchmarks[1].median, 8);
  EXPECT_EQ(effects.benchmarks[1].high_node, 2);
  ASSERT_EQ(effects.roofs.size(), 2);
  EXPECT_EQ(effects.roofs[0].name, "cpu.bytes.dram");
  EXPECT_EQ(effects.roofs[0].low, 10);
  EXPECT_EQ(effects.roofs[0].low_node, 0);
}

// --- Kinds of nodes ---

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

std::vector<ClusterKind> Kinds(const std::vector<NodeSummary>& nodes) {
  return KindsOf(nodes, std::vector<bool>(nodes.size(), true));
}

TEST(KindsOf, EachUnlikeSettingIsAGroupOfItsOwnAndNearlyEqualMemoryIsEqual) {
  for (const char* key :
       {"library onednn", "version", "commit", "threads", "kernel", "microcode", "governor",
        "clock limits", "gpu driver", "variable ONEDNN_MAX_CPU_ISA"}) {
    const auto kinds = Kinds({Like("n1"), Like("n2", key, "other"), Like("n3")});
    ASSERT_THAT(kinds, SizeIs(2)) << key;
    EXPECT_THAT(kinds[0].nodes, ElementsAre(0, 2));
    EXPECT_THAT(kinds[1].nodes, ElementsAre(1));
    EXPECT_THAT(DifferencesOf(kinds[1], kinds[0]),
                Contains(HasSubstr(std::string(key) + ": other, most nodes: ")));
  }
  EXPECT_THAT(Kinds({Like("n1"), Like("n2", "memory", "23.6 GiB")}), SizeIs(1));
  EXPECT_THAT(Kinds({Like("n1"), Like("n2", "memory", "15.6 GiB")}), SizeIs(2));
  EXPECT_THAT(Kinds({Like("n1"), Like("n2", "memory", "23.5 TiB")}), SizeIs(2));
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

// --- Energy ---

energy::Energy OfNode(double joules) {
  return {.joules = joules,
          .domains = {{"dram-0", joules / 4}, {"package-0", 3 * joules / 4}},
          .beside = {{"psys", 2 * joules}},
          .seconds = joules / 100,
          .window_seconds = 0.5,
          .calls = 30,
          .others_cpus = joules / 1000,
          .from = "powercap",
          .covers = "packages and DRAM"};
}

TEST(MergedEnergy, IsTheMedianOfNodesOfTheSameDomains) {
  const auto merged = MergedEnergy({OfNode(8), OfNode(4), OfNode(6)});
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->joules, 6);
  EXPECT_FALSE(merged->ci95);  // three nodes are too few for 95 %
  EXPECT_EQ(merged->domains.at("dram-0"), 1.5);
  EXPECT_EQ(merged->beside.at("psys"), 12);
  EXPECT_EQ(merged->others_cpus, 0.008);
  EXPECT_EQ(merged->from, "powercap");
  // 6 values: their least and greatest.
  const auto six = MergedEnergy({OfNode(8), OfNode(4), OfNode(6), OfNode(7), OfNode(5), OfNode(9)});
  EXPECT_EQ(six->ci95, (std::pair(4.0, 9.0)));
  auto without_dram = OfNode(4);
  without_dram.domains.erase("dram-0");
  EXPECT_FALSE(MergedEnergy({OfNode(4), without_dram}));
  auto perf = OfNode(4);
  perf.from = "perf";
  EXPECT_FALSE(MergedEnergy({OfNode(4), perf}));
  EXPECT_FALSE(MergedEnergy({}));
}

}  // namespace
}  // namespace dlroof::cluster
