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

// Records and blocks with larger values are damaged.
constexpr std::uint64_t kMaxTimeNs = std::uint64_t{1} << 62;   // [ns]
constexpr std::uint64_t kMaxWorkNs = 3'600'000'000'000 * 24;   // [ns] duration of a kernel
constexpr std::size_t kMaxBlockBytes = std::size_t{64} << 20;  // [byte]

// Values of CUPTI's CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind.
constexpr std::uint8_t kHostToDevice = 1, kDeviceToHost = 2, kHostToArray = 3, kArrayToHost = 4,
                       kArrayToArray = 5, kArrayToDevice = 6, kDeviceToArray = 7,
                       kDeviceToDevice = 8, kPeerToPeer = 10, kPageable = 1;

CopyKind KindOf(const CopyRecord& record) {
  const auto is = [&](std::initializer_list<std::uint8_t> kinds) {
    return std::ranges::count(kinds, record.kind) > 0;
  };
  if (record.peer != 0 || is({kPeerToPeer})) return CopyKind::kPeer;
  if (is({kHostToDevice, kHostToArray})) return CopyKind::kToDevice;
  if (is({kDeviceToHost, kArrayToHost})) return CopyKind::kToHost;
  if (is({kArrayToArray, kArrayToDevice, kDeviceToArray, kDeviceToDevice}))
    return CopyKind::kOnDevice;
  return CopyKind::kOther;
}

Size3 SizeOf(const std::uint32_t (&from)[3]) { return {from[0], from[1], from[2]}; }

