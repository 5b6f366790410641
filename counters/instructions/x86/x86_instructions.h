// The kind of an x86 instruction, from its bytes. Pure.
#pragma once

namespace dlroof::instructions {

// Returns whether the instruction at `code` computes with floating-point numbers, or multiplies and
// adds integers as quantized kernels do: what FP_ARITH_INST_RETIRED counts (Intel SDM volume 3,
// events: add, subtract, multiply, divide, minimum, maximum, square root, reciprocals, dot
// products, fused multiply-adds), scalar and vector, SSE, AVX, AVX-512 with FP16 and BF16; PMADDWD,
// PMADDUBSW, VPDP*; AMX's TDP*. x87 is not. Reads up to 15 bytes, as long as an instruction may be.
// Encodings: Intel SDM volume 2, appendix A (opcode maps) and chapter 2 (VEX, EVEX).
bool IsArithmetic(const unsigned char* code);

}  // namespace dlroof::instructions
