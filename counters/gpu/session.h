// Plans which counters of a chip are read for a call and in how many passes, and counts the call
// with CUPTI's range profiler, which it closes even after errors. Pure: CUPTI is behind CuptiApi.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/files.h"
#include "counters/base/work.h"
#include "counters/gpu/api.h"

namespace dlroof::gpu {

// The table of NVIDIA's hardware counters: which metric contributes to which quantity, by which
// factor, on which chips. The file counters/gpu/tables/metrics.json contains the rows and
// explains the names. Also builds the command line of Nsight Compute (ncu), which reads the same
// counters, and explains ncu's errors. Pure.

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

// A type in benchmark names, and the type of the tensor operations that calls of this type execute.
struct CuptiCallType {
  std::string name;    // as benchmark names spell it: "int8"
  std::string tensor;  // type of a CuptiSet: "int8"
  // Types of source and weights in names of mixed types: "u8", "s8" as in "s8s8f32". May be empty.
  std::vector<std::string> elements;
  // True if the call should execute no tensor operations; they are counted, as f32 may run in tf32.
  bool check = false;
};

struct CuptiTable {
  std::vector<CuptiChip> chips;
  std::vector<CuptiCallType> types;
  std::vector<CuptiSet> sets;  // the most important first
  std::vector<CuptiMetric> metrics;
};

// Reads a table. Throws BadInput for a missing key or a value of the wrong type, after `where`.
CuptiTable CuptiTableFromJson(const nlohmann::json& json, const std::string& where);
const CuptiTable& BuiltInCuptiTable();

// Returns the chip with CUPTI's name `name`, or nullptr if the table lacks it.
const CuptiChip* FindChip(const CuptiTable& table, std::string_view name);
std::vector<const CuptiMetric*> MetricsOf(const CuptiTable& table, const CuptiSet& set,
                                          const CuptiChip& chip);
// Returns the row of a type, e.g. "f16" or the mix "f16f16f32" (of source, weights, destination).
// Returns nullptr if the table lacks the type or source and weights belong to different rows.
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
  bool only_program = false;    // ignore child processes of the program, such as compilers
};

// Returns the ncu command that profiles `command` and neither flushes caches nor locks clocks. It
// asks for full kernel names (--rename-kernels), which older versions of ncu refuse.
std::vector<std::string> NcuCommand(const NcuChoice& choice,
                                    const std::vector<std::string>& metrics,
                                    const std::vector<std::string>& command);

// Cures of errors that CUPTI and ncu share.
inline constexpr const char* kPrivilegeCure =
    "run as root or with CAP_SYS_ADMIN (a container: --cap-add=SYS_ADMIN), or load the driver with "
    "NVreg_RestrictProfilingToAdminUsers=0 (/etc/modprobe.d, then a reboot)";
inline constexpr const char* kBusyCure =
    "end the other profiler, or pause DCGM with dcgmi profile --pause (and --resume afterwards)";

// Returns one sentence: why ncu wrote no table, and the cure. `output` is all that ncu printed.
std::string NcuFailureSentence(std::string_view output, int exit_code);

// Returns how many passes the metrics need together, or nullopt if the chip or the device rejects
// one of the metrics.
using PassesOf = std::function<std::optional<int>(const std::vector<std::string>& metrics)>;

struct CounterOptions {
  int most_passes = 3;      // [1] maximum number of runs of the call
  bool every_type = false;  // counts tensor operations of all types, not only the call's
  bool link = false;        // counts PCIe too, in separate runs
  bool patched = true;      // allows sets whose counters patch kernels
};

// Metrics that CUPTI collects together.
struct CuptiConfig {
  std::vector<std::string> metrics;
  int passes = 0;                 // [1] passes that CUPTI needs
  std::vector<std::string> free;  // the optional ones among `metrics` (CuptiSet::free)
  bool alone = false;             // whether the whole configuration is optional
};

struct CuptiPlan {
  std::vector<CuptiConfig> configs;
  std::vector<CuptiMetric> metrics;  // all metrics that are read
  // A requested set of metrics that is not read, and the reason: "l1", "would take a 4th pass".
  struct LeftOut {
    std::string set, reason;
  };
  std::vector<LeftOut> left_out;
  // Pipes of tensor operations that the chip counts and the plan does not: their FLOPs are unknown.
  std::vector<std::string> unread_pipes;
  int passes = 0;  // [1] sum over all configurations
};

// Returns the types of tensor operations to count for a call with operand type `type` ("f16"; empty
// if unknown) on `pipes`, the most important first: the type in the table's row of `type`, then the
// types of the call's matrix pipes. If both are missing, returns the types of its vector pipes,
// with tf32 in place of fp32 to detect an "fp32" call that runs in tf32.
std::vector<std::string> TensorTypesOf(const CuptiTable& table, const std::string& type,
                                       const std::vector<std::string>& pipes);

