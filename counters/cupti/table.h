// The table of NVIDIA's hardware counters: which metric adds how much to which quantity on which
// chip. The file counters/cupti/tables/metrics.json has the rows and explains the names. Also the
// command line of Nsight Compute, which reads the same counters, and its failures. Pure.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/files.h"

namespace dlroof::cupti {

struct CuptiChip {
  std::string name;            // CUPTI's name: "GH100"
  std::string family;          // of chips with the same counters: "GA10x"
  int compute_capability = 0;  // [1] major * 10 + minor: 90
};

// Metrics that are counted together or not at all.
struct CuptiSet {
  std::string name;      // "dram", "tensor.bf16"
  std::string counts;    // description for people
  std::string type;      // of the operands: "bf16"; empty for a set of all types
  bool free = false;     // read only if it needs no additional pass
  bool alone = false;    // needs a configuration of its own
  bool patches = false;  // its counters patch kernels, which then need more registers
};

struct CuptiMetric {
  std::string set;
  std::string quantity;  // a pipe ("fp32.vector") or an input of the decoder ("l1.tags")
  double weight = 0;     // [quantity's unit] per count
  std::string name;      // with its rollup: "dram__bytes.sum"
  std::vector<std::string> families;  // that have it
};

struct CuptiTable {
  std::vector<CuptiChip> chips;
  std::vector<CuptiSet> sets;  // the most important first
  std::vector<CuptiMetric> metrics;
};

// Every message begins with `where`. Throws BadInput for a missing or wrong-typed key, a duplicate
// set, family or chip, a metric of an unknown set or family, a weight that is not above 0, a metric
// without a rollup.
CuptiTable CuptiTableFromJson(const nlohmann::json& json, const std::string& where);
const CuptiTable& BuiltInCuptiTable();

// Returns nullptr for a chip that the table lacks.
const CuptiChip* FindChip(const CuptiTable& table, std::string_view name);
std::vector<const CuptiMetric*> MetricsOf(const CuptiTable& table, const CuptiSet& set,
                                          const CuptiChip& chip);
bool HasCounters(const CuptiTable& table, const CuptiChip& chip, std::string_view set);
// Returns the first chip of each family, in the table's order.
std::vector<const CuptiChip*> Representatives(const CuptiTable& table);
// Returns the operand types of tensor cores that have counters on any chip: "fp64", "tf32", ...
std::vector<std::string> TensorTypes(const CuptiTable& table);

// The passes that CUPTI's host API needs without a device, as counters/cupti/tables/passes.json
// stores them.
struct StoredPlan {
  int passes = 0;                     // [1] runs of the call
  std::vector<std::string> counted;   // sets
  std::vector<std::string> left_out;  // sets that the chip has but that do not fit into the passes

  bool operator==(const StoredPlan&) const = default;
};
struct StoredPasses {
  std::string cupti;  // version of the host API: "130001"
  // By the first chip of a family, then by the type of the call's tensor operations ("" for none).
  std::map<std::string, std::map<std::string, StoredPlan>> plans;
};
// Throws BadInput like CuptiTableFromJson.
StoredPasses StoredPassesFromJson(const nlohmann::json& json, const std::string& where);
nlohmann::json ToJson(const StoredPasses& passes);
const StoredPasses& BuiltInStoredPasses();

// Returns the files of counters/cupti/tables: "metrics" and "passes".
const std::vector<EmbeddedFile>& CuptiTables();

// Returns a chip's metrics for time, FLOPs and bytes, without those of free sets and of PCIe.
std::vector<std::string> NcuMetrics(const CuptiTable& table, const CuptiChip& chip);

struct NcuChoice {
  std::string program = "ncu";
  std::string kernels;          // regular expression of the kernels to profile; may be empty
  int skip = 0;                 // [1] launches to skip first
  std::optional<int> launches;  // [1] maximum number of launches to profile
  std::string table;            // path of the output
};

// The command keeps ncu from flushing caches and locking clocks.
std::vector<std::string> NcuCommand(const NcuChoice& choice,
                                    const std::vector<std::string>& metrics,
                                    const std::vector<std::string>& command);

// Returns why ncu wrote no table, with the cure, in one sentence. `output` is all that ncu wrote.
std::string NcuFailureSentence(std::string_view output, int exit_code);

}  // namespace dlroof::cupti
