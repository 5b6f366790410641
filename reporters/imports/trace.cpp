#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/record/large_json.h"
#include "reporters/record/run_file.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kMaxMicros = 1e18;  // larger times are invalid

// Autograd's process of the times of operators on the GPU.
constexpr std::string_view kAutogradGpu = "CUDA functions";

// Threads of a GPU's process that sum up its streams.
constexpr std::string_view kSpanThreads[] = {
    "Steps",          "XLA Modules",          "XLA TraceMe",   "TensorFlow Name Scope",
    "TensorFlow Ops", "Framework Name Scope", "Framework Ops", "Source code",
    "Source Code",    "Launch Stats"};
// Repeats the streams where there are any; otherwise its calls are the only ones.
constexpr std::string_view kXlaOps = "XLA Ops";

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

// Calls read(args) with the arguments of an event, if it has any.
template <class Read>
void WithArguments(const record::JsonObject& event, const Read& read) {
  const auto member = event.Find("args");
  if (member && member->value.is_object())
    read(record::JsonObject(member->value, event.PlaceOf("args")));
}

// All arguments that Kineto is known to write.
constexpr std::string_view kArguments[] = {
    "External id",   "Record function id", "Ev Idx",     "Sequence number",
    "Fwd thread id", "Input Strides",      "Call stack", "Module Hierarchy",
    "Rng State",     "Op schema",          "Input Dims", "Input dims",
    "Input type",    "Concrete Inputs",    "kwinputs",   "Collective name"};

using ThreadId = std::pair<std::string, std::string>;  // process, thread

ThreadId ThreadOf(const record::JsonObject& event) {
  return {Scalar(event, "pid"), Scalar(event, "tid")};
}

bool HasMember(const record::JsonObject& event, const char* key) {
  const auto member = event.Find(key);
  return member && !member->value.is_null();
}

// Returns "ts" or "dur" [s]. Refuses what is no number of microseconds.
double EventSeconds(const record::JsonObject& event, const char* key) {
  const auto member = event.Find(key);
  double micros = 0;
  if (member && member->value.is_string()) {  // as Ascend's profiler writes them
    const auto number = text::PlainNumber(member->Text());
    if (!number) event.Refuse(key, "microseconds");
    micros = *number;
  } else {
    micros = event.Number(key);
  }
  if (!(std::abs(micros) <= kMaxMicros) || (micros < 0 && std::string_view(key) == "dur"))
    event.Refuse(key, "microseconds");
  return micros * kMicro;
}

// Reads the inputs of an operator. Returns unknown arguments; they may change its work.
std::vector<std::string> ReadInputs(const record::JsonObject& event, TraceOp& op) {
  std::vector<std::string> unknown;
  WithArguments(event, [&](const record::JsonObject& args) {
    for (const char* key : {"Input Dims", "Input dims"})  // "dims" up to PyTorch 1.11
      if (const auto dims = args.Find(key); dims && dims->value.is_array() && op.sizes.empty())
        dims->Each([&](simdjson::dom::element list, const record::JsonPlace&) {
          op.sizes.push_back(SizesOf(list));
        });
    op.types = TextsOf(args, "Input type");
    op.values = TextsOf(args, "Concrete Inputs");
    for (const auto& [key, value] : args.members())
      if (!op.sizes.empty() && std::ranges::count(kArguments, key) == 0) unknown.emplace_back(key);
  });
  return unknown;
}

// PyTorch's numbers of a call.
struct CallNumbers {
  double order = 0;  // rises from a call to the calls within it; 0 if the event has none
  std::string all;   // tells the call apart from others of the same time
};
CallNumbers NumbersOf(const record::JsonObject& event) {
  CallNumbers numbers;
  WithArguments(event, [&](const record::JsonObject& args) {
    for (const char* key : {"External id", "external id", "Ev Idx", "correlation"}) {
      const auto number = args.Find(key);
      if (!number || !number->value.is_number()) continue;
      if (numbers.order == 0) numbers.order = number->Number();
      numbers.all += fmt::format("{}\5", number->Number());
    }
  });
  return numbers;
}

enum class ThreadKind {
  kOperators,  // calls on the host, which may contain each other
  kKernels,    // kernels, copies and fills of a GPU
  kSpans       // TensorFlow's summaries of other threads: steps, modules, scopes
};

