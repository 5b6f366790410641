#include "reporters/imports/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <string_view>
#include <unordered_map>

#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/record/kernels.h"
#include "reporters/record/large_json.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kMostMicros = 1e18;  // larger times are invalid

struct Call {
  std::size_t op = 0;
  double begin = 0, seconds = 0;  // [s]
};

using ThreadId = std::pair<std::string, std::string>;  // process, thread

// Returns a number or string member as text: PyTorch's streams and autograd's processes have names.
std::string Scalar(const record::JsonObject& event, const char* key) {
  const auto member = event.Find(key);
  if (!member) return "";
  if (member->value.is_string()) return std::string(member->Text());
  return fmt::format("{:.0f}", member->Number());
}

std::vector<std::int64_t> SizesOf(simdjson::dom::element list) {
  std::vector<std::int64_t> sizes;
  simdjson::dom::array items;
  if (list.get(items) != simdjson::SUCCESS) return sizes;
  for (const auto item : items) {
    std::int64_t size = 0;
    if (item.get(size) != simdjson::SUCCESS) return {};  // a list of tensors
    sizes.push_back(size);
  }
  return sizes;
}

// Returns the elements of a list in order. An element that is not a string becomes empty.
std::vector<std::string> TextsOf(const record::JsonObject& args, const char* key) {
  std::vector<std::string> texts;
  simdjson::dom::array items;
  const auto member = args.Find(key);
  if (!member || member->value.get(items) != simdjson::SUCCESS) return texts;
  for (const auto item : items) {
    std::string_view text;
    texts.emplace_back(item.get(text) == simdjson::SUCCESS ? text : std::string_view());
  }
  return texts;
}

void ReadInputs(const record::JsonObject& event, TraceOp& op) {
  const auto member = event.Find("args");
  if (!member || !member->value.is_object()) return;
  const record::JsonObject args(member->value, event.PlaceOf("args"));
  for (const char* key : {"Input Dims", "Input dims"})  // "dims" up to PyTorch 1.11
    if (const auto dims = args.Find(key); dims && dims->value.is_array() && op.sizes.empty())
      dims->Each([&](simdjson::dom::element list, const record::JsonPlace&) {
        op.sizes.push_back(SizesOf(list));
      });
  op.types = TextsOf(args, "Input type");
  op.values = TextsOf(args, "Concrete Inputs");
}

std::string KeyOf(const TraceOp& op) {
  std::string key = op.name + (op.on_gpu ? "\1" : "\2");
  for (const auto& sizes : op.sizes) key += fmt::format("{}\3", fmt::join(sizes, ","));
  return key + fmt::format("\4{}\4{}", fmt::join(op.types, "\3"), fmt::join(op.values, "\3"));
}

// Categories of Kineto; the capital letters are those up to PyTorch 1.11, and "Kernel" also
// onnxruntime's.
constexpr std::string_view kGpuCategories[] = {"kernel", "gpu_memcpy", "gpu_memset",
                                               "Kernel", "Memcpy",     "Memset"};
// Also TensorFlow's ("Op"), onnxruntime's ("Node") and autograd's (none). Events of other
// categories are spans of the program, or repeat the event of an operator.
constexpr std::string_view kOperatorCategories[] = {"", "cpu_op", "Operator", "Op", "op", "Node"};
// Autograd's process of the times of operators on the GPU.
constexpr std::string_view kAutogradGpu = "CUDA functions";

// Returns whether the text begins a bare array, in which autograd and onnxruntime write their
// events: the "JSON Array Format" of a Chrome trace.
bool IsArray(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '[';
}

class TraceReader {
 public:
  explicit TraceReader(const std::string& where) : where_(where) {}

