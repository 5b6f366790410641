// Reads Chrome traces, and converts their operators or kernels to records (import.h).
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

// A complete event ("ph": "X"): a call, or a span of the program.
struct TraceEvent {
  std::optional<Reason> left_out;  // why the event is ignored; other members are then unset
  bool span = false;
  TraceOp op;  // of one call: name, inputs, process
  std::string thread;
  bool has_thread = false;
  double begin = 0, seconds = 0;     // [s]
  double order = 0;                  // [1] a call's number; its callees' are larger; 0: unknown
  std::string numbers;               // the event's ids, which distinguish calls with the same time
  std::vector<std::string> unknown;  // names of unknown arguments, which may change the work
};

constexpr double kMicro = 1e-6;
constexpr double kMaxMicros = 1e18;  // larger times are invalid
constexpr double kMaxSeconds = 1e5;  // [s] as the range of "seconds" in numbers.h

// Kineto's categories of GPU work: capitalised up to PyTorch 1.11.
constexpr std::string_view kGpuCategories[] = {"kernel", "gpu_memcpy", "gpu_memset",
                                               "Kernel", "Memcpy",     "Memset"};
// Kineto's categories of operators. Events of other categories are spans of the program, or repeat
// the event of an operator.
constexpr std::string_view kOperatorCategories[] = {"cpu_op", "Operator"};
constexpr std::string_view kSpanCategory = "user_annotation";  // Kineto's spans of the host

// All arguments that Kineto is known to write.
constexpr std::string_view kArguments[] = {
    "External id",   "Record function id", "Ev Idx",     "Sequence number",
    "Fwd thread id", "Input Strides",      "Call stack", "Module Hierarchy",
    "Rng State",     "Op schema",          "Input Dims", "Input dims",
    "Input type",    "Concrete Inputs",    "kwinputs",   "Collective name"};

// Calls read(item) for each element of the array `key`, if it exists.
template <class Read>
void EachOf(const record::JsonObject& args, const char* key, const Read& read) {
  simdjson::dom::array items;
  if (const auto member = args.Find(key); member && !member->value.get(items))
    for (const auto item : items) read(item);
}

std::vector<std::int64_t> SizesOf(simdjson::dom::element list) {
  std::vector<std::int64_t> sizes;
  simdjson::dom::array items;
  if (list.get(items)) return sizes;
  for (const auto item : items)
    if (item.get(sizes.emplace_back())) return {};  // an input that is a list of tensors
  return sizes;
}

bool HasMember(const record::JsonObject& event, const char* key) {
  const auto member = event.Find(key);
  return member && !member->value.is_null();
}

// Returns "ts" or "dur" [s]. Throws BadInput if it is no number of microseconds.
double EventSeconds(const record::JsonObject& event, const char* key) {
  const auto member = event.Find(key);
  const auto micros = member && member->value.is_string()  // as Ascend's profiler writes
                          ? text::PlainNumber(member->Text())
                          : event.Number(key);
  if (!micros || !(std::abs(*micros) <= kMaxMicros)) event.Refuse(key, "microseconds");
  return *micros * kMicro;
}

void ReadArguments(const record::JsonObject& args, TraceEvent& event) {
  for (const char* key : {"External id", "external id", "Ev Idx", "correlation"}) {
    const auto number = args.Find(key);
    if (!number || !number->value.is_number()) continue;
    if (event.order == 0) event.order = number->Number();
    event.numbers += fmt::format("{}\5", number->Number());
  }
  auto& op = event.op;
  for (const char* key : {"Input Dims", "Input dims"})  // "Input dims" up to PyTorch 1.11
    if (op.sizes.empty()) EachOf(args, key, [&](auto list) { op.sizes.push_back(SizesOf(list)); });
  const auto read_texts = [&](const char* key, std::vector<std::string>& texts) {
    EachOf(args, key, [&](auto item) {  // an item that is no string becomes ""
      std::string_view text;
      texts.emplace_back(item.get(text) ? std::string_view() : text);
    });
  };
  read_texts("Input type", op.types);
  read_texts("Concrete Inputs", op.values);
  for (const auto& [key, value] : args.members())
    if (!op.sizes.empty() && std::ranges::count(kArguments, key) == 0)
      event.unknown.emplace_back(key);
}

