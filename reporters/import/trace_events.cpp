#include "reporters/import/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <unordered_map>

#include "counters/base/error.h"
#include "reporters/record/json_elements.h"
#include "reporters/record/json_object.h"

namespace dlroof {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kMostMicros = 1e18;  // beyond it a time is none

struct Call {
  std::size_t op = 0;
  std::int64_t process = 0;
  double begin = 0, seconds = 0;  // [s]
};

using ThreadId = std::pair<std::int64_t, std::string>;  // process, thread

// A number or a text: TensorFlow's threads are numbers, PyTorch's streams may be names.
std::string Scalar(const JsonObject& event, const char* key) {
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

// The strings of a list; what is none of them is an empty one, so that positions stay.
std::vector<std::string> TextsOf(const JsonObject& args, const char* key) {
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

void ReadInputs(const JsonObject& event, TraceOp& op) {
  const auto member = event.Find("args");
  if (!member || !member->value.is_object()) return;
  const JsonObject args(member->value, event.PlaceOf("args"));
  if (const auto dims = args.Find("Input Dims"); dims && dims->value.is_array())
    dims->Each(
        [&](simdjson::dom::element list, const JsonPlace&) { op.sizes.push_back(SizesOf(list)); });
  op.types = TextsOf(args, "Input type");
  op.values = TextsOf(args, "Concrete Inputs");
}

std::string KeyOf(const TraceOp& op) {
  std::string key = op.name + (op.on_gpu ? "\1" : "\2");
  for (const auto& sizes : op.sizes) key += fmt::format("{}\3", fmt::join(sizes, ","));
  return key + fmt::format("\4{}\4{}", fmt::join(op.types, "\3"), fmt::join(op.values, "\3"));
}

bool IsGpuCategory(std::string_view category) {
  return category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset";
}

// Categories that mark spans of the program or repeat what an operator's event says.
bool IsOperator(std::string_view category) {
  return category.empty() || category == "cpu_op" || category == "Op" || category == "op";
}

class TraceReader {
 public:
  explicit TraceReader(const std::string& where) : where_(where) {}

  Trace Read(const std::string& text) {
    std::istringstream in(text);
    const auto skeleton =
        EachJsonElement(in, [&](std::string_view key, std::size_t index, std::string_view element) {
          if (key == "traceEvents") Take({&file_, key, index}, element);
        });
    if (trace_.events == 0)
      throw BadInput(where_ + ": 'traceEvents': no complete event (\"ph\": \"X\")");
    if (skeleton.cut) trace_.left_out["behind the place where the file is cut off"] += 1;
    MarkGpuProcesses();
    for (auto& [thread, calls] : threads_) AddSelfTimes(calls);
    trace_.threads = static_cast<double>(threads_.size());
    return std::move(trace_);
  }

 private:
  void Take(const JsonPlace& place, std::string_view text) {
    const auto parsed = parser_.parse(text.data(), text.size(), false);
    if (parsed.error())
      throw BadInput("{}: {}", place.Text(), simdjson::error_message(parsed.error()));
    const JsonObject event(parsed.value_unsafe(), place);
    const auto phase = event.TextOr("ph", "");
    if (phase == "M") return Name(event);
    if (phase != "X") return;
    const auto category = event.TextOr("cat", "");
    const bool gpu = IsGpuCategory(category);
    if (!gpu && !IsOperator(category)) {
      trace_.left_out[fmt::format("of the category {}", category)] += 1;
      return;
    }
    TraceOp op{.name = event.Text("name"), .on_gpu = gpu};
    if (op.name.empty()) event.Refuse("name", "a name");
    ReadInputs(event, op);
    Add(event, std::move(op));
  }

  void Add(const JsonObject& event, TraceOp op) {
    const double begin = TimeOf(event, "ts"), seconds = TimeOf(event, "dur");
    trace_.begin = trace_.events == 0 ? begin : std::min(trace_.begin, begin);
    trace_.end = std::max(trace_.end, begin + seconds);
    ++trace_.events;
    const auto process = static_cast<std::int64_t>(event.OptionalNumber("pid").value_or(0));
    auto key = KeyOf(op) + fmt::format("\5{}", process);
    const auto [found, is_new] = numbers_.emplace(std::move(key), trace_.ops.size());
    if (is_new) {
      trace_.ops.push_back(std::move(op));
      processes_.push_back(process);
    }
    threads_[{process, Scalar(event, "tid")}].push_back({found->second, process, begin, seconds});
  }

  static double TimeOf(const JsonObject& event, const char* key) {
    const double micros = event.Number(key);
    if (!(std::abs(micros) <= kMostMicros) || (micros < 0 && std::string_view(key) == "dur"))
      event.Refuse(key, "microseconds");
    return micros * kMicro;
  }

  // TensorFlow names a process after the device whose streams its threads are.
  void Name(const JsonObject& event) {
    if (event.TextOr("name", "") != "process_name") return;
    const auto member = event.Find("args");
    if (!member || !member->value.is_object()) return;
    const JsonObject args(member->value, event.PlaceOf("args"));
    if (args.TextOr("name", "").find("/device:GPU:") != std::string::npos)
      gpu_processes_.push_back(static_cast<std::int64_t>(event.OptionalNumber("pid").value_or(0)));
  }

  void MarkGpuProcesses() {
    for (std::size_t i = 0; i < trace_.ops.size(); ++i)
      if (std::ranges::find(gpu_processes_, processes_[i]) != gpu_processes_.end())
        trace_.ops[i].on_gpu = true;
  }

  // Takes the time of each call from that of the call in which it lies.
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
  JsonPlace file_{nullptr, where_};
  simdjson::dom::parser parser_;
  Trace trace_;
  std::vector<std::int64_t> processes_, gpu_processes_;  // of each op; those of GPUs
  std::unordered_map<std::string, std::size_t> numbers_;
  std::map<ThreadId, std::vector<Call>> threads_;
};

}  // namespace

Trace ReadTrace(const std::string& text, const std::string& where) {
  return TraceReader(where).Read(text);
}

}  // namespace dlroof
