// Classifies x86 instructions by their bytes. Pure.
#pragma once

namespace dlroof::instructions {

// Returns whether the instruction at `code` is floating-point arithmetic or an integer multiply-add
// of quantized kernels: what FP_ARITH_INST_RETIRED counts (Intel SDM volume 3, events: add,
// subtract, multiply, divide, minimum, maximum, square root, reciprocals, dot products, fused
// multiply-adds), scalar and vector, SSE, AVX, AVX-512 with FP16 and BF16; PMADDWD, PMADDUBSW,
// VPDP*; AMX's TDP*. x87 is not included. Reads up to 15 bytes, the longest instruction.
// Encodings: Intel SDM volume 2, appendix A (opcode maps) and chapter 2 (VEX, EVEX).
bool IsArithmetic(const unsigned char* code);

}  // namespace dlroof::instructions