// Thrown if a record cannot be read or refers to an undefined text, kernel or device.
struct Damaged {};

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

  // Reads a block. Returns the position after it, or the end of the file if the block is damaged.
  std::size_t ReadBlock(std::string_view bytes, std::size_t at) {
    BlockHeader header;
    if (bytes.size() - at < sizeof header) {
      cut_ = true;
      return bytes.size();
    }
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const std::string_view records = bytes.substr(at + sizeof header);
    if (header.mark != kBlockMark || header.bytes > kMaxBlockBytes || header.bytes % 8 != 0) {
      damaged_block_ = true;
    } else if (header.bytes > records.size()) {
      cut_ = true;  // the complete records of the cut last block are readable
      ReadRecords(records, true);
    } else if (Checksum(records.data(), header.bytes) != header.checksum) {
      damaged_block_ = true;
    } else {
      ReadRecords(records.substr(0, header.bytes), false);
      return at + sizeof header + header.bytes;
    }
    return bytes.size();
  }

  void ReadRecords(std::string_view records, bool cut) {
    while (records.size() >= 8) {
      RecordHeader header;
      std::memcpy(&header, records.data(), sizeof header);
      const std::size_t bytes = std::size_t{8} * header.words;
      if (bytes == 0 || bytes > records.size()) {
        if (!cut) ++damaged_;
        return;
      }
      try {
        ReadRecord(header.kind, records.substr(0, bytes));
      } catch (const Damaged&) {
        ++damaged_;
      }
      records.remove_prefix(bytes);
    }
  }

  void ReadRecord(Kind kind, std::string_view bytes) {
    using Reader = void (TraceReader::*)(std::string_view);
    static constexpr std::pair<Kind, Reader> kReaders[] = {
        {Kind::kProcess, &TraceReader::Read<ProcessRecord>},
        {Kind::kText, &TraceReader::ReadText},
        {Kind::kDevice, &TraceReader::Read<DeviceRecord>},
        {Kind::kKernel, &TraceReader::Read<KernelRecord>},
        {Kind::kLaunch, &TraceReader::Read<LaunchRecord>},
        {Kind::kCopy, &TraceReader::Read<CopyRecord>},
        {Kind::kFill, &TraceReader::Read<FillRecord>},
        {Kind::kRange, &TraceReader::Read<RangeRecord>},
        {Kind::kCall, &TraceReader::Read<CallRecord>},
        {Kind::kAnswer, &TraceReader::Read<AnswerRecord>},
        {Kind::kDropped, &TraceReader::Read<DroppedRecord>},
        {Kind::kFailure, &TraceReader::Read<FailureRecord>}};
    if (kind == Kind::kFull) trace_.full = true;
    if (kind == Kind::kEnd) trace_.ended = true;
    for (const auto& [known, reader] : kReaders)  // skips kinds of later versions of the format
      if (known == kind) (this->*reader)(bytes);
  }

  template <class Record>
  static Record Taken(std::string_view bytes) {
    Record record;
    if (bytes.size() < sizeof record) throw Damaged();
    std::memcpy(&record, bytes.data(), sizeof record);
    return record;
  }

  template <class Record>
  void Read(std::string_view bytes) {
    Store(Taken<Record>(bytes));
  }

  // Returns the index of the text or kernel with this number in the file.
  using Indexes = std::unordered_map<std::uint32_t, std::uint32_t>;
  static std::uint32_t IndexOf(std::uint32_t number, const Indexes& indexes) {
    const auto found = indexes.find(number);
    if (found == indexes.end()) throw Damaged();
    return found->second;
  }
  const std::string& TextOf(std::uint32_t number) const {
    return trace_.texts[IndexOf(number, texts_)];
  }

  void ReadText(std::string_view bytes) {
    const auto record = Taken<TextRecord>(bytes);
    if (record.bytes > bytes.size() - sizeof record) throw Damaged();
    texts_[record.number] = static_cast<std::uint32_t>(trace_.texts.size());
    trace_.texts.emplace_back(bytes.substr(sizeof record, record.bytes));
  }

  void Store(const ProcessRecord& record) {
    trace_.pid = record.pid;
    if (texts_.contains(record.command)) trace_.command = TextOf(record.command);
    if (record.begin_ns < kMaxTimeNs) trace_.begin_ns = static_cast<std::int64_t>(record.begin_ns);
  }

  void Store(const DeviceRecord& record) {
    trace_.devices.push_back({record.number, TextOf(record.name), record.compute_capability});
  }

  void Store(const KernelRecord& record) {
    const auto name = IndexOf(record.name, texts_);
    kernels_[record.number] = static_cast<std::uint32_t>(trace_.kernels.size());
    trace_.kernels.push_back({name, SizeOf(record.grid), SizeOf(record.block)});
  }

  template <class Record>
  static Interval TimeOf(const Record& record) {
    if (record.begin_ns >= kMaxTimeNs || record.duration_ns > kMaxWorkNs) throw Damaged();
    return {static_cast<std::int64_t>(record.begin_ns),
            static_cast<std::int64_t>(record.begin_ns + record.duration_ns)};
  }

  template <class Record>
  static Place PlaceOf(const Record& record) {
    return {record.device, record.context, record.stream};
  }

  // Adds GPU work to a list of the trace, unless CUPTI could not measure its time and gave 0.
  template <class Work>
  void AddTimed(const Work& work, std::vector<Work>& list) {
    if (work.time.begin_ns == 0)
      ++trace_.untimed;
    else
      list.push_back(work);
  }

  void Store(const LaunchRecord& record) {
    AddTimed(Launch{TimeOf(record), IndexOf(record.kernel, kernels_), record.graph, PlaceOf(record),
                    record.correlation},
             trace_.launches);
  }

  void Store(const CopyRecord& record) {
    const bool pageable = record.source == kPageable || record.destination == kPageable;
    AddTimed(Copy{TimeOf(record), KindOf(record), pageable, static_cast<double>(record.bytes),
                  PlaceOf(record)},
             trace_.copies);
  }

  void Store(const FillRecord& record) {
    AddTimed(Fill{TimeOf(record), static_cast<double>(record.bytes), PlaceOf(record)},
             trace_.fills);
  }

  void Store(const RangeRecord& record) {
    trace_.ranges.push_back(
        {TimeOf(record), IndexOf(record.name, texts_), record.thread, record.depth});
  }

  void Store(const CallRecord& record) {
    if (record.begin_ns >= kMaxTimeNs) throw Damaged();
    trace_.calls.push_back(
        {record.correlation, record.thread, static_cast<std::int64_t>(record.begin_ns)});
  }

  void Store(const AnswerRecord& record) {
    if (const auto& result = TextOf(record.result); result != "CUPTI_SUCCESS")
      trace_.remarks.push_back(
          fmt::format("{}: CUPTI does not record {}: {}", where_, TextOf(record.what), result));
  }

  void Store(const DroppedRecord& record) { trace_.dropped += static_cast<double>(record.records); }

  void Store(const FailureRecord& record) { trace_.failure = Reason{TextOf(record.text)}; }

  void Finish() {
    const auto in_order = [](auto& all) {
      std::ranges::stable_sort(all, {}, [](const auto& work) { return work.time.begin_ns; });
    };
    in_order(trace_.launches);
    in_order(trace_.copies);
    in_order(trace_.fills);
    in_order(trace_.ranges);
    std::ranges::sort(trace_.calls, {}, [](const Call& call) {
      return std::tie(call.correlation, call.begin_ns, call.thread);
    });
    if (cut_) trace_.remarks.push_back(where_ + ": the file ends within a record");
    if (damaged_block_)
      trace_.remarks.push_back(where_ + ": a block is damaged: nothing is read from there on");
    if (damaged_ > 0)
      trace_.remarks.push_back(
          fmt::format("{}: {} damaged records were skipped", where_, damaged_));
  }

  const std::string& where_;
  Trace trace_;
  Indexes texts_, kernels_;  // by the numbers in the file
  bool cut_ = false;
  bool damaged_block_ = false;
  std::size_t damaged_ = 0;  // [1] records
};

}  // namespace

Trace ReadTrace(std::string_view bytes, const std::string& where) {
  return TraceReader(where).Read(bytes);
}

std::vector<Trace> ReadTraces(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == kFileEnding && entry.is_regular_file(error))  // no pipe
      paths.push_back(entry.path());
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
