// NVIDIA's hardware counters as a table: which metric adds how much to which quantity on which
// chip. The table is a file, counters/cupti/metrics.json; what its names mean is said there.
//
// Nsight Compute as another reader of the same counters: its command line, and its refusals as
// sentences. Pure.
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
  std::string name;            // as CUPTI says it: "GH100"
  std::string family;          // chips that have the same counters: "GA10x"
  int compute_capability = 0;  // [1] major * 10 + minor: 90
};

// Metrics that are counted together or not at all.
struct CuptiSet {
  std::string name;      // "dram", "tensor.bf16"
  std::string counts;    // what, for people
  std::string type;      // of the operands, where it is about one: "bf16"; else empty
  bool free = false;     // wanted only where it costs no pass more
  bool alone = false;    // shares no configuration with the others
  bool patches = false;  // its counters patch kernels, which then need more registers
};

struct CuptiMetric {
  std::string set;
  std::string quantity;  // a pipe ("fp32.vector"), or what the decoder makes one of ("l1.tags")
  double weight = 0;     // [quantity's unit] for each one that is counted
  std::string name;      // with its rollup: "dram__bytes.sum"
  std::vector<std::string> families;  // that have it
};

struct CuptiTable {
  std::vector<CuptiChip> chips;
  std::vector<CuptiSet> sets;  // the most wanted first
  std::vector<CuptiMetric> metrics;
};

// `where` starts every message. Throws BadInput for a missing or wrong-typed key, a set, family or
// chip that is named twice, a metric of a set or family that is none, a weight that is not > 0, a
// name without a rollup.
CuptiTable CuptiTableFromJson(const nlohmann::json& json, const std::string& where);
// The one that is built in.
const CuptiTable& BuiltInCuptiTable();

// Null for a chip that the table does not have.
const CuptiChip* FindChip(const CuptiTable& table, std::string_view name);
std::vector<const CuptiMetric*> MetricsOf(const CuptiTable& table, const CuptiSet& set,
                                          const CuptiChip& chip);
bool HasCounters(const CuptiTable& table, const CuptiChip& chip, std::string_view set);
// First chip of each family, in the table's order: the others have the same counters.
std::vector<const CuptiChip*> Representatives(const CuptiTable& table);
// Types of operands that tensor cores of any chip are counted for: "fp64", "tf32", ...
std::vector<std::string> TensorTypes(const CuptiTable& table);

// Passes that CUPTI's host API asks for, without a device: what is stored in
// counters/cupti/passes.json.
struct StoredPlan {
  int passes = 0;                     // [1] runs of the call
  std::vector<std::string> counted;   // sets
  std::vector<std::string> left_out;  // sets that the chip has but that do not fit

  bool operator==(const StoredPlan&) const = default;
};
struct StoredPasses {
  std::string cupti;  // version of the host API: "130001"
  // By first chip of a family, then by type of the call's tensor operations ("" for none).
  std::map<std::string, std::map<std::string, StoredPlan>> plans;
};
// Throws BadInput like CuptiTableFromJson.
StoredPasses StoredPassesFromJson(const nlohmann::json& json, const std::string& where);
nlohmann::json ToJson(const StoredPasses& passes);
const StoredPasses& BuiltInStoredPasses();

// Returns the files of counters/cupti/tables: "metrics" and "passes".
const std::vector<EmbeddedFile>& CuptiTables();

// The metrics of a chip's sets that make time, FLOPs and bytes; without the free ones, and without
// PCIe's, which share no configuration with the others.
std::vector<std::string> NcuMetrics(const CuptiTable& table, const CuptiChip& chip);

struct NcuChoice {
  std::string program = "ncu";
  std::string kernels;          // regular expression; empty: all
  int skip = 0;                 // [1] launches that come first
  std::optional<int> launches;  // [1] that are profiled; absent: all
  std::string table;            // file that it writes
};

// Caches and clocks stay as the program has them: ncu itself would empty the one and lock the
// other.
std::vector<std::string> NcuCommand(const NcuChoice& choice,
                                    const std::vector<std::string>& metrics,
                                    const std::vector<std::string>& command);

// Returns why ncu made no table, and the cure, in one sentence. `said` is all that it wrote.
std::string WhyNoNcuTable(std::string_view said, int exit_code);

}  // namespace dlroof::cupti