// Returns the member `key`, a number or a text, as text, or "" if it is missing.
std::string ScalarIn(const record::JsonObject& event, const char* key) {
  const auto member = event.Find(key);
  if (!member) return "";
  if (member->value.is_string()) return std::string(member->Text());
  return fmt::format("{:.0f}", member->Number());
}

// Reads an event. Returns nullopt for one that is no call, e.g. a counter; throws BadInput.
std::optional<TraceEvent> ReadTraceEvent(const record::JsonObject& event, bool keep_calls) {
  const auto left_out = [](std::string reason) {
    return TraceEvent{.left_out = Reason{std::move(reason)}};
  };
  const auto phase = event.TextOr("ph", ""), category = event.TextOr("cat", "");
  if (phase.empty()) return left_out("without a phase");
  if (phase == "B" || phase == "E") return left_out("that only begin or end (phases B and E)");
  if (phase != "X") return std::nullopt;
  TraceEvent read{.span = keep_calls && category == kSpanCategory};
  read.op.on_gpu = std::ranges::count(kGpuCategories, category) > 0;
  if (!read.span && !read.op.on_gpu && std::ranges::count(kOperatorCategories, category) == 0)
    return left_out(category.empty() ? "without a category" : "of the category " + category);
  if (!HasMember(event, "dur") || !HasMember(event, "ts"))
    return left_out("without a begin or a duration");
  read.begin = EventSeconds(event, "ts");
  read.seconds = EventSeconds(event, "dur");
  // `keep_calls` accepts 0 and centuries: Kineto's durations of calls that its window cuts off.
  if (read.seconds < 0 || (!keep_calls && read.seconds > kMaxSeconds))
    event.Refuse("dur", "microseconds");
  if (!keep_calls && read.seconds == 0) return left_out("with a duration of 0, which is none");
  read.op.name = event.Text("name");
  if (read.op.name.empty()) event.Refuse("name", "a name");
  read.op.process = ScalarIn(event, "pid");
  read.thread = ScalarIn(event, "tid");
  read.has_thread = HasMember(event, "tid") && HasMember(event, "pid");
  if (const auto args = event.Find("args"); args && args->value.is_object())
    ReadArguments({args->value, event.PlaceOf("args")}, read);
  return read;
}

using ThreadId = std::pair<std::string, std::string>;  // process, thread

constexpr std::size_t kSpan = static_cast<std::size_t>(-1);
constexpr double kMaxOverlap = 2e-6;  // [s] overlap of a stream's kernels due to rounding

struct Call {
  std::size_t op = 0;             // index into Trace::ops, or kSpan
  std::string span = {};          // name of the span
  double begin = 0, seconds = 0;  // [s]
  double order = 0;               // TraceEvent::order
};

std::string KeyOf(const TraceOp& op) {
  std::string key = op.name + (op.on_gpu ? "\1" : "\2");
  for (const auto& sizes : op.sizes) key += fmt::format("{}\3", fmt::join(sizes, ","));
  return key + fmt::format("\4{}\4{}", fmt::join(op.types, "\3"), fmt::join(op.values, "\3"));
}

class TraceReader {
 public:
  TraceReader(const std::string& where, bool keep_calls) : where_(where), keep_calls_(keep_calls) {}