// TensorFlow names a GPU's process after the device, its threads "Stream #13" or "XLA Modules".
class ThreadNames {
 public:
  // Reads an event of names (phase M).
  void Read(const record::JsonObject& event) {
    WithArguments(event, [&](const record::JsonObject& args) {
      const auto name = args.Find("name");
      if (!name || !name->value.is_string()) return;
      const auto what = event.TextOr("name", "");
      const auto thread = ThreadOf(event);
      for (const char* device : {"/device:GPU:", "/device:TPU:"})
        if (what == "process_name" && name->Text().find(device) != std::string_view::npos)
          processes_.insert(thread.first);
      if (what == "thread_name") threads_[thread] = name->Text();
    });
  }

  // Returns what the calls of a thread are. All names must be known: they may follow the calls.
  ThreadKind KindOf(const ThreadId& thread) const {
    if (thread.first == kAutogradGpu) return ThreadKind::kKernels;
    if (!processes_.contains(thread.first)) return ThreadKind::kOperators;
    const auto name = threads_.find(thread);
    if (name == threads_.end()) return ThreadKind::kKernels;
    const bool streams = std::ranges::any_of(threads_, [&](const auto& other) {
      return other.first.first == thread.first && other.second.starts_with("Stream");
    });
    const bool spans = std::ranges::count(kSpanThreads, std::string_view(name->second)) > 0 ||
                       (streams && name->second == kXlaOps);
    return spans ? ThreadKind::kSpans : ThreadKind::kKernels;
  }

  // Returns whether this thread of a GPU's process has no name, though another one there has.
  bool LacksName(const ThreadId& thread) const {
    return processes_.contains(thread.first) && !threads_.contains(thread) &&
           std::ranges::any_of(
               threads_, [&](const auto& other) { return other.first.first == thread.first; });
  }

 private:
  std::set<std::string> processes_;  // of GPUs
  std::map<ThreadId, std::string> threads_;
};

constexpr double kMaxSeconds = 1e5;  // of a call, as "seconds" (numbers.h)
constexpr std::size_t kSpan = static_cast<std::size_t>(-1);

struct Call {
  std::size_t op = 0;  // or kSpan
  std::string span = {};
  double begin = 0, seconds = 0;  // [s]
  double number = 0;              // [1] of the event in the program's order; 0 if it has none
};

std::string KeyOf(const TraceOp& op) {
  std::string key = op.name + (op.on_gpu ? "\1" : "\2");
  for (const auto& sizes : op.sizes) key += fmt::format("{}\3", fmt::join(sizes, ","));
  return key + fmt::format("\4{}\4{}", fmt::join(op.types, "\3"), fmt::join(op.values, "\3"));
}

// Kineto's categories: with capitals those up to PyTorch 1.11, "Kernel" also onnxruntime's.
constexpr std::string_view kGpuCategories[] = {"kernel", "gpu_memcpy", "gpu_memset",
                                               "Kernel", "Memcpy",     "Memset"};
// Also TensorFlow's ("Op"), onnxruntime's ("Node") and autograd's (none). Events of other
// categories are spans of the program, or repeat the event of an operator.
constexpr std::string_view kSpanCategory = "user_annotation";  // of the host, by Kineto
constexpr std::string_view kOperatorCategories[] = {"", "cpu_op", "Operator", "Op", "op", "Node"};

// Returns whether the text begins a bare array, in which autograd and onnxruntime write their
// events: the "JSON Array Format" of a Chrome trace.
bool IsArray(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '[';
}

class TraceReader {
 public:
  TraceReader(const std::string& where, bool keep_calls) : where_(where), keep_calls_(keep_calls) {}

