// Slow nodes. One visit makes suspects; further visits beside ordinary nodes prove them by an exact
// test, which assumes nothing of the noise but that its median is 0. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlroof::cluster {

struct OutlierRules {
  double effect = 0.03;         // [1] logarithm of a ratio: smaller effects do not matter
  double lone_effect = 0.1;     // [1] the same of a group of one row, a value without a median
  double error = 0.05;          // [1] probability that any ordinary node is called slow
  int least_visits = 8;         // [1] beside the first
  std::size_t controls = 16;    // [1] ordinary nodes that are visited beside suspects
  std::size_t least_nodes = 5;  // [1] below, nobody can say which node is the ordinary one
};

// [s] of one visit, by row and node; absent: not measured. A row is a benchmark, or a roof as the
// time that a FLOP or byte takes there.
using VisitTimes = std::vector<std::vector<std::optional<double>>>;

// Rows that are looked at together.
struct RowGroup {
  std::string name;               // "all", "compute", "ceilings", "cpu.dram", "link.send"
  std::vector<std::size_t> rows;  // indices into VisitTimes, not empty
  bool lone = false;              // judged by rules.lone_effect
};

// Returns each node's effect: the median over the group's rows of log(time / median time of
// the `reference` nodes). Absent for a node without a time that reference nodes have too.
std::vector<std::optional<double>> EffectsOf(const VisitTimes& times, const RowGroup& group,
                                             const std::vector<std::size_t>& reference);

struct Suspect {
  std::size_t node = 0;
  std::size_t group = 0;  // index into the groups
  double effect = 0;      // [1] of the first visit
};

// Returns the nodes whose effect beside all `nodes` of their kind exceeds the rules', by group,
// then node. Empty with fewer than rules.least_nodes nodes.
std::vector<Suspect> SuspectsOf(const VisitTimes& first, const std::vector<RowGroup>& groups,
                                const std::vector<std::size_t>& nodes, const OutlierRules& rules);

// Returns how many further visits can prove one of so many suspects.
int VisitsNeeded(std::size_t suspects, const OutlierRules& rules);

// Returns the ordinary nodes to visit: no suspects, the nearest to the median of all benchmarks.
std::vector<std::size_t> ControlsFor(const VisitTimes& first, const RowGroup& all,
                                     const std::vector<std::size_t>& nodes,
                                     const std::vector<Suspect>& suspects,
                                     const OutlierRules& rules);

enum class NodeVerdict { kSuspect, kSlow, kNotValidated };
std::string_view Key(NodeVerdict verdict);
std::optional<NodeVerdict> NodeVerdictFromKey(std::string_view key);

struct Finding {
  std::size_t node = 0;
  std::string what;  // the group's name
  double ratio = 1;  // [1] of times: the median over further visits, or of the first one
  std::optional<std::pair<double, double>> ci95;  // [1]; absent below 6 further visits
  int visits = 0;                                 // [1] further ones with an effect
  std::optional<double> p;  // [1] of the sign test, adjusted as Holm (1979); absent without visits
  NodeVerdict verdict = NodeVerdict::kSuspect;
};

// Judges each suspect by its further visits: slow where the median visit exceeds the rules' effect,
// by an exact sign test, all tests together with rules.error. Suspects without visits stay
// suspects.
std::vector<Finding> JudgeNodes(const std::vector<Suspect>& suspects,
                                const std::vector<RowGroup>& groups,
                                const std::vector<VisitTimes>& further,
                                const std::vector<std::size_t>& controls,
                                const OutlierRules& rules);

// Returns the probability of at least `above` heads in `visits` throws of a fair coin.
double SignTest(int above, int visits);

}  // namespace dlroof::cluster
