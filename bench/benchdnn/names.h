// From benchdnn's problem and options to the name of the benchmark that times the same call.
#pragma once

#include <string>
#include <string_view>

#include "bench/benchdnn/options.h"
#include "bench/benchdnn/problem.h"

namespace dlroof {

struct BenchdnnName {
  std::string name;    // of our benchmark; empty: there is none
  std::string reason;  // why not: "3-D convolution"
};

// Conv2D/cpu/onednn/... FWD_I is fwd, FWD_D fwd/.../training, FWD_B fwd/.../training/bias, BWD_D
// bwd_data, BWD_W bwd_weights, BWD_WB bwd_weights/.../bias. `scales` stands for scales of source
// (common), weights (per_oc) and, where it is 8 bits wide, destination (common) other than 1, which
// benchdnn does not set. Padding behind the image that gives the same output as the padding before
// it is the same benchmark, written as symmetric.
BenchdnnName ConvName(const BenchdnnConv& problem, const BenchdnnChoice& choice);

// LSTM/cpu/onednn/... With --trivial-strides=false benchdnn makes rows of data one element longer
// than dense, dlroof does not: same problem, same name.
BenchdnnName LstmName(const BenchdnnRnn& problem, const BenchdnnChoice& choice);

// Our type of a convolution for benchdnn's "u8:s8:u8" ("int8"), and back; empty where there is
// none.
std::string ConvType(std::string_view data_types);
std::string ConvDataTypes(std::string_view type);

// Why options that both drivers have lead to no benchmark; empty where they do not stand in the
// way.
std::string CommonReason(const BenchdnnChoice& choice);

}  // namespace dlroof
