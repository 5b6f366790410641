#include "bench/conv2d/cudnn_case.h"

#include <fmt/format.h>

#include "bench/workload/problem_text.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"

namespace dlroof::cudnn {
namespace {

constexpr std::string_view kEngine = "engine";

// "engine62" as the last option, taken off the name.
void TakeEngine(BenchmarkName& name, ConvRequest& request) {
  if (name.options.empty() || !name.options.back().starts_with(kEngine)) return;
  const int column = ColumnOfPart(name, 5 + static_cast<int>(name.options.size()));
  TextCursor cursor(name.options.back(), column - 1);
  cursor.Expect(kEngine);
  request.choice = EngineChoice::kNumbered;
  request.engine = cursor.Integer(0, "cuDNN's number of an engine");
  if (!cursor.AtEnd()) cursor.Refuse("the end");
  name.options.pop_back();
}

void RefuseOption(const BenchmarkName& name, std::string_view option, std::string_view why) {
  for (size_t i = 0; i < name.options.size(); ++i)
    if (name.options[i] == option)
      throw BadInput({.column = ColumnOfPart(name, 6 + static_cast<int>(i))},
                     fmt::format("'{}' {}", option, why));
}

}  // namespace

ConvRequest ReadConvRequest(const BenchmarkName& full) {
  ConvRequest request;
  BenchmarkName name = full;
  TakeEngine(name, request);
  request.one = ReadConv2dCase(name, {{"f32", "tf32", "f16", "bf16", "int8", "fp8"},
                                      true,
                                      {{"bias"}, {"relu"}, {"nchw"}, {"best", "engineN"}}});
  auto& one = request.one;
  if (one.type == "tf32") one.fpmath = "tf32-truncated";
  if (one.layout == Conv2dLayout::kAny) one.layout = Conv2dLayout::kNhwc;
  if (HasOption(name, "best")) {
    if (request.choice == EngineChoice::kNumbered)
      RefuseOption(name, "best", "times every engine, engineN is one: a name has one of them");
    request.choice = EngineChoice::kBest;
  }
  RefuseOption(name, "engineN", "needs cuDNN's number of an engine: engine45");
  if (one.direction != Conv2dDirection::kForward)
    RefuseOption(name, "bias", "is fused into fwd alone");
  return request;
}

namespace {
[[maybe_unused]] const bool registered = RegisterNameReader(
    {"Conv2D", "gpu", "cudnn", [](const BenchmarkName& name) { ReadConvRequest(name); }});
}  // namespace

}  // namespace dlroof::cudnn