// Returns a plan with the requested sets of metrics in the table's order, tensor sets in the order
// of `types`. Leaves out a set, with the reason, if the chip lacks it, the device rejects it or it
// does not fit into the passes. Leaves out optional sets (CuptiSet::free) without a reason.
CuptiPlan PlanCounters(const CuptiTable& table, const CuptiChip& chip,
                       const std::vector<std::string>& types, const CounterOptions& options,
                       const PassesOf& passes_of);

struct CuptiDevice {
  int number = 0;  // CUDA's device number
  CuptiChip chip;
  CuptiImage availability;  // the counters that this user may read on the device
};

// Opens CUDA device `number`, checks that it can be profiled, and acquires and releases its
// counters once. Throws CuptiError, or std::runtime_error if the table lacks the chip.
CuptiDevice OpenCuptiDevice(CuptiApi& api, const CuptiTable& table, int number);

// Returns a PassesOf that asks CUPTI's host API, which needs no GPU.
PassesOf AskHostApi(CuptiApi& api, const std::string& chip, const CuptiImage& availability);

struct CountedValues {
  std::map<std::string, double> values;  // by metric
  int runs = 0;                          // [1] runs of the call
  std::vector<std::string> caveats;      // optional metrics that the device rejected
};

struct RepeatedCall {
  std::function<void()> run;    // the call is finished when it returns
  std::function<void()> ready;  // may be empty; called before each run and not counted
};

// Runs the call once per pass of each configuration in the plan and returns the counted values.
// Some hypervisors reject an optional metric only now; then counts without it and adds a caveat.
// Throws CuptiError or the exceptions of `run`. Releases CUPTI in every case.
CountedValues CountValues(CuptiApi& api, const CuptiDevice& device, const CuptiPlan& plan,
                          const RepeatedCall& call);

// Returns the kernels of one run of the call. Throws CuptiError or the exceptions of `run`.
std::vector<TracedKernel> TraceKernels(CuptiApi& api, const RepeatedCall& call);

// Runs the call once without counting, which warms up the caches.
void RunUncounted(CuptiApi& api, const RepeatedCall& call);

// Quantities of one run of a call, computed from counters.
struct CuptiCounts {
  Work work;                                   // without launches, for which there is no counter
  std::map<std::string, double> details;       // [byte] "shared", "dram.write", "l2.slices"
  std::map<std::string, double> instructions;  // [1] warp instructions by kind, e.g. "tensor.imma"
  std::vector<std::string> caveats;            // one sentence each
};

// Converts the `values` (by metric name) of the read `metrics`. `pipes`: pipes of the call.
// - One counter counts fp16 and bf16 instructions of the vector units; `pipes` tells which it was.
// - If half-precision instructions are less than 0.1 % of all FLOPs, they only load constants and
//   are not counted as work, unless `pipes` has a half-precision vector pipe.
// - L1 bytes are those of its tag stage plus shared memory (one memory with one data path).
// - L2 bytes are the traffic between SMs and L2. DRAM bytes are reads plus writes.
// - Host bytes are those of PCIe if that was read, otherwise the kernels' accesses to host memory.
// - A value that is missing, negative or not finite leaves its quantity out, with a caveat.
CuptiCounts DecodeCounters(const std::vector<CuptiMetric>& metrics,
                           const std::map<std::string, double>& values,
                           const std::vector<std::string>& pipes);

// Decides by the counted tensor instructions which of `unread_pipes`, whose FLOPs were not counted,
// worked. Sets the FLOPs of a pipe to 0 if none of its instructions was executed. If instructions
// were executed that only such a pipe explains, removes all FLOPs, which would be incomplete, and
// adds a caveat. Returns the pipes that worked or may have worked.
std::vector<std::string> CheckUnreadPipes(const std::vector<std::string>& unread_pipes,
                                          CuptiCounts& counts);

// Returns the waves [1] of a launch: its blocks / the blocks that fit on the GPU at once. A partial
// last wave leaves SMs idle. Returns nullopt if the capability is unknown or no block fits.
std::optional<double> Waves(const KernelFacts& kernel, const GpuIdentity& gpu);

// What counting a call gave.
struct CuptiReading {
  const CuptiPlan* plan = nullptr;
  CountedValues values;
  CuptiCounts counts;
  std::vector<std::string> unknown_pipes;  // pipes whose FLOPs are unknown, from CheckUnreadPipes
};

// Returns one line for the user: passes, shares of bytes, pipes whose FLOPs are unknown, and what
// was not counted with the reasons.
std::string HowCounted(const std::string& chip, const CuptiReading& reading);

// Merges launches with the same name and facts, in the order of their first appearance. Adds up
// their `launches`, and their `seconds` if all have a time.
std::vector<LaunchedKernel> MergedLaunches(std::vector<LaunchedKernel> launches);

// Returns the kernels, the longest time first. Merges launches with the same KernelName and facts.
std::vector<LaunchedKernel> LaunchedKernels(const std::vector<TracedKernel>& traced,
                                            const std::optional<GpuIdentity>& gpu);

// Returns a kernel's demangled name without its parameters.
std::string KernelName(const std::string& symbol);

std::string ChipNames(const CuptiTable& table);

}  // namespace dlroof::gpu
