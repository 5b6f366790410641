#include "counters/gpu_trace/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <unordered_map>

#include "counters/base/files.h"
#include "counters/gpu_trace/format.h"

namespace dlroof::gpu_trace {
namespace {

constexpr std::uint64_t kLatestNs = std::uint64_t{1} << 62;    // later times are damage
constexpr std::uint64_t kMaxWorkNs = 3'600'000'000'000 * 24;   // [ns] so are longer kernels
constexpr std::size_t kMaxBlockBytes = std::size_t{64} << 20;  // [byte] so are larger blocks

// Values of CUPTI's CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind.
constexpr std::uint8_t kHostToDevice = 1, kDeviceToHost = 2, kHostToArray = 3, kArrayToHost = 4,
                       kArrayToArray = 5, kArrayToDevice = 6, kDeviceToArray = 7,
                       kDeviceToDevice = 8, kPeerToPeer = 10, kPageable = 1;

CopyKind KindOf(const CopyRecord& record) {
  if (record.peer != 0) return CopyKind::kPeer;
  switch (record.kind) {
    case kHostToDevice:
    case kHostToArray:
      return CopyKind::kToDevice;
    case kDeviceToHost:
    case kArrayToHost:
      return CopyKind::kToHost;
    case kArrayToArray:
    case kArrayToDevice:
    case kDeviceToArray:
    case kDeviceToDevice:
      return CopyKind::kOnDevice;
    case kPeerToPeer:
      return CopyKind::kPeer;
    default:
      return CopyKind::kOther;
  }
}

Size3 SizeOf(const std::uint32_t (&from)[3]) { return {from[0], from[1], from[2]}; }

double Seconds(std::uint64_t ns) { return 1e-9 * static_cast<double>(ns); }

class TraceReader {
 public:
  explicit TraceReader(const std::string& where) : where_(where) {}

  Trace Read(std::string_view bytes) {
    std::size_t at = ReadHeader(bytes);
    while (at < bytes.size()) at = ReadBlock(bytes, at);
    Finish();
    return std::move(trace_);
  }

 private:
  std::size_t ReadHeader(std::string_view bytes) {
    FileHeader header;
    if (bytes.size() < sizeof header)
      throw BadInput("{}: expected a trace of a GPU's work, which has at least {} bytes", where_,
                     sizeof header);
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.mark, kFileMark, sizeof header.mark) != 0)
      throw BadInput("{}: expected a trace of a GPU's work, which begins with {}", where_,
                     std::string_view(kFileMark, sizeof kFileMark));
    if (header.version > kVersion)
      throw BadInput("{}: version {} of the format, and this program reads up to {}", where_,
                     header.version, kVersion);
    return std::max<std::size_t>(header.bytes, sizeof header);
  }

  // Returns the position behind the block.
  std::size_t ReadBlock(std::string_view bytes, std::size_t at) {
    BlockHeader header;
    const std::size_t left = bytes.size() - at;
    if (left < sizeof header) {
      SayCut();
      return bytes.size();
    }
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const std::string_view records = bytes.substr(at + sizeof header);
    if (header.mark != kBlockMark || header.bytes > kMaxBlockBytes || header.bytes % 8 != 0) {
      ++damaged_;
      return NextBlock(bytes, at + 1);
    }
    if (header.bytes > records.size()) {
      // The last block, or one with a damaged size. Of a cut one the whole records are right.
      const auto next = NextBlock(bytes, at + sizeof header);
      if (next < bytes.size()) {
        ++damaged_;
        return next;
      }
      SayCut();
      ReadRecords(records, true);
      return bytes.size();
    }
    if (Checksum(records.data(), header.bytes) != header.checksum) {
      ++damaged_;
      return NextBlock(bytes, at + sizeof header);
    }
    ReadRecords(records.substr(0, header.bytes), false);
    return at + sizeof header + header.bytes;
  }

  static std::size_t NextBlock(std::string_view bytes, std::size_t from) {
    char mark[sizeof kBlockMark];
    std::memcpy(mark, &kBlockMark, sizeof mark);
    return std::min(bytes.find(std::string_view(mark, sizeof mark), from), bytes.size());
  }

  void SayCut() { cut_ = true; }

