// Turns measured rates into ceilings, chooses the row that becomes a roof, compares the ceilings of
// different thread counts, and tells which instructions a row needs. For every device. Pure.
//
// The key of an arithmetic row is "<type>.<unit>.<part>". The part names an instruction set, then a
// variant. It is all that is known of a row in a machine file from another computer:
//   portable                    plain C++ as compiled, needs no CPU feature
//   sse2 ssse3 sse41 avx avx2   avx2 includes FMA for floating point; avx does not
//   fma_scalar                  FMA3 on single elements
//   avx_vnni                    vpdpbusd ymm in VEX encoding
//   avx512                      AVX512F, for int8 AVX512BW
//   avx512_vnni avx512_bf16 avx512_fp16
//   amx                         AMX-TILE with AMX-INT8, AMX-BF16 or AMX-FP16, by the type
// Variants: _scalar (one element per instruction), _nofma (separate multiply and add), _ymm
// (256-bit vectors of an AVX-512 extension), _l1 (operands loaded from L1 for each product).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"

namespace dlroof::machine {

// Converts a rate [iteration/s] into a ceiling with the numbers of its validation. Appends the
// statistic (repetitions, noise) to `how`.
Ceiling CeilingFrom(const Rate& rate, double work_per_iteration, int threads,
                    const std::string& how);

// The mixes of a memory level by name ("copy.avx2").
using MeasuredMixes = std::map<std::string, Ceiling>;
// Returns the mix that ChooseRoof takes, with its name in `mix`. Throws std::invalid_argument if
// `mixes` is empty.
Ceiling BestMix(const MeasuredMixes& mixes);

// Marks the ceiling as not validated and adds the reason unless the ceiling already has it.
void AddReason(Ceiling& ceiling, const std::string& reason);
// As AddReason, for a reason that puts no bound on the error of the rate.
void AddUnboundedReason(Ceiling& ceiling, const std::string& reason);

// A row of a CeilingSet: its key and its ceiling.
using CeilingRow = std::pair<const std::string, Ceiling>;

// Returns the row with the highest rate, or a validated row within 3 % of it, because measurements
// differ by that much. Returns null if there are no rows.
const CeilingRow* ChooseRoof(const std::vector<const CeilingRow*>& rows);

// Sets Validation::scaling = rate / (threads x the rate of one thread) for all pipes and for the
// mixes and roofs of L1 and L2, where each thread has its own data. A scaling below 0.9 means that
// cores share a power budget, siblings share a core, or cores share their L2. If a team has a core
// for each thread (the process may use `cores` cores) and stays below 0.9 at the same clock, other
// programs used its cores, and it is marked as not validated. Without `cores` none is marked. Call
// it again after a set has been measured again.
void AddScaling(Machine& machine, std::optional<int> cores);

// Marks a ceiling as not validated if a larger team is more than 3 % faster per thread: then
// another program on the same core or a lower clock slowed the smaller team, which its own
// repetitions cannot show. The reason names both rates. Repeated calls add it once.
void CompareThreadCounts(Machine& machine);

// Returns the instruction set of a row without its variant: "avx512" for
// "fp32.vector.avx512_nofma". Returns "" for a plain pipe ("fp32.vector") and an unknown part.
std::string_view IsaOfRow(std::string_view row_key);

// Returns the CPU features (counters/cpu/cpu.h) that the row needs. A plain pipe and an unknown
// part need none.
std::set<std::string> FeaturesOfRow(std::string_view row_key);

// Returns whether code limited to `effective_isa` may use the row's instructions. ISAs are spelled
// as in oneDNN (dnnl_cpu_isa_t without prefix: "avx2", "avx512_core_vnni"). An unknown ISA excludes
// no row, and a plain pipe is never excluded: a roof should rather be too high than too low.
bool RowAllowed(std::string_view row_key, std::string_view effective_isa);

}  // namespace dlroof::machine
