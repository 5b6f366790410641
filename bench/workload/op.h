// Row that an op's folder registers: all that the other rooms need to know about the op.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/benchmark_name.h"
#include "counters/work.h"
#include "reporters/roofline/op_words.h"

namespace dlroof::benchdnn {
struct BenchdnnDriver;
}

namespace dlroof::workload {

// Options of names that reach the same result another way. A name has one of them at most.
struct OpVariants {
  std::string what;                  // "algorithm"
  std::vector<std::string> options;  // "auto", "winograd"
  std::string reason;                // why one of them may be faster
};

// One training step of a layer on one device.
struct TrainedLayer {
  int64_t batch = 1;       // [1] samples of a call
  int64_t parameters = 0;  // [1] weights and biases; each has a gradient
};

struct Op {
  std::string name;             // in benchmark names: "Conv2D"
  roofline::OpWords words;                // for reports: its noun, the letters of its problems
  std::string flop_convention;  // the rule by which its FLOPs are counted, for run files
  std::vector<const benchdnn::BenchdnnDriver*> benchdnn = {};  // drivers of benchdnn that time this op
  std::vector<std::string> directions = {};          // that any of its cells has
  // Lines of a suite file that say which benchmarks a problem has where the file does not.
  std::string templates = {};
  // Returns the name's problem with another batch size. Throws BadInput where the problem with it
  // cannot be, and Unsupported where the problem does not say which of its sizes is the batch.
  std::function<std::string(const BenchmarkName& name, int64_t batch)> with_batch = {};
  // Throws as with_batch. Empty: calls of this op have no parameters.
  std::function<TrainedLayer(const BenchmarkName& name)> trained = {};
  std::vector<OpVariants> variants = {};  // that a tuning may choose among
  // Returns the model of a call's traffic on a GPU, which is CountRequest::model. `gpu` is the
  // GPU's name. Empty: there is no model of this op, or none of this call.
  std::function<std::function<Work(std::string& how)>(
      const BenchmarkName& name, const std::string& algorithm, const std::string& gpu)>
      gpu_traffic = {};
};

// Called by each op's op.cpp at namespace scope. Returns true.
bool RegisterOp(Op op);
// Returns the ops in the order of their names.
std::vector<const Op*> AllOps();
// Returns null where no op has this name.
const Op* FindOp(std::string_view name);

}  // namespace dlroof::workload