  void ReadRecords(std::string_view records, bool cut) {
    while (records.size() >= 8) {
      RecordHeader header;
      std::memcpy(&header, records.data(), sizeof header);
      const std::size_t bytes = std::size_t{8} * header.words;
      if (bytes == 0 || bytes > records.size()) {
        if (!cut) ++damaged_;
        return;
      }
      ReadRecord(header.kind, records.substr(0, bytes));
      records.remove_prefix(bytes);
    }
  }

  template <class Record>
  static bool Take(std::string_view bytes, Record& record) {
    if (bytes.size() < sizeof record) return false;
    std::memcpy(&record, bytes.data(), sizeof record);
    return true;
  }

  void ReadRecord(Kind kind, std::string_view bytes) {
    switch (kind) {
      case Kind::kProcess:
        return Add<ProcessRecord>(bytes);
      case Kind::kText:
        return AddText(bytes);
      case Kind::kDevice:
        return Add<DeviceRecord>(bytes);
      case Kind::kKernel:
        return Add<KernelRecord>(bytes);
      case Kind::kLaunch:
        return Add<LaunchRecord>(bytes);
      case Kind::kCopy:
        return Add<CopyRecord>(bytes);
      case Kind::kFill:
        return Add<FillRecord>(bytes);
      case Kind::kRange:
        return Add<RangeRecord>(bytes);
      case Kind::kCall:
        return Add<CallRecord>(bytes);
      case Kind::kDropped:
        return Add<DroppedRecord>(bytes);
      case Kind::kCost:
        return Add<CostRecord>(bytes);
      case Kind::kFailure:
        return Add<FailureRecord>(bytes);
      case Kind::kFull:
        trace_.full = true;
        return;
      case Kind::kEnd:
        trace_.ended = true;
        return;
    }
    // A kind of a later version of the format.
  }

  template <class Record>
  void Add(std::string_view bytes) {
    Record record;
    if (!Take(bytes, record) || !Store(record)) ++damaged_;
  }

  // Returns the index of the text or the kernel with this number, or nullopt if it is not defined.
  using Indexes = std::unordered_map<std::uint32_t, std::uint32_t>;
  static std::optional<std::uint32_t> IndexOf(std::uint32_t number, const Indexes& indexes) {
    const auto found = indexes.find(number);
    if (found == indexes.end()) return std::nullopt;
    return found->second;
  }

  void AddText(std::string_view bytes) {
    TextRecord record;
    if (!Take(bytes, record) || record.bytes > bytes.size() - sizeof record) {
      ++damaged_;
      return;
    }
    texts_[record.number] = static_cast<std::uint32_t>(trace_.texts.size());
    trace_.texts.emplace_back(bytes.substr(sizeof record, record.bytes));
  }

  bool Store(const ProcessRecord& record) {
    trace_.pid = record.pid;
    trace_.parent = record.parent;
    if (const auto text = IndexOf(record.command, texts_)) trace_.command = trace_.texts[*text];
    trace_.cupti_version = record.cupti;
    if (record.begin_ns < kLatestNs) trace_.begin_ns = static_cast<std::int64_t>(record.begin_ns);
    return true;
  }

  bool Store(const DeviceRecord& record) {
    const auto name = IndexOf(record.name, texts_);
    if (!name) return false;
    trace_.devices.push_back({record.number, trace_.texts[*name], record.compute_capability,
                              record.multiprocessors, static_cast<double>(record.memory_bytes)});
    return true;
  }

  bool Store(const KernelRecord& record) {
    const auto name = IndexOf(record.name, texts_);
    if (!name) return false;
    kernels_[record.number] = static_cast<std::uint32_t>(trace_.kernels.size());
    trace_.kernels.push_back(
        {*name, SizeOf(record.grid), SizeOf(record.block), SizeOf(record.cluster), record.registers,
         static_cast<double>(record.static_shared_bytes) + record.dynamic_shared_bytes});
    return true;
  }

  // Returns the interval, or nullopt if it is damaged. CUPTI gives 0 if it could not measure.
  std::optional<Interval> TimeOf(std::uint64_t begin_ns, std::uint64_t duration_ns) {
    if (begin_ns >= kLatestNs || duration_ns > kMaxWorkNs) return std::nullopt;
    return Interval{static_cast<std::int64_t>(begin_ns),
                    static_cast<std::int64_t>(begin_ns + duration_ns)};
  }

