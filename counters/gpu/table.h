// The table of NVIDIA's hardware counters: which metric contributes to which quantity, by which
// factor, on which chips. The file counters/gpu/tables/metrics.json contains the rows and
// explains the names. Also builds the command line of Nsight Compute (ncu), which reads the same
// counters, and explains ncu's errors. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/files.h"

namespace dlroof::gpu {

struct CuptiChip {
  std::string name;            // CUPTI's name: "GH100"
  std::string family;          // name for all chips with the same counters: "GA10x"
  int compute_capability = 0;  // [1] major * 10 + minor: 90
};

// A set of metrics that are counted together or not at all.
struct CuptiSet {
  std::string name;      // "dram", "tensor.bf16"
  std::string counts;    // description for the user
  std::string type;      // operand type, "bf16"; empty if the set counts all types
  bool free = false;     // read only if the set needs no additional pass
  bool alone = false;    // the set needs a CUPTI configuration of its own
  bool patches = false;  // reading it patches kernels, which need more registers then
};

struct CuptiMetric {
  std::string set;
  std::string quantity;               // pipe ("fp32.vector") or input of DecodeCounters ("l1.tags")
  double weight = 0;                  // [quantity's unit] per count
  std::string name;                   // with the suffix that aggregates units: "dram__bytes.sum"
  std::vector<std::string> families;  // families of chips that have the metric
};

// Operand types of calls whose tensor operations are of one type.
struct CuptiCallType {
  std::string name;    // as benchmark names spell it: "int8"
  std::string tensor;  // type of a CuptiSet: "int8"
  // The elements "u8" and "s8" of source and weights in names of mixes: "s8s8f32"; may be empty.
  std::vector<std::string> elements;
  // The call should execute no tensor operations. They are counted to check this, because f32
  // convolutions may run in tf32.
  bool check = false;
};

struct CuptiTable {
  std::vector<CuptiChip> chips;
  std::vector<CuptiCallType> types;
  std::vector<CuptiSet> sets;  // the most important first
  std::vector<CuptiMetric> metrics;
};

// Throws BadInput for a missing key or a value of the wrong type. `where` starts the message.
CuptiTable CuptiTableFromJson(const nlohmann::json& json, const std::string& where);
const CuptiTable& BuiltInCuptiTable();

// Returns nullptr for a chip that the table lacks.
const CuptiChip* FindChip(const CuptiTable& table, std::string_view name);
std::vector<const CuptiMetric*> MetricsOf(const CuptiTable& table, const CuptiSet& set,
                                          const CuptiChip& chip);
// Returns the row of "f16", or of a mix of source, weights and destination ("f16f16f32"). Returns
// nullptr for a type that the table lacks, or if source and weights are of different rows.
const CuptiCallType* FindCallType(const CuptiTable& table, std::string_view type);
// Returns the pipes of tensor operations that the chip counts: "fp16.matrix", ...
std::vector<std::string> MatrixPipes(const CuptiTable& table, const CuptiChip& chip);
// Returns the first chip of each family, in the table's order.
std::vector<const CuptiChip*> Representatives(const CuptiTable& table);
// Returns the chip's compute capability as "9.0".
std::string CapabilityText(const CuptiChip& chip);
// Returns the operand types ("fp64", "tf32", ...) whose tensor operations any chip counts.
std::vector<std::string> TensorTypes(const CuptiTable& table);

// Returns the embedded file of counters/gpu/tables: "metrics".
const std::vector<EmbeddedFile>& CuptiTables();

// Returns a chip's metrics for time, FLOPs and bytes, without PCIe and the `free` sets.
std::vector<std::string> NcuMetrics(const CuptiTable& table, const CuptiChip& chip);

struct NcuChoice {
  std::string program = "ncu";
  std::string kernels;          // regular expression of the kernels to profile; may be empty
  int skip = 0;                 // [1] launches to skip first
  std::optional<int> launches;  // [1] maximum number of launches to profile
  std::string table;            // path of the output
  bool whole_names = true;      // ask for names of kernels that ncu does not simplify
  bool only_program = false;    // ignore child processes of the program, such as compilers
};

// Returns the ncu command that profiles `command` and neither flushes caches nor locks clocks.
std::vector<std::string> NcuCommand(const NcuChoice& choice,
                                    const std::vector<std::string>& metrics,
                                    const std::vector<std::string>& command);

// Returns whether `output` is the error of an ncu that lacks the option for NcuChoice::whole_names
// and therefore did not start the program.
bool RefusesWholeNames(std::string_view output);

// Returns one sentence: why ncu wrote no table, and the cure. `output`: everything ncu printed.
std::string NcuFailureSentence(std::string_view output, int exit_code);

}  // namespace dlroof::gpu