  Trace Read(const std::string& text) {
    std::istringstream in(IsArray(text) ? "{\"traceEvents\":" + text + "}" : text);
    const auto skeleton = record::EachJsonElement(
        in, [&](std::string_view key, std::size_t index, std::string_view element) {
          if (key == "traceEvents") Take({&file_, key, index}, element);
        });
    if (trace_.events == 0) RefuseEmpty();
    if (skeleton.cut) trace_.left_out["after the place where the file is cut off"] += 1;
    MarkGpuProcesses();
    for (auto& [thread, calls] : threads_) AddSelfTimes(calls);
    for (const auto& [thread, calls] : threads_) streams_.insert(thread);
    trace_.threads = static_cast<double>(streams_.size());
    return std::move(trace_);
  }

 private:
  [[noreturn]] void RefuseEmpty() const {
    std::string others;
    for (const auto& [reason, count] : trace_.left_out)
      others += fmt::format("{}{:.0f} {}", others.empty() ? "" : ", ", count, reason);
    throw BadInput(
        "{}: 'traceEvents': no complete event (\"ph\": \"X\") of an operator or kernel{}", where_,
        others.empty() ? "" : "; there are events: " + others);
  }

  void Take(const record::JsonPlace& place, std::string_view text) {
    const auto parsed = parser_.parse(text.data(), text.size(), false);
    if (parsed.error())
      throw BadInput("{}: {}", place.Text(), simdjson::error_message(parsed.error()));
    const record::JsonObject event(parsed.value_unsafe(), place);
    const auto phase = event.TextOr("ph", "");
    if (phase == "M") return Name(event);
    if (phase == "B" || phase == "E")
      trace_.left_out["that only begin or end (phases B and E)"] += 1;
    if (phase != "X") return;
    const auto category = event.TextOr("cat", "");
    const bool gpu = std::ranges::find(kGpuCategories, category) != std::end(kGpuCategories);
    if (!gpu && std::ranges::find(kOperatorCategories, category) == std::end(kOperatorCategories)) {
      trace_.left_out[fmt::format("of the category {}", category)] += 1;
      return;
    }
    if (!Has(event, "dur") || !Has(event, "ts")) {
      trace_.left_out["without a begin or a duration"] += 1;
      return;
    }
    TraceOp op{.name = event.Text("name"), .on_gpu = gpu};
    if (op.name.empty()) event.Refuse("name", "a name");
    ReadInputs(event, op);
    Add(event, std::move(op));
  }

  void Add(const record::JsonObject& event, TraceOp op) {
    const double begin = TimeOf(event, "ts"), seconds = TimeOf(event, "dur");
    trace_.begin = trace_.events == 0 ? begin : std::min(trace_.begin, begin);
    trace_.end = std::max(trace_.end, begin + seconds);
    ++trace_.events;
    const auto process = Scalar(event, "pid");
    auto key = KeyOf(op) + "\5" + process;
    const auto [found, is_new] = numbers_.emplace(std::move(key), trace_.ops.size());
    if (is_new) {
      trace_.ops.push_back(std::move(op));
      processes_.push_back(process);
    }
    // A kernel has no calls within it: kernels of one stream that overlap ran at the same time.
    if (trace_.ops[found->second].on_gpu) {
      ++trace_.ops[found->second].calls;
      trace_.ops[found->second].seconds += seconds;
      streams_.insert({process, Scalar(event, "tid")});
      return;
    }
    threads_[{process, Scalar(event, "tid")}].push_back({found->second, begin, seconds});
  }

  static bool Has(const record::JsonObject& event, const char* key) {
    const auto member = event.Find(key);
    return member && !member->value.is_null();
  }

  static double TimeOf(const record::JsonObject& event, const char* key) {
    const auto member = event.Find(key);
    double micros = 0;
    if (member && member->value.is_string()) {  // as Ascend's profiler writes them
      const auto number = text::PlainNumber(member->Text());
      if (!number) event.Refuse(key, "microseconds");
      micros = *number;
    } else {
      micros = event.Number(key);
    }
    if (!(std::abs(micros) <= kMostMicros) || (micros < 0 && std::string_view(key) == "dur"))
      event.Refuse(key, "microseconds");
    return micros * kMicro;
  }

