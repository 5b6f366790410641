// Events of a Chrome trace (Trace Event Format), as the profilers of PyTorch (Kineto) and of
// TensorFlow write them: what ran, on which tensors, how long by
// itself; and the FLOPs and bytes of PyTorch's operators that multiply matrices or convolve, by the
// sizes of their inputs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/work.h"

namespace dlroof::imports {

// Calls of one name with the same inputs on one kind of device.
struct TraceOp {
  std::string name;
  bool on_gpu = false;  // a kernel, copy or fill; else an operator on the host
  // Inputs as PyTorch records them: a tensor has sizes and a type, a scalar or a list a text.
  std::vector<std::vector<std::int64_t>> sizes;
  std::vector<std::string> types, values;
  double calls = 0;    // [1]
  double seconds = 0;  // [s] of all calls, less that of the calls within them on the same thread
};

struct Trace {
  std::vector<TraceOp> ops;                   // in the order of their first call
  std::map<std::string, double> left_out;     // [1] events by reason
  double threads = 0, events = 0, begin = 0;  // [1], [1], [s] of the first event
  double end = 0;                             // [s] of the last one
};

// Reads complete events ("ph": "X") one by one, whatever the size of the file. Throws BadInput with
// the event's number for a text that is no such trace, a time that is none, a file without events.
Trace ReadTrace(const std::string& text, const std::string& where);

// One call: [flop] 2 per multiply-add, taps on the padding count (as Conv2D has it); [byte] each
// input and the output once, between DRAM and the caches. f32 and f64 only: nobody knows by which
// units a narrower type was multiplied. Absent for any other operator, for sizes that do not fit
// and for an operator that only calls another one, which has them.
std::optional<Work> WorkOfOp(const TraceOp& op);

}  // namespace dlroof::imports
