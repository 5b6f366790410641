// Reads one event of a Chrome trace (import.h).
#include <fmt/format.h>

#include <cmath>

#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/record/large_json.h"
#include "reporters/text/numbers.h"

namespace dlroof::imports {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kMaxMicros = 1e18;  // larger times are invalid
constexpr double kMaxSeconds = 1e5;  // [s] as the range of "seconds" in numbers.h

// Kineto's categories of GPU work: capitalised up to PyTorch 1.11, and "Kernel" in onnxruntime.
constexpr std::string_view kGpuCategories[] = {"kernel", "gpu_memcpy", "gpu_memset",
                                               "Kernel", "Memcpy",     "Memset"};
// Categories of operators: Kineto's, TensorFlow's ("Op"), onnxruntime's ("Node") and autograd's
// (""). Events of other categories are spans of the program, or repeat the event of an operator.
constexpr std::string_view kOperatorCategories[] = {"", "cpu_op", "Operator", "Op", "op", "Node"};
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

}  // namespace

std::string ScalarIn(const record::JsonObject& event, const char* key) {
  const auto member = event.Find(key);
  if (!member) return "";
  if (member->value.is_string()) return std::string(member->Text());
  return fmt::format("{:.0f}", member->Number());
}

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
    return left_out(fmt::format("of the category {}", category));
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
  read.has_category = !category.empty();
  if (const auto args = event.Find("args"); args && args->value.is_object())
    ReadArguments({args->value, event.PlaceOf("args")}, read);
  return read;
}

}  // namespace dlroof::imports