  Trace Read(const std::string& text) {
    std::istringstream in(IsArray(text) ? "{\"traceEvents\":" + text + "}" : text);
    const auto skeleton = record::EachJsonElement(
        in, [&](std::string_view key, std::size_t index, std::string_view element) {
          if (key == "traceEvents") Take({&file_, key, index}, element);
          if (key == "deviceProperties") TakeGpu(element);
        });
    if (broken_.count > 0)
      trace_.left_out[fmt::format("that cannot be read ({})", broken_.first)] = broken_.count;
    if (trace_.events == 0) RefuseEmpty();
    if (skeleton.cut) trace_.cut = true;
    if (without_category_ > 0 && with_category_ > 0)
      trace_.assumed["without a category are taken as operators"] = without_category_;
    const auto file = nlohmann::json::parse(skeleton.text, nullptr, false);
    const auto base = record::Member(file, "baseTimeNanoseconds");  // of times, in newer traces
    if (keep_calls_ && base.is_number()) base_ = 1e-9 * base.get<double>();
    for (auto& [thread, calls] : threads_) AddTimes(thread, calls);
    if (keep_calls_) trace_.begin += base_, trace_.end += base_;
    std::erase_if(trace_.ops, [](const TraceOp& op) { return op.calls == 0; });
    for (auto& op : trace_.ops)
      if (op.on_gpu) op.gpu = gpus_[op.process];
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

  void TakeGpu(std::string_view text) {
    const auto parsed = parser_.parse(text.data(), text.size(), false);
    double id = 0;
    std::string_view name;
    if (!parsed["id"].get(id) && !parsed["name"].get(name)) gpus_[fmt::format("{:.0f}", id)] = name;
  }

  void Take(const record::JsonPlace& place, std::string_view text) {
    auto parsed = parser_.parse(text.data(), text.size(), false);
    if (parsed.error()) {
      if (const auto repaired = record::RepairedJson(text)) parsed = parser_.parse(*repaired);
      if (!parsed.error())
        trace_
            .assumed["with text or numbers that are not JSON (inf, C:\\x) are read without them"] +=
            1;
    }
    broken_.Try([&] {
      if (parsed.error())
        throw BadInput("{}: {}", place.Text(), simdjson::error_message(parsed.error()));
      TakeEvent({parsed.value_unsafe(), place});
    });
  }

  void TakeEvent(const record::JsonObject& event) {
    const auto phase = event.TextOr("ph", "");
    if (phase == "M") return names_.Read(event);
    if (phase.empty()) trace_.left_out["without a phase"] += 1;
    if (phase == "B" || phase == "E")
      trace_.left_out["that only begin or end (phases B and E)"] += 1;
    if (phase != "X") return;
    const auto category = event.TextOr("cat", "");
    const bool gpu = std::ranges::find(kGpuCategories, category) != std::end(kGpuCategories);
    if (keep_calls_ && category == kSpanCategory && HasMember(event, "dur") &&
        HasMember(event, "ts"))
      return AddSpan(event);
    if (!gpu && std::ranges::find(kOperatorCategories, category) == std::end(kOperatorCategories)) {
      trace_.left_out[fmt::format("of the category {}", category)] += 1;
      return;
    }
    if (!HasMember(event, "dur") || !HasMember(event, "ts")) {
      trace_.left_out["without a begin or a duration"] += 1;
      return;
    }
    // Kineto gives a call that runs at its window's end 0 or centuries: kept calls end there.
    const double seconds = EventSeconds(event, "dur");
    if (!keep_calls_ && seconds > kMaxSeconds) event.Refuse("dur", "microseconds");
    if (!keep_calls_ && !(seconds > 0)) {
      trace_.left_out["with a duration of 0, which is none"] += 1;
      return;
    }
    TraceOp op{.name = event.Text("name"), .on_gpu = gpu};
    if (op.name.empty()) event.Refuse("name", "a name");
    for (const auto& argument : ReadInputs(event, op))
      trace_.assumed[fmt::format("have the argument '{}', which is not known",
                                 text::Printable(argument))] += 1;
    AddAssumptions(event, gpu, category.empty());
    Add(event, std::move(op));
  }

  void AddSpan(const record::JsonObject& event) {
    const auto thread = ThreadOf(event);
    threads_[thread].push_back({.op = kSpan,
                                .span = event.Text("name"),
                                .begin = EventSeconds(event, "ts"),
                                .seconds = EventSeconds(event, "dur"),
                                .number = NumbersOf(event).order});
  }

  void AddAssumptions(const record::JsonObject& event, bool gpu, bool no_category) {
    ++(no_category ? without_category_ : with_category_);
    if (!gpu && (!HasMember(event, "tid") || !HasMember(event, "pid")))
      trace_.assumed["without a process or thread are taken as calls of one thread"] += 1;
  }

  void Add(const record::JsonObject& event, TraceOp op) {
    const double begin = EventSeconds(event, "ts"), seconds = EventSeconds(event, "dur");
    const auto thread = ThreadOf(event);
    const auto numbers = NumbersOf(event);
    auto key = KeyOf(op) + "\5" + thread.first;
    // A thread cannot run the same call twice at one time: the file is joined of others.
    const auto call =
        fmt::format("{}\5{}\5{}\5{}\5{}", key, thread.second, begin, seconds, numbers.all);
    if (seconds > 0 && !seen_.insert(std::hash<std::string>()(call)).second) {
      trace_.left_out["that are there twice"] += 1;
      return;
    }
    trace_.begin = trace_.events == 0 ? begin : std::min(trace_.begin, begin);
    trace_.end = std::max(trace_.end, begin + seconds);
    ++trace_.events;
    const auto [found, is_new] = numbers_.emplace(std::move(key), trace_.ops.size());
    op.process = thread.first;
    if (is_new) trace_.ops.push_back(std::move(op));
    threads_[thread].push_back(
        {.op = found->second, .begin = begin, .seconds = seconds, .number = numbers.order});
  }

  void AddTimes(const ThreadId& thread, std::vector<Call>& calls) {
    const auto kind = names_.KindOf(thread);
    const auto count = static_cast<double>(calls.size());
    if (kind == ThreadKind::kSpans) {
      trace_.left_out["of steps, modules and scopes, which repeat those of streams,"] += count;
    } else {
      ++trace_.threads;
      if (names_.LacksName(thread))
        trace_.assumed["on threads of a GPU without a name are taken as kernels"] += count;
      if (kind == ThreadKind::kKernels) {
        std::erase_if(calls, [](const Call& call) { return call.op == kSpan; });
        for (const Call& call : calls) trace_.ops[call.op].on_gpu = true;
      }
      AddSelfTimes(calls);
    }
  }

  // Subtracts the time of each call from that of the call that contains it. A kernel has no calls
  // within it: kernels of one stream that overlap ran at the same time.
  void AddSelfTimes(std::vector<Call>& calls) {
    std::ranges::stable_sort(calls, [](const Call& a, const Call& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.seconds != b.seconds ? a.seconds > b.seconds : a.number < b.number;
    });
    if (keep_calls_) KeepCalls(calls);
    std::erase_if(calls, [](const Call& call) { return call.op == kSpan; });
    std::vector<const Call*> open;
    double end = 0;  // [s] of the calls before
    for (const Call& call : calls) {
      while (!open.empty() && call.begin >= open.back()->begin + open.back()->seconds)
        open.pop_back();
      TraceOp& op = trace_.ops[call.op];
      ++op.calls;
      op.seconds += call.seconds;
      if (op.on_gpu && std::min(end - call.begin, call.seconds) > 2 * kMicro)
        trace_.assumed["of a stream begin before the one before them ends: their times overlap"] +=
            1;
      end = std::max(end, call.begin + call.seconds);
      if (op.on_gpu) continue;
      if (!open.empty()) {
        const double rest = open.back()->begin + open.back()->seconds - call.begin;
        trace_.ops[open.back()->op].seconds -= std::min(call.seconds, rest);
      }
      open.push_back(&call);
    }
  }

  void KeepCalls(const std::vector<Call>& calls) {
    for (const Call& call : calls) {
      const bool span = call.op == kSpan;
      if (!span && trace_.ops[call.op].on_gpu) continue;
      trace_.calls.push_back({span ? std::nullopt : std::optional(call.op), call.span,
                              kept_threads_, base_ + call.begin,
                              base_ + call.begin + call.seconds});
    }
    ++kept_threads_;
  }

  std::string where_;
  bool keep_calls_ = false;
  double base_ = 0;               // [s] added to all times of kept calls
  std::size_t kept_threads_ = 0;  // [1]
  record::JsonPlace file_{nullptr, where_};
  simdjson::dom::parser parser_;
  Trace trace_;
  ThreadNames names_;
  std::map<std::string, std::string> gpus_;               // names by number
  std::unordered_map<std::string, std::size_t> numbers_;  // of ops, by their keys and processes
  std::map<ThreadId, std::vector<Call>> threads_;
  std::unordered_set<std::size_t> seen_;             // hashes of calls
  double with_category_ = 0, without_category_ = 0;  // [1] events
  LeftOut broken_;                                   // events
};

}  // namespace

Trace ReadTrace(const std::string& text, const std::string& where, bool keep_calls) {
  return TraceReader(where, keep_calls).Read(text);
}

bool LooksLikeTrace(std::string_view text) {
  return text.find("\"traceEvents\"") != std::string_view::npos ||
         (IsArray(text) && text.find("\"ph\"") != std::string_view::npos);
}

}  // namespace dlroof::imports