  // Collects TensorFlow's GPU processes, which are named after the device (one thread per stream).
  void Name(const record::JsonObject& event) {
    if (event.TextOr("name", "") != "process_name") return;
    const auto member = event.Find("args");
    if (!member || !member->value.is_object()) return;
    const record::JsonObject args(member->value, event.PlaceOf("args"));
    if (args.TextOr("name", "").find("/device:GPU:") != std::string::npos)
      gpu_processes_.push_back(Scalar(event, "pid"));
  }

  void MarkGpuProcesses() {
    for (std::size_t i = 0; i < trace_.ops.size(); ++i)
      if (processes_[i] == kAutogradGpu ||
          std::ranges::find(gpu_processes_, processes_[i]) != gpu_processes_.end())
        trace_.ops[i].on_gpu = true;
  }

  // Subtracts the time of each call from that of the call that contains it.
  void AddSelfTimes(std::vector<Call>& calls) {
    std::ranges::stable_sort(calls, [](const Call& a, const Call& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.seconds > b.seconds;
    });
    std::vector<const Call*> open;
    for (const Call& call : calls) {
      while (!open.empty() && call.begin >= open.back()->begin + open.back()->seconds)
        open.pop_back();
      TraceOp& op = trace_.ops[call.op];
      ++op.calls;
      op.seconds += call.seconds;
      if (!open.empty()) {
        const double rest = open.back()->begin + open.back()->seconds - call.begin;
        trace_.ops[open.back()->op].seconds -= std::min(call.seconds, rest);
      }
      open.push_back(&call);
    }
  }

  std::string where_;
  record::JsonPlace file_{nullptr, where_};
  simdjson::dom::parser parser_;
  Trace trace_;
  std::vector<std::string> processes_;      // process of each op
  std::vector<std::string> gpu_processes_;  // all processes for GPUs
  std::unordered_map<std::string, std::size_t> numbers_;
  std::map<ThreadId, std::vector<Call>> threads_;  // calls of operators
  std::set<ThreadId> streams_;                     // of kernels; in the end all threads
};

using Sizes = std::vector<std::int64_t>;

double Count(const Sizes& sizes) {
  double count = 1;
  for (const auto size : sizes) count *= static_cast<double>(size);
  return count;
}

// Returns the sizes of input `index`, or no sizes if it is not a tensor.
const Sizes& SizesAt(const TraceOp& op, std::size_t index) {
  static const Sizes none;
  return index < op.sizes.size() ? op.sizes[index] : none;
}

// Returns the numbers of "[1, 2]" or "1", or none for any other text.
Sizes ListAt(const TraceOp& op, std::size_t index) {
  Sizes list;
  std::string_view text = index < op.values.size() ? op.values[index] : std::string_view();
  while (!text.empty()) {
    if (text.front() == '[' || text.front() == ' ' || text.front() == ',' || text.front() == ']') {
      text.remove_prefix(1);
      continue;
    }
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return {};
    list.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  }
  return list;
}

// The inputs of a convolution operator, by position.
struct ConvInputs {
  std::string_view name;
  std::size_t padding, stride;
  std::optional<std::size_t> dilation = {}, groups = {};  // if not set, the value is 1
};
constexpr ConvInputs kConvs[] = {{"aten::mkldnn_convolution", 3, 4, 5, 6},
                                 {"aten::cudnn_convolution", 2, 3, 4, 5},
                                 {"aten::miopen_convolution", 3, 4, 5, 6},
                                 {"aten::_slow_conv2d_forward", 5, 4},
                                 {"aten::thnn_conv2d", 5, 4}};

struct Counted {
  double flops = 0;     // [flop]
  double elements = 0;  // [1] read or written
};

