// Reads the trace files of a program (format.h). Pure; needs no CUDA. Accepts any bytes: a file may
// end anywhere, since a program may be killed. Skips damaged records, and everything from a damaged
// block on.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::gpu_trace {

using Size3 = std::array<std::uint32_t, 3>;

// A function with its grid and block. All its launches do the same work.
struct Kernel {
  std::uint32_t name = 0;       // index of Trace::texts; mangled
  Size3 grid = {}, block = {};  // grid {}: a CUDA graph that was traced as a whole

  bool operator==(const Kernel&) const = default;
};

// The device and the stream on which a launch, copy or fill ran.
struct Place {
  std::uint32_t device = 0, context = 0, stream = 0;

  auto operator<=>(const Place&) const = default;
};

// Begin and end [ns] on the trace's clock.
struct Interval {
  std::int64_t begin_ns = 0, end_ns = 0;
};

struct Launch {
  Interval time;
  std::uint32_t kernel = 0;  // index of Trace::kernels
  std::uint32_t graph = 0;   // number of its CUDA graph; 0: not launched by a graph
  Place place;
  std::uint32_t correlation = 0;
};

enum class CopyKind { kToDevice, kToHost, kOnDevice, kPeer, kOther };
struct Copy {
  Interval time;
  CopyKind kind = CopyKind::kOther;
  bool pageable = false;  // from or to memory of the host that is not pinned
  double bytes = 0;       // [byte]
  Place place;
};

struct Fill {
  Interval time;
  double bytes = 0;  // [byte]
  Place place;
};

struct Range {
  Interval time;
  std::uint32_t name = 0;  // index of Trace::texts
  std::uint32_t thread = 0;
  std::uint32_t depth = 0;  // [1] number of enclosing ranges of its thread
};

// A call of a CUDA function that launched kernels, copies or fills.
struct Call {
  std::uint32_t correlation = 0;  // equals Launch::correlation of its kernels
  std::uint32_t thread = 0;
  std::int64_t begin_ns = 0;
};

struct Device {
  std::uint32_t number = 0;
  std::string name;
  std::uint32_t compute_capability = 0;  // [1] major * 10 + minor
};

// The trace of one process. Launches, copies and fills are in the order of their begin.
struct Trace {
  std::string file;  // name of the trace file, without folder
  std::optional<std::uint32_t> pid;
  std::string command;
  std::optional<std::int64_t> begin_ns;
  std::vector<std::string> texts;
  std::vector<Kernel> kernels;
  std::vector<Launch> launches;
  std::vector<Copy> copies;
  std::vector<Fill> fills;
  std::vector<Range> ranges;  // in the order of their begin
  std::vector<Call> calls;    // sorted by correlation, then begin
  std::vector<Device> devices;
  double dropped = 0;             // [1] records lost by CUPTI or because the file was full
  double untimed = 0;             // [1] records of work without a time, left out
  std::optional<Reason> failure;  // why nothing could be traced
  bool full = false;              // the file reached its maximum size
  bool ended = false;             // the process ended by exit()
  // Sentences about damage of the file and about requests that CUPTI refused.
  std::vector<std::string> remarks;
};

// Reads a file's bytes. Throws BadInput if they are no trace or of a newer version of the format.
// `where` names the file in messages.
Trace ReadTrace(std::string_view bytes, const std::string& where);

// Reads all trace files of a folder, in the order of their processes' begin. A file that is no
// trace becomes a remark of an empty trace.
std::vector<Trace> ReadTraces(const std::filesystem::path& folder);

}  // namespace dlroof::gpu_trace
