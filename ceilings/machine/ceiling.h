// From measured rates to ceilings, for every device, and doubts about them. Pure.
//
// Chooses the measured row that becomes a roof.
//
// Compares the ceilings of different thread counts with each other.
//
// The instructions that an arithmetic row needs, by its key alone: a machine file may come from
// another computer.
//
// A row's key is "<type>.<unit>.<part>"; its part names an instruction set, then a variant:
//   portable                    what the compiler makes of plain C++: no feature
//   sse2 ssse3 sse41 avx avx2   avx2 includes FMA for floating point; avx has none
//   fma_scalar                  FMA3 on single elements
//   avx_vnni                    vpdpbusd ymm in VEX encoding
//   avx512                      AVX512F, for int8 AVX512BW
//   avx512_vnni avx512_bf16 avx512_fp16
//   amx                         AMX-TILE with AMX-INT8, AMX-BF16 or AMX-FP16, by the type
// Variants: _scalar (one element per instruction), _nofma (multiply and add apart), _ymm (256-bit
// vectors of an AVX-512 extension), _l1 (operands loaded from L1 for each product).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"

namespace dlroof::machine {

// A rate of `work` per iteration as a ceiling, with what its proof knows from the repetitions;
// `how` gets the statistic appended.
Ceiling CeilingFrom(const Rate& rate, double work_per_iteration, int threads,
                    const std::string& how);

// Returns the mix that ChooseRoof takes, its name in `mix`. Throws std::invalid_argument when
// there is none.
using MeasuredMixes = std::map<std::string, Ceiling>;
Ceiling BestMix(const MeasuredMixes& mixes);

// Adds a reason, once however often an earlier comparison already gave it.
void AddReason(Ceiling& ceiling, const std::string& reason);
// Adds a reason that allows any error.
void ReasonUnbounded(Ceiling& ceiling, const std::string& reason);

// A row as sets hold it: its key and its ceiling.
using CeilingRow = std::pair<const std::string, Ceiling>;

// Returns the row with the highest rate, or a validated row within 3 % of it: measurements differ
// by that much. Null without rows.
const CeilingRow* ChooseRoof(const std::vector<const CeilingRow*>& rows);

// Sets proof.scaling, rate / (threads x the rate of one thread), of all pipes and of the mixes and
// roofs of L1 and L2: there each thread has its own data. Below 0.9 cores share a power budget,
// siblings a core, or cores their L2. A team that has a core for each thread (it may use `cores`)
// and stays below 0.9 at the same clock is no longer validated. Its cores are not its own. Call it
// again when a set was measured anew.
void AddScaling(Machine& machine, int cores);

// Doubts a smaller team whose rate per thread is more than 3 % below a larger team's. A neighbour
// on the same core or a lower clock held it back, and its own repetitions cannot see that. The
// reason names both rates. Repeated calls add it once.
void CompareThreadCounts(Machine& machine);

// The instruction set of a row without its variant: "avx512" for "fp32.vector.avx512_nofma". Empty
// for a plain pipe ("fp32.vector") and for a part that is not in the list.
std::string_view IsaOfRow(std::string_view row_key);

// The features of counters/cpu/cpu.h that the row needs; none where IsaOfRow is empty.
std::set<std::string> FeaturesOfRow(std::string_view row_key);

// May code that is held to `effective_isa` use the row's instructions? Names as oneDNN spells them
// (dnnl_cpu_isa_t without prefix: "avx2", "avx512_core_vnni"). An ISA that this program does not
// know excludes nothing, nor is a plain pipe ever excluded: a roof is rather too high than too low.
bool RowAllowed(std::string_view row_key, std::string_view effective_isa);

}  // namespace dlroof::machine
