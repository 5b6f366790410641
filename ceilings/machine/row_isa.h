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

#include <set>
#include <string>
#include <string_view>

namespace dlroof::machine {

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
