// Events of a Chrome trace (Trace Event Format), as the profilers of PyTorch (Kineto) and of
// TensorFlow write them: operators and kernels with their inputs and self times; and the FLOPs and
// bytes of PyTorch's matrix products and convolutions by the sizes of their inputs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/work.h"

namespace dlroof::imports {

// All calls with the same name, the same inputs and the same kind of device.
struct TraceOp {
  std::string name;
  bool on_gpu = false;       // a kernel, copy or fill; otherwise an operator on the host
  std::string process, gpu;  // of a kernel: Kineto's number of the GPU, and its name if known
  // Inputs as PyTorch records them: a tensor has sizes and a type, a scalar or a list has a value.
  std::vector<std::vector<std::int64_t>> sizes;
  std::vector<std::string> types, values;
  double calls = 0;    // [1]
  double seconds = 0;  // [s] self time of all calls: without calls within them on their thread
};

// One call, or a span of the program that contains calls (PyTorch's record_function).
struct TraceCall {
  std::optional<std::size_t> op;  // index into Trace::ops; absent for a span
  std::string span;               // name of the span
  std::size_t thread = 0;         // [1] number of the thread, from 0
  double begin = 0, end = 0;      // [s] since 1970 if the trace says its base, else its own clock
};

struct Trace {
  std::vector<TraceOp> ops;                   // in the order of their first call
  std::map<std::string, double> left_out;     // [1] number of ignored events by reason
  std::map<std::string, double> assumed;      // [1] number of events by what is assumed of them
  bool cut = false;                           // the file ends within its events
  double threads = 0, events = 0, begin = 0;  // counts [1]; start of the first event [s]
  double end = 0;                             // [s] end of the last event
  // Operators and spans of the host, thread by thread, each before those within it. Only if
  // requested.
  std::vector<TraceCall> calls;
};

// Reads complete events ("ph": "X") one by one, so that large files fit into memory. Throws
// BadInput with the event's number if the text has another format, a time is invalid, or there is
// no event. With `keep_calls` the times are shifted by the trace's base ("baseTimeNanoseconds").
Trace ReadTrace(const std::string& text, const std::string& where, bool keep_calls = false);

// What is known about one call of an operator of PyTorch.
struct OpCount {
  std::string type;                   // of the first input: "f32", "bf16"
  std::optional<double> matrix;       // [flop] of matrix products, with 2 per multiply-add
  std::optional<double> elementwise;  // [flop] of others; both absent: unknown
  double bytes = 0;                   // [byte] each input and the output once; 0: unknown
  bool moves_data = false;            // it has no FLOPs: a copy, a fill, a choice of rows
};
// Returns the counts of one call in any type: products, convolutions (of filter taps inside the
// image: counters/base/filter_axis.h), attention, and operators that work element by element.
// Returns nothing for other operators, for inconsistent sizes, and for one that only calls another.
// Attention counts only the pairs of positions that a causal mask leaves.
std::optional<OpCount> CountOfOp(const TraceOp& op);
// Returns oneDNN's name of PyTorch's type: "bf16" for "c10::BFloat16"; "" for an unknown one.
std::string TypeName(std::string_view type);

}  // namespace dlroof::imports
