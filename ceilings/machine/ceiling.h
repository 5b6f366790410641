// Functions on ceilings of any device: conversion from measured rates, choice of a roof among the
// rows of a pipe or level, comparison of thread counts, instructions that a row needs. Pure.
//
// The key of an arithmetic row is "<type>.<unit>.<part>". <part> is an instruction set, possibly
// with a variant. Readers of machine files derive the needed instructions from it:
//   portable                    plain C++ as compiled, needs no CPU feature
//   sse2 ssse3 sse41 avx avx2   avx2 includes FMA for floating point; avx does not
//   fma_scalar                  FMA3 on single elements
//   avx_vnni                    vpdpbusd ymm in VEX encoding
//   avx512                      AVX512F, for int8 AVX512BW
//   avx512_vnni avx512_bf16 avx512_fp16
//   amx                         AMX-TILE with AMX-INT8, AMX-BF16 or AMX-FP16, by the type
// Variants: _scalar (one element per instruction), _nofma (separate multiply and add), _ymm
// (256-bit vectors of an AVX-512 extension), _l1 (AMX loads its operands from L1, not only once).
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

// Converts a rate [iteration/s] into a ceiling: multiplies it with `work_per_iteration` [flop] or
// [byte] of all `threads`. Appends the number of clean or noisy repetitions to `how`.
Ceiling CeilingFrom(const Rate& rate, double work_per_iteration, int threads,
                    const std::string& how);

// The ceilings of a memory level's mixes of loads and stores, by mix ("copy.avx2").
using MeasuredMixes = std::map<std::string, Ceiling>;
// Returns the ceiling that ChooseRoof chooses, with its key in Ceiling::mix. Throws
// std::invalid_argument if `mixes` is empty.
Ceiling BestMix(const MeasuredMixes& mixes);

// Marks the ceiling as not validated. Adds `reason` unless the ceiling already has it.
void AddReason(Ceiling& ceiling, const std::string& reason);
// As AddReason. Also marks the ceiling as unbounded: its rate may be wrong by any factor.
void AddUnboundedReason(Ceiling& ceiling, const std::string& reason);

// A row of a CeilingSet: its key and its ceiling.
using CeilingRow = std::pair<const std::string, Ceiling>;

// Returns the row with the highest rate. If it is not validated, returns the fastest validated row
// within 3 % (measurement noise) of it, if there is one. Returns null if `rows` is empty.
const CeilingRow* ChooseRoof(const std::vector<const CeilingRow*>& rows);

// Returns the row that ChooseRoof chooses among the level's copy kernels ("dram.copy-nt.avx512"):
// the roof of calls that write as many bytes as they read. Returns null without copy kernels.
const CeilingRow* FastestCopy(const CeilingSet& ceilings, Level level);

// Sets Validation::scaling = rate / (threads x rate of one thread) for all pipes and for L1 and L2,
// where each thread has its own data. Below 0.9, cores share a power budget or L2, or threads share
// a core. With `cores`, the number of cores that the process may use, marks a ceiling as not
// validated if each of its threads has a core and scaling at equal clock is below 0.9: other
// programs used the cores. Call it again after a new measurement.
void AddScaling(Machine& machine, std::optional<int> cores);

// Marks a ceiling as not validated if a measurement with more threads is more than 3 % faster per
// thread: another program on the same core or a lower clock slowed the ceiling's own measurement.
// The reason contains both rates per thread. Repeated calls add the reason once.
void CompareThreadCounts(Machine& machine);

// Returns the instruction set of a row without its variant: "avx512" for
// "fp32.vector.avx512_nofma". Returns "" for a key without <part> or with an unknown <part>.
std::string_view IsaOfRow(std::string_view row_key);

// Returns the CPU features (names of counters/cpu/cpu.h) that the row needs: none for a key without
// <part> or with an unknown <part>.
std::set<std::string> FeaturesOfRow(std::string_view row_key);

// Returns true if code limited to `effective_isa` may use the row's instructions. ISAs have
// oneDNN's names (dnnl_cpu_isa_t without prefix: "avx2", "avx512_core_vnni"). Returns true for an
// unknown ISA or a key without <part>, because a roof that is too low misleads more.
bool RowAllowed(std::string_view row_key, std::string_view effective_isa);

}  // namespace dlroof::machine
