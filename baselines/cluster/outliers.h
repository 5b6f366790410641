// Slow nodes. The first visit of all nodes finds suspects; further visits of suspects and ordinary
// nodes confirm them by an exact sign test, which only assumes that the noise has median 0. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlroof::cluster {

struct OutlierRules {
  double effect = 0.03;       // [1] logarithm of a ratio; smaller effects are ignored
  double lone_effect = 0.1;   // [1] the same for a group of one row, which has no median over rows
  double error = 0.05;        // [1] probability that any ordinary node is called slow
  int least_visits = 8;       // [1] after the first
  std::size_t controls = 16;  // [1] ordinary nodes that are visited together with suspects
  std::size_t least_nodes = 5;  // [1] with fewer nodes none can be called ordinary
};

// [s] of one visit, by row and node, where measured. A row is a benchmark, or a roof as the time
// per FLOP or byte.
using VisitTimes = std::vector<std::vector<std::optional<double>>>;

// Rows that are judged together.
struct RowGroup {
  std::string name;               // "all", "compute", "ceilings", "cpu.dram", "link.send"
  std::vector<std::size_t> rows;  // indices into VisitTimes, at least one
  bool lone = false;              // judged by rules.lone_effect
};

// Returns each node's effect: the median over the group's rows of log(time / median time of the
// `reference` nodes). A node has none without a row that reference nodes have too.
std::vector<std::optional<double>> EffectsOf(const VisitTimes& times, const RowGroup& group,
                                             const std::vector<std::size_t>& reference);

struct Suspect {
  std::size_t node = 0;
  std::size_t group = 0;  // index into the groups
  double effect = 0;      // [1] of the first visit
};

// Returns the nodes whose effect relative to all `nodes` of their kind exceeds the rules', sorted
// by group, then node. Returns none with fewer than rules.least_nodes nodes.
std::vector<Suspect> SuspectsOf(const VisitTimes& first, const std::vector<RowGroup>& groups,
                                const std::vector<std::size_t>& nodes, const OutlierRules& rules);

// Returns how many further visits are enough to confirm one of this many suspects.
int VisitsNeeded(std::size_t suspects, const OutlierRules& rules);

// Returns ordinary nodes to visit: not suspects, nearest to the median over all benchmarks.
std::vector<std::size_t> ControlsFor(const VisitTimes& first, const RowGroup& all,
                                     const std::vector<std::size_t>& nodes,
                                     const std::vector<Suspect>& suspects,
                                     const OutlierRules& rules);

enum class NodeVerdict { kSuspect, kSlow, kNotConfirmed };
std::string_view Key(NodeVerdict verdict);
std::optional<NodeVerdict> NodeVerdictFromKey(std::string_view key);

struct Finding {
  std::size_t node = 0;
  std::string what;  // the group's name
  double ratio = 1;  // [1] of times: the median over further visits, else of the first visit
  std::optional<std::pair<double, double>> ci95;  // [1]; from 6 further visits on
  int visits = 0;                                 // [1] further ones with an effect
  std::optional<double> p;  // [1] of the sign test, adjusted by Holm (1979), if there were visits
  NodeVerdict verdict = NodeVerdict::kSuspect;
};

// Judges each suspect by its further visits: slow if the median visit exceeds the rules' effect by
// an exact sign test. All tests together have the error rules.error. Suspects without visits stay
// suspects.
std::vector<Finding> JudgeNodes(const std::vector<Suspect>& suspects,
                                const std::vector<RowGroup>& groups,
                                const std::vector<VisitTimes>& further,
                                const std::vector<std::size_t>& controls,
                                const OutlierRules& rules);

// Returns the probability of at least `above` heads in `visits` throws of a fair coin.
double SignTest(int above, int visits);

}  // namespace dlroof::cluster
