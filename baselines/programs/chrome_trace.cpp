#include "baselines/programs/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>

#include "baselines/programs/gpu_ranges.h"
#include "baselines/programs/gpu_timeline.h"
#include "reporters/text/kernel_name.h"

namespace dlroof::programs {
namespace {

using gpu_trace::Interval;
using gpu_trace::Trace;

constexpr std::size_t kPiece = 1 << 20;  // [byte] written at once

// Returns the text as a JSON string, with its quotes. Invalid UTF-8 is replaced.
std::string Quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string SizeText(const gpu_trace::Size3& size) {
  return fmt::format("[{},{},{}]", size[0], size[1], size[2]);
}

class ChromeWriter {
 public:
  ChromeWriter(std::int64_t begin_ns, std::ostream& out) : begin_ns_(begin_ns), out_(out) {
    buffer_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  }

  void End() {
    buffer_ += "\n]}\n";
    out_ << buffer_;
  }

  // The processes of a Chrome trace are those of the program, each twice: its GPU and its host.
  void Add(const Trace& trace, std::size_t index) {
    gpu_ = 2 * index + 1;
    host_ = gpu_ + 1;
    const auto pid = trace.pid.value_or(0);
    Name("process_name", gpu_, 0, fmt::format("process {}: GPU", pid));
    AddKernels(trace);
    AddCopies(trace);
    for (const auto& lane : lanes_)
      Name("thread_name", gpu_, LaneOf(lane),
           fmt::format("GPU {}, stream {}", lane.device, lane.stream));
    lanes_.clear();
    AddRanges(trace, pid);
  }

 private:
  void AddKernels(const Trace& trace) {
    std::vector<std::string> names;  // of each kernel: its short name and its arguments
    std::vector<std::string> arguments;
    for (const auto& kernel : trace.kernels) {
      const auto name = DemangledKernel(trace.texts[kernel.name]);
      names.push_back(Quoted(text::ShortKernelName(name)));
      arguments.push_back(fmt::format(
          "\"kernel\":{},\"grid\":{},\"block\":{},\"registers\":{},\"shared bytes\":{:.0f}",
          Quoted(name), SizeText(kernel.grid), SizeText(kernel.block), kernel.registers,
          kernel.shared_bytes));
    }
    const RangesAround around(trace);
    for (std::size_t i = 0; i < trace.launches.size(); ++i) {
      const auto& launch = trace.launches[i];
      auto more = arguments[launch.kernel];
      if (launch.graph != 0)
        more += fmt::format(",\"graph\":{},\"graph node\":{}", launch.graph, launch.graph_node);
      if (const auto range = around.OfLaunch(i); range != RangesAround::kNone)
        more += fmt::format(",\"range\":{}", Quoted(PathOf(trace, around, range)));
      Event("kernel", names[launch.kernel], launch.time, launch.place, more);
    }
  }

  // Returns the names of the range and of those around it, the outermost first.
  static std::string PathOf(const Trace& trace, const RangesAround& around, std::uint32_t range) {
    std::string path = trace.texts[trace.ranges[range].name];
    for (range = around.OfRange(range); range != RangesAround::kNone; range = around.OfRange(range))
      path.insert(0, trace.texts[trace.ranges[range].name] + '/');
    return path;
  }

  void AddCopies(const Trace& trace) {
    constexpr std::string_view kNames[] = {"\"copy to the GPU\"", "\"copy to the host\"",
                                           "\"copy on the GPU\"", "\"copy between GPUs\"",
                                           "\"copy\""};
    for (const auto& copy : trace.copies)
      Event("copy", kNames[static_cast<std::size_t>(copy.kind)], copy.time, copy.place,
            fmt::format("\"bytes\":{:.0f},\"pinned\":{}", copy.bytes, !copy.pageable));
    for (const auto& fill : trace.fills)
      Event("fill", "\"fill\"", fill.time, fill.place, fmt::format("\"bytes\":{:.0f}", fill.bytes));
  }

  void AddRanges(const Trace& trace, std::uint32_t pid) {
    if (trace.ranges.empty()) return;
    Name("process_name", host_, 0, fmt::format("process {}: host", pid));
    std::set<std::uint32_t> threads;
    for (const auto& range : trace.ranges) {
      Put("range", Quoted(trace.texts[range.name]), range.time, host_, range.thread, "");
      threads.insert(range.thread);
    }
    for (const auto thread : threads)
      Name("thread_name", host_, thread, fmt::format("thread {}, NVTX", thread));
  }

  static std::uint64_t LaneOf(const gpu_trace::Place& place) {
    return (std::uint64_t{place.device} * 64 + place.context) * 100'000 + place.stream;
  }

  void Event(std::string_view category, std::string_view name, const Interval& time,
             const gpu_trace::Place& place, const std::string& arguments) {
    lanes_.insert(place);
    Put(category, name, time, gpu_, LaneOf(place), arguments);
  }

  void Put(std::string_view category, std::string_view name, const Interval& time,
           std::size_t process, std::uint64_t thread, const std::string& arguments) {
    const auto begin = time.begin_ns - begin_ns_, length = time.end_ns - time.begin_ns;
    fmt::format_to(std::back_inserter(buffer_),
                   "{}\n{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":{},\"pid\":{},\"tid\":{},"
                   "\"ts\":{}.{:03},\"dur\":{}.{:03},\"args\":{{{}}}}}",
                   Comma(), category, name, process, thread, begin / 1000, begin % 1000,
                   length / 1000, length % 1000, arguments);
    Flush();
  }

  void Name(std::string_view what, std::size_t process, std::uint64_t thread,
            const std::string& name) {
    fmt::format_to(std::back_inserter(buffer_),
                   "{}\n{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},"
                   "\"args\":{{\"name\":{}}}}}",
                   Comma(), what, process, thread, Quoted(name));
  }

  std::string_view Comma() { return std::exchange(first_, false) ? "" : ","; }

  void Flush() {
    if (buffer_.size() < kPiece) return;
    out_ << buffer_;
    buffer_.clear();
  }

  std::int64_t begin_ns_;
  std::ostream& out_;
  std::string buffer_;
  bool first_ = true;
  std::size_t gpu_ = 0, host_ = 0;
  std::set<gpu_trace::Place> lanes_;
};

}  // namespace

void WriteChromeTrace(const std::vector<Trace>& traces, std::ostream& out) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  const auto look = [&](const auto& all) {
    if (!all.empty()) begin = std::min(begin, all.front().time.begin_ns);
  };
  for (const auto& trace : traces) {
    look(trace.launches);
    look(trace.copies);
    look(trace.fills);
    look(trace.ranges);
  }
  ChromeWriter writer(begin, out);
  for (std::size_t i = 0; i < traces.size(); ++i) writer.Add(traces[i], i);
  writer.End();
}

}  // namespace dlroof::programs