  bool IsTimed(std::uint64_t begin_ns) {
    if (begin_ns == 0) ++trace_.untimed;
    return begin_ns != 0;
  }

  bool Store(const LaunchRecord& record) {
    const auto time = TimeOf(record.begin_ns, record.duration_ns);
    const auto kernel = IndexOf(record.kernel, kernels_);
    if (!time || !kernel) return false;
    if (IsTimed(record.begin_ns))
      trace_.launches.push_back({*time,
                                 *kernel,
                                 record.graph,
                                 record.graph_node,
                                 {record.device, record.context, record.stream},
                                 record.correlation});
    return true;
  }

  bool Store(const CopyRecord& record) {
    const auto time = TimeOf(record.begin_ns, record.duration_ns);
    if (!time) return false;
    if (IsTimed(record.begin_ns))
      trace_.copies.push_back({*time,
                               KindOf(record),
                               record.source == kPageable || record.destination == kPageable,
                               static_cast<double>(record.bytes),
                               record.graph_node,
                               {record.device, record.context, record.stream}});
    return true;
  }

  bool Store(const FillRecord& record) {
    const auto time = TimeOf(record.begin_ns, record.duration_ns);
    if (!time) return false;
    if (IsTimed(record.begin_ns))
      trace_.fills.push_back({*time,
                              static_cast<double>(record.bytes),
                              record.graph_node,
                              {record.device, record.context, record.stream}});
    return true;
  }

  bool Store(const RangeRecord& record) {
    const auto time = TimeOf(record.begin_ns, record.duration_ns);
    const auto name = IndexOf(record.name, texts_);
    if (!time || !name) return false;
    trace_.ranges.push_back({*time, *name, record.thread, record.depth});
    return true;
  }

  bool Store(const CallRecord& record) {
    if (record.begin_ns >= kLatestNs) return false;
    trace_.calls.push_back(
        {record.correlation, record.thread, static_cast<std::int64_t>(record.begin_ns)});
    return true;
  }

  bool Store(const DroppedRecord& record) {
    trace_.dropped += static_cast<double>(record.records);
    return true;
  }

  bool Store(const CostRecord& record) {
    trace_.cost = TraceCost{Seconds(record.library_ns), Seconds(record.cupti_ns),
                            static_cast<double>(record.records)};
    return true;
  }

  bool Store(const FailureRecord& record) {
    const auto text = IndexOf(record.text, texts_);
    if (!text) return false;
    trace_.failure = Reason{trace_.texts[*text]};
    return true;
  }

  void Finish() {
    const auto in_order = [](auto& all) {
      std::ranges::stable_sort(all, {}, [](const auto& one) { return one.time.begin_ns; });
    };
    in_order(trace_.launches);
    in_order(trace_.copies);
    in_order(trace_.fills);
    in_order(trace_.ranges);
    std::ranges::sort(trace_.calls, {}, [](const Call& call) {
      return std::tie(call.correlation, call.begin_ns, call.thread);
    });
    if (cut_) trace_.remarks.push_back(where_ + ": the file ends within a record");
    if (damaged_ > 0)
      trace_.remarks.push_back(
          fmt::format("{}: {} damaged records or blocks were skipped", where_, damaged_));
  }

  const std::string& where_;
  Trace trace_;
  Indexes texts_, kernels_;  // by the numbers in the file
  bool cut_ = false;
  std::size_t damaged_ = 0;  // [1] records and blocks
};

}  // namespace

Trace ReadTrace(std::string_view bytes, const std::string& where) {
  return TraceReader(where).Read(bytes);
}

std::vector<Trace> ReadTraces(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == kFileEnding) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<Trace> traces;
  for (const auto& path : paths) {
    const auto name = path.filename().string();
    try {
      traces.push_back(ReadTrace(ReadFile(path, "a trace of a GPU's work"), name));
    } catch (const BadInput& bad) {
      traces.emplace_back().remarks.push_back(bad.text);
    }
    traces.back().file = name;
  }
  std::ranges::stable_sort(traces, {},
                           [](const Trace& trace) { return trace.begin_ns.value_or(0); });
  return traces;
}

}  // namespace dlroof::gpu_trace
