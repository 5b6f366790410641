#include "reporters/imports/trace_event.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "reporters/text/numbers.h"

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

// What Kineto says of an operator, beside its inputs.
constexpr std::string_view kArguments[] = {
    "External id",   "Record function id", "Ev Idx",     "Sequence number",
    "Fwd thread id", "Input Strides",      "Call stack", "Module Hierarchy",
    "Rng State",     "Op schema",          "Input Dims", "Input dims",
    "Input type",    "Concrete Inputs",    "kwinputs",   "Collective name"};

}  // namespace

void ThreadNames::Read(const record::JsonObject& event) {
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

ThreadKind ThreadNames::KindOf(const ThreadId& thread) const {
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

bool ThreadNames::LacksName(const ThreadId& thread) const {
  return processes_.contains(thread.first) && !threads_.contains(thread) &&
         std::ranges::any_of(threads_,
                             [&](const auto& other) { return other.first.first == thread.first; });
}

ThreadId ThreadOf(const record::JsonObject& event) {
  return {Scalar(event, "pid"), Scalar(event, "tid")};
}

bool HasMember(const record::JsonObject& event, const char* key) {
  const auto member = event.Find(key);
  return member && !member->value.is_null();
}

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

}  // namespace dlroof::imports