  Trace Read(const std::string& text) {
    std::istringstream in(text);
    const auto skeleton = record::EachJsonElement(
        in, [&](std::string_view key, std::size_t index, std::string_view element) {
          if (key == "traceEvents") Take({&file_, key, index}, element);
          if (key == "deviceProperties") TakeGpu(element);
        });
    if (broken_.count > 0)
      trace_.left_out[fmt::format("that cannot be read ({})", broken_.first)] = broken_.count;
    if (trace_.events == 0) RefuseEmpty();
    if (skeleton.cut) trace_.cut = true;
    const auto file = nlohmann::json::parse(skeleton.text, nullptr, false);
    for (const auto& event : record::Member(file, "traceEvents"))
      if (!event.is_object()) Count(trace_.left_out, "that are no objects");
    const auto base = record::Member(file, "baseTimeNanoseconds");  // only in newer traces
    if (keep_calls_ && base.is_number()) base_ = 1e-9 * base.get<double>();
    trace_.threads = static_cast<double>(threads_.size());
    for (auto& [thread, calls] : threads_) AddSelfTimes(calls);
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
        Count(trace_.assumed,
              "with text or numbers that are not JSON (inf, C:\\x) are read without them");
    }
    broken_.Try([&] {
      if (parsed.error())
        throw BadInput("{}: {}", place.Text(), simdjson::error_message(parsed.error()));
      TakeEvent({parsed.value_unsafe(), place});
    });
  }

  void TakeEvent(const record::JsonObject& object) {
    const auto event = ReadTraceEvent(object, keep_calls_);
    if (!event) return;
    if (event->left_out) return Count(trace_.left_out, event->left_out->text);
    Call call{kSpan, "", event->begin, event->seconds, event->order};
    if (event->span)
      call.span = event->op.name;
    else if (const auto op = OpOf(*event))
      call.op = *op;
    else
      return Count(trace_.left_out, "that are there twice");
    threads_[{event->op.process, event->thread}].push_back(std::move(call));
  }

  static void Count(std::map<std::string, double>& counts, const std::string& reason) {
    counts[reason] += 1;
  }

  // Returns the index of the event's op, or nullopt for a call that was already read.
  std::optional<std::size_t> OpOf(const TraceEvent& event) {
    for (const auto& argument : event.unknown)
      Count(trace_.assumed,
            fmt::format("have the argument '{}', which is not known", text::Printable(argument)));
    if (!event.op.on_gpu && !event.has_thread)
      Count(trace_.assumed, "without a process or thread are taken as calls of one thread");
    const auto key = KeyOf(event.op) + "\5" + event.op.process;
    // A thread cannot run a call twice at the same time: an event is repeated if files were joined.
    const auto call = fmt::format("{}\5{}\5{}\5{}\5{}", key, event.thread, event.begin,
                                  event.seconds, event.numbers);
    if (event.seconds > 0 && !seen_.insert(std::hash<std::string>()(call)).second)
      return std::nullopt;
    trace_.begin = trace_.events == 0 ? event.begin : std::min(trace_.begin, event.begin);
    trace_.end = std::max(trace_.end, event.begin + event.seconds);
    ++trace_.events;
    const auto [found, is_new] = numbers_.emplace(key, trace_.ops.size());
    if (is_new) trace_.ops.push_back(event.op);
    return found->second;
  }

  // Subtracts the time of each host call from that of the call that contains it. Kernels contain no
  // calls: kernels of one stream that overlap ran at the same time.
  void AddSelfTimes(std::vector<Call>& calls) {
    std::ranges::stable_sort(calls, [](const Call& a, const Call& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.seconds != b.seconds ? a.seconds > b.seconds : a.order < b.order;
    });
    if (keep_calls_) KeepCalls(calls);
    std::erase_if(calls, [](const Call& call) { return call.op == kSpan; });
    std::vector<const Call*> open;
    double end = 0;  // [s] latest end of the earlier calls
    for (const Call& call : calls) {
      while (!open.empty() && call.begin >= open.back()->begin + open.back()->seconds)
        open.pop_back();
      TraceOp& op = trace_.ops[call.op];
      ++op.calls;
      op.seconds += call.seconds;
      if (op.on_gpu && std::min(end - call.begin, call.seconds) > kMaxOverlap)
        Count(trace_.assumed,
              "of a stream begin before the one before them ends: their times overlap");
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
  std::map<std::string, std::string> gpus_;               // models by number
  std::unordered_map<std::string, std::size_t> numbers_;  // indices of ops, by KeyOf and process
  std::map<ThreadId, std::vector<Call>> threads_;
  std::unordered_set<std::size_t> seen_;  // hashes of calls
  LeftOut broken_;                        // events that cannot be read
};

// Returns the name and the input sizes, e.g. "aten::addmm 64 32x64 64x64".
std::string NameOf(const TraceOp& op) {
  std::string name = text::Printable(op.name);
  for (const auto& sizes : op.sizes)
    if (!sizes.empty()) name += fmt::format(" {}", fmt::join(sizes, "x"));
  return name;
}

// Returns the work of all calls of a product, a convolution or attention in f32 or f64. Returns
// nullopt for other operators and types: the trace does not name the pipe of narrower types.
std::optional<Work> WorkOf(const TraceOp& op) {
  const auto count = CountOfOp(op);
  if (!count || !(count->matrix > 0) || (count->type != "f32" && count->type != "f64"))
    return std::nullopt;
  Work work;
  work.flops[count->type == "f64" ? "fp64.vector" : "fp32.vector"] = *count->matrix * op.calls;
  work.bytes[Level::kDram] = count->bytes * op.calls;
  return work;
}

record::Record RecordOf(const TraceOp& op) {
  record::Record record{.name = NameOf(op), .device = op.gpu.empty() && op.on_gpu ? "gpu" : op.gpu};
  if (op.on_gpu) record.timed = record::timed::kKernels;
  record.repetitions.push_back({.seconds = op.seconds, .iterations = 1});
  Work work = WorkOf(op).value_or(Work{});
  work.launches = op.calls;
  record.work[Provenance::kModelled] = std::move(work);
  return record;
}

// Appends a number to repeated names, of operators that differ only in types or scalars.
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
                Imported& imported) {
  double unknown = 0;
  for (const auto* op : taken)
    if (!WorkOf(*op)) unknown += op->seconds;
  imported.Say("{}: {:.0f} events in {:.4g} s, on {:.0f} threads or streams; the time of {}", where,
               trace.events, trace.end - trace.begin, trace.threads,
               taken.front()->on_gpu ? "a kernel is its own duration"
                                     : "a call excludes the calls within it (self time)");
  if (!others.empty())
    imported.Say(
        "{}: {} operators of the host, {:.4g} s, are left out, since the trace has kernels of a "
        "GPU",
        where, others.size(), SecondsOfAll(others));
  if (unknown > 0)
    imported.Say("{}: FLOPs and bytes are not known for {:.0f} % of the time", where,
                 100 * unknown / SecondsOfAll(taken));
  for (const auto& [reason, count] : trace.left_out)
    imported.Say("{}: {:.0f} events {} are left out", where, count, reason);
  for (const auto& [what, count] : trace.assumed)
    imported.Say("{}: {:.0f} events {}", where, count, what);
  if (trace.cut) imported.Say("{}: the file is cut off: later events are missing", where);
}

}  // namespace

Trace ReadTrace(const std::string& text, const std::string& where, bool keep_calls) {
  return TraceReader(where, keep_calls).Read(text);
}

bool LooksLikeTrace(std::string_view text) {
  return text.find("\"traceEvents\"") != std::string_view::npos;
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
  const bool several = std::ranges::any_of(taken, [&](const TraceOp* op) {
    return !op->gpu.empty() && op->process != taken.front()->process;
  });
  for (const auto* op : taken) {
    imported.records.push_back(RecordOf(*op));
    if (several) imported.records.back().name += "/Device=" + text::Printable(op->process);
  }
  MakeUnique(imported.records);
  AddRemarks(trace, taken, gpu ? operators : std::vector<const TraceOp*>(), where, imported);
  return imported;
}

}  // namespace dlroof::imports