// Returns the output size of one image dimension, or nullopt for inconsistent sizes.
std::optional<std::int64_t> OutputSize(std::int64_t size, std::int64_t taps, std::int64_t padding,
                                       std::int64_t stride, std::int64_t dilation) {
  const std::int64_t available = size + 2 * padding - dilation * (taps - 1) - 1;
  if (available < 0 || stride < 1 || dilation < 1 || padding < 0) return std::nullopt;
  return available / stride + 1;
}

std::optional<Counted> OfConv(const TraceOp& op, const ConvInputs& inputs) {
  const Sizes &source = SizesAt(op, 0), &weights = SizesAt(op, 1);
  if (source.size() < 3 || source.size() != weights.size()) return std::nullopt;
  const std::size_t dimensions = source.size() - 2;
  const Sizes padding = ListAt(op, inputs.padding), stride = ListAt(op, inputs.stride);
  const Sizes dilation = inputs.dilation ? ListAt(op, *inputs.dilation) : Sizes(dimensions, 1);
  const Sizes groups = inputs.groups ? ListAt(op, *inputs.groups) : Sizes{1};
  if (padding.size() != dimensions || stride.size() != dimensions ||
      dilation.size() != dimensions || groups.size() != 1 || groups[0] < 1 ||
      source[1] != weights[1] * groups[0])
    return std::nullopt;
  double image = static_cast<double>(source[0]) * static_cast<double>(weights[0]);
  for (std::size_t i = 0; i < dimensions; ++i) {
    const auto size = OutputSize(source[2 + i], weights[2 + i], padding[i], stride[i], dilation[i]);
    if (!size) return std::nullopt;
    image *= static_cast<double>(*size);
  }
  const double per_output = Count(weights) / static_cast<double>(weights[0]);
  return Counted{2 * image * per_output, Count(source) + Count(weights) + image};
}

// Counts the matrix product of inputs `first` ([b] m x k) and `first` + 1 ([b] k x n).
std::optional<Counted> OfProduct(const TraceOp& op, std::size_t first, std::size_t dimensions) {
  const Sizes &a = SizesAt(op, first), &b = SizesAt(op, first + 1);
  if (a.size() != dimensions || b.size() != dimensions || a[dimensions - 1] != b[dimensions - 2] ||
      (dimensions == 3 && a[0] != b[0]))
    return std::nullopt;
  const double result =
      Count(a) / static_cast<double>(a[dimensions - 1]) * static_cast<double>(b[dimensions - 1]);
  return Counted{2 * result * static_cast<double>(a[dimensions - 1]), Count(a) + Count(b) + result};
}

struct ProductInputs {
  std::string_view name;
  std::size_t first, dimensions;
};
constexpr ProductInputs kProducts[] = {
    {"aten::mm", 0, 2}, {"aten::addmm", 1, 2}, {"aten::bmm", 0, 3}, {"aten::baddbmm", 1, 3}};

std::optional<Counted> CountedOf(const TraceOp& op) {
  for (const auto& sizes : op.sizes)
    for (const auto size : sizes)
      if (size < 1) return std::nullopt;
  for (const auto& conv : kConvs)
    if (op.name == conv.name) return OfConv(op, conv);
  for (const auto& product : kProducts)
    if (op.name == product.name) return OfProduct(op, product.first, product.dimensions);
  return std::nullopt;
}

// Returns "aten::addmm 64 32x64 64x64".
std::string NameOf(const TraceOp& op) {
  std::string name = text::Printable(op.name);
  for (const auto& sizes : op.sizes)
    if (!sizes.empty()) name += fmt::format(" {}", fmt::join(sizes, "x"));
  return name;
}

void Multiply(Work& work, double calls) {
  for (auto& [pipe, flops] : work.flops) flops *= calls;
  for (auto& [level, bytes] : work.bytes) bytes *= calls;
  work.launches = calls;
}

