// A parsed LSTM benchmark name, and how its type stores each tensor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/lstm/problem.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"

namespace dlroof::lstm {

// The element type of each tensor ("f32 bf16 f16 u8 s8"). Peephole weights and gradients are f32 in
// every type.
struct LstmType {
  std::string_view name;
  std::string_view benchdnn;  // what benchdnn's --cfg calls the same
  std::string_view source;    // the stack's input and what one layer hands to the next
  std::string_view hidden;    // hidden states in and out
  std::string_view output;    // of the last layer
  std::string_view weight;    // of the layer input, of the hidden state, of the projection
  std::string_view bias, cell;
};

// "f32", "bf16" (bias and cell states too), "bf16f32" (these two in f32), "f16", "int8" (u8
// activations, s8 weights, f32 bias and cell states) and its relatives, spelled as benchdnn does:
// hidden state in, input, hidden state out, output ("f32u8f32u8"; s8 instead of u8 has no shift).
const std::vector<LstmType>& LstmTypes();
std::vector<std::string> LstmTypeNames();
// Throws std::logic_error for a name that is none of them.
const LstmType& LstmTypeOf(std::string_view name);

// A parsed LSTM benchmark name, without its type.
struct LstmCase {
  LstmDirection direction = LstmDirection::kForwardInference;
  LstmProblem problem;
  bool plain_weights = false;     // "ldigo": weights [layer][pass][input][gate][hidden unit]
  std::string fpmath = "strict";  // what f32 may be computed as: also "bf16", "f16", "tf32", "any"

  bool operator==(const LstmCase&) const = default;
};
// Throws BadInput (column within the whole name) for a direction that is none, a type not in
// `types`, a bad problem, or an option that is not in `options` (known are "peephole", "ldigo" and
// "fpmath-bf16|f16|tf32|any").
LstmCase ReadLstmCase(const workload::BenchmarkName& name, const std::vector<std::string>& types,
                      const workload::OptionRows& options);

// Reads a name of LSTM/cpu/onednn.
LstmCase ReadOnednnLstmCase(const workload::BenchmarkName& name);

// Returns true if activations and weights are integers.
bool IsQuantized(const LstmType& type);
LstmElementBytes ElementBytes(const LstmType& type);

// The pipe on which the matrix part runs; arguments as those of MatrixPipe (pipe_choice.h).
// `fpmath` ("strict", "bf16", "f16", "tf32", "any") is what f32 may be computed as: "bf16.matrix"
// only where the names of all primitives, joined by " + ", prove it, since the library is free to
// ignore the mode.
std::string LstmMatrixPipe(const LstmType& type, std::string_view fpmath,
                           std::string_view implementation, std::string_view effective_isa);

}  // namespace dlroof::lstm
