// The check that the LSTM cell on oneDNN makes before its time is believed.
#pragma once

#include "bench/lstm/onednn/call.h"
#include "bench/workload/workload.h"

namespace dlroof::onednn {

// Runs the call and compares everything that it returns (for `bwd`: every gradient) with the plain
// loops in double on the same inputs. Errors are relative to the largest value of each tensor; what
// is allowed is what `type`, or the type that the call's fpmath mode allows, loses.
Verification CompareWithLoops(LstmCall& call, std::string_view type, const LstmInput<float>& input,
                              const LstmOutput<float>& d_output);

}  // namespace dlroof::onednn