record::Record RecordOf(const TraceOp& op) {
  record::Record record{.name = NameOf(op)};
  if (op.on_gpu) record.timed = record::timed::kKernels;
  record.repetitions.push_back({.seconds = op.seconds, .iterations = 1});
  Work work = WorkOfOp(op).value_or(Work{});
  Multiply(work, op.calls);
  record.work[Provenance::kModelled] = std::move(work);
  return record;
}

// Appends a number to names that occur twice: such ops differ only in types or scalars.
void MakeUnique(std::vector<record::Record>& records) {
  std::map<std::string, int> seen;
  for (auto& record : records)
    if (const int number = ++seen[record.name]; number > 1)
      record.name += fmt::format(" ({})", number);
}

double SecondsOfAll(const std::vector<const TraceOp*>& ops) {
  double seconds = 0;
  for (const auto* op : ops) seconds += op->seconds;
  return seconds;
}

void AddRemarks(const Trace& trace, const std::vector<const TraceOp*>& taken,
                const std::vector<const TraceOp*>& others, const std::string& where,
                std::vector<std::string>& remarks) {
  double unknown = 0;
  for (const auto* op : taken)
    if (!WorkOfOp(*op)) unknown += op->seconds;
  const double all = SecondsOfAll(taken);
  const bool kernels = !taken.empty() && taken.front()->on_gpu;
  remarks.push_back(
      fmt::format("{}: {:.0f} events in {:.4g} s, on {:.0f} threads or streams; the time of {}",
                  where, trace.events, trace.end - trace.begin, trace.threads,
                  kernels ? "a kernel is its own duration"
                          : "a call excludes the calls within it (self time)"));
  if (!others.empty())
    remarks.push_back(
        fmt::format("{}: {} operators of the host, {:.4g} s, are left out, since the trace has "
                    "kernels of a GPU",
                    where, others.size(), SecondsOfAll(others)));
  if (unknown > 0)
    remarks.push_back(fmt::format("{}: FLOPs and bytes are not known for {:.0f} % of the time",
                                  where, 100 * unknown / all));
  for (const auto& [reason, count] : trace.left_out)
    remarks.push_back(fmt::format("{}: {:.0f} events {} are left out", where, count, reason));
}

}  // namespace

Trace ReadTrace(const std::string& text, const std::string& where) {
  return TraceReader(where).Read(text);
}

std::optional<Work> WorkOfOp(const TraceOp& op) {
  const bool wide = !op.types.empty() && op.types[0] == "double";
  if (op.on_gpu || op.types.empty() || (!wide && op.types[0] != "float")) return std::nullopt;
  const auto counted = CountedOf(op);
  if (!counted) return std::nullopt;
  Work work;
  work.flops[wide ? "fp64.vector" : "fp32.vector"] = counted->flops;
  work.bytes[Level::kDram] = counted->elements * (wide ? 8 : 4);
  return work;
}

bool LooksLikeTrace(std::string_view text) {
  return text.find("\"traceEvents\"") != std::string_view::npos ||
         (IsArray(text) && text.find("\"ph\"") != std::string_view::npos);
}

Imported ImportTrace(const std::string& text, const std::string& where) {
  const Trace trace = ReadTrace(text, where);
  std::vector<const TraceOp*> kernels, operators;
  for (const auto& op : trace.ops)
    if (IsRunTime(op.seconds)) (op.on_gpu ? kernels : operators).push_back(&op);
  const bool gpu = !kernels.empty();
  auto& taken = gpu ? kernels : operators;
  if (taken.empty()) throw BadInput(where + ": 'traceEvents': no event has a self time above 0");
  std::ranges::stable_sort(taken, std::greater<>(), &TraceOp::seconds);
  Imported imported;
  for (const auto* op : taken) imported.records.push_back(RecordOf(*op));
  MakeUnique(imported.records);
  AddRemarks(trace, taken, gpu ? operators : std::vector<const TraceOp*>(), where,
             imported.remarks);
  return imported;
}

}  // namespace dlroof::imports
