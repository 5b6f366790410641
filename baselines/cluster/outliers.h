// Finds slow nodes. A visit is one measurement of a node. The first visit of all nodes finds
// suspects. Five further visits measure the suspects and ordinary nodes (controls) again. A suspect
// is slow if it is more than 3 % slower than the controls in the median of these visits. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/keys.h"

namespace dlroof::cluster {

inline constexpr double kSlowEffect = 0.03;  // [1] minimum effect: logarithm of a ratio of times
inline constexpr int kFurtherVisits = 5;     // [1] needed to judge a suspect
inline constexpr std::size_t kMaxControls = 16;
inline constexpr std::size_t kMinJudgedNodes = 5;  // [1] with fewer nodes no node is judged

// Times [s] of one visit by row and node; nullopt if not measured. A row is a benchmark (time of a
// call) or a roof (time per FLOP, byte or launch).
using VisitTimes = std::vector<std::vector<std::optional<double>>>;

// Benchmarks or roofs (rows of VisitTimes) that are judged together, by their median.
struct RowGroup {
  std::string name;               // e.g. "all", "compute", "ceilings", "cpu.dram"
  std::vector<std::size_t> rows;  // indices into VisitTimes, at least one
  bool lone = false;              // a roof by itself, which must be slower to be a suspect
};

// Returns each node's effect [1]: the median over the group's rows of log(time / median time of the
// `reference` nodes), minus the median effect of the reference nodes. The subtraction removes a
// shift of all nodes of a visit. nullopt if a node shares no row with the reference nodes.
std::vector<std::optional<double>> EffectsOf(const VisitTimes& times, const RowGroup& group,
                                             const std::vector<std::size_t>& reference);

struct Suspect {
  std::size_t node = 0;
  std::size_t group = 0;  // index into the judged groups
  double effect = 0;      // [1] logarithm of the ratio of times in the first measurement
};

// Returns the `nodes` whose effect relative to all `nodes` exceeds the group's threshold, sorted by
// group, then node. Returns no suspects for fewer than kMinJudgedNodes nodes.
std::vector<Suspect> SuspectsOf(const VisitTimes& first, const std::vector<RowGroup>& groups,
                                const std::vector<std::size_t>& nodes);

// Returns, sorted, up to `most` ordinary nodes to measure again together with the suspects: the
// non-suspects whose effect over all benchmarks (the group `all`) is nearest to 0.
std::vector<std::size_t> ControlsFor(const VisitTimes& first, const RowGroup& all,
                                     const std::vector<std::size_t>& nodes,
                                     const std::vector<Suspect>& suspects,
                                     std::size_t most = kMaxControls);

enum class NodeVerdict {
  kSuspect,       // slow in the first measurement
  kSlow,          // confirmed by further visits
  kNotConfirmed,  // not slow in further visits
  kLimited,       // a quota limits its CPU time
  kDisturbed      // other programs or the host took its CPUs
};
inline constexpr KeyRow<NodeVerdict> kNodeVerdicts[] = {
    {NodeVerdict::kSuspect, "suspect"},
    {NodeVerdict::kSlow, "slow"},
    {NodeVerdict::kNotConfirmed, "not confirmed"},
    {NodeVerdict::kLimited, "limited"},
    {NodeVerdict::kDisturbed, "disturbed"},
    {NodeVerdict::kNotConfirmed, "not proved"}};  // the key in older files
inline std::string_view Key(NodeVerdict verdict) { return KeyIn(kNodeVerdicts, verdict); }

struct Finding {
  std::size_t node = 0;
  std::string what;  // the group's name
  // [1] ratio of times, exp(effect): the median over the further visits, or that of the first visit
  // if there are none. For kLimited and kDisturbed: Interference::wall_over_clean, at least 1.
  double ratio = 1;
  int visits = 0;  // [1] further visits that measured the node
  NodeVerdict verdict = NodeVerdict::kSuspect;
};

// Judges each suspect by its `further` visits: it is slow if the median of its effects relative to
// the `controls` exceeds kSlowEffect. With fewer than kFurtherVisits visits it stays a suspect.
std::vector<Finding> JudgeNodes(const std::vector<Suspect>& suspects,
                                const std::vector<RowGroup>& groups,
                                const std::vector<VisitTimes>& further,
                                const std::vector<std::size_t>& controls);

}  // namespace dlroof::cluster
