// Events of a Chrome trace (Trace Event Format), as the profilers of PyTorch (Kineto) and of
// TensorFlow write them: operators and kernels with their inputs and self times; and the FLOPs and
// bytes of PyTorch's matrix products and convolutions by the sizes of their inputs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/work.h"

namespace dlroof::imports {

// All calls with the same name, the same inputs and the same kind of device.
struct TraceOp {
  std::string name;
  bool on_gpu = false;  // a kernel, copy or fill; otherwise an operator on the host
  // Inputs as PyTorch records them: a tensor has sizes and a type, a scalar or a list has a value.
  std::vector<std::vector<std::int64_t>> sizes;
  std::vector<std::string> types, values;
  double calls = 0;    // [1]
  double seconds = 0;  // [s] self time of all calls: without calls within them on their thread
};

struct Trace {
  std::vector<TraceOp> ops;                   // in the order of their first call
  std::map<std::string, double> left_out;     // [1] number of ignored events by reason
  std::map<std::string, double> assumed;      // [1] number of events by what is assumed of them
  bool cut = false;                           // the file ends within its events
  double threads = 0, events = 0, begin = 0;  // counts [1]; start of the first event [s]
  double end = 0;                             // [s] end of the last event
};

// Reads complete events ("ph": "X") one by one, so that large files fit into memory. Throws
// BadInput with the event's number if the text has another format, a time is invalid, or there is
// no event.
Trace ReadTrace(const std::string& text, const std::string& where);

// Returns the work of one call: [flop] 2 per multiply-add, including taps on the padding as in
// Conv2D; [byte] each input and the output once, between DRAM and the caches. Returns nothing for
// types other than f32 and f64 (the trace does not name the unit that multiplies narrower types),
// for other operators, for inconsistent sizes, and for an operator that only calls another one.
std::optional<Work> WorkOfOp(const TraceOp& op);

}  // namespace dlroof::imports
