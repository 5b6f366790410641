#include "bench/conv2d/cudnn_case.h"

#include "bench/workload/problem_text.h"
#include "bench/workload/workload.h"

namespace dlroof::cudnn {
namespace {

constexpr std::string_view kEngine = "engine";

// "engine62" as the last option, taken off the name.
void TakeEngine(BenchmarkName& name, CudnnConv2dCase& request) {
  if (name.options.empty() || !name.options.back().starts_with(kEngine)) return;
  const int column = ColumnOfPart(name, 5 + static_cast<int>(name.options.size()));
  TextCursor cursor(name.options.back(), column - 1);
  cursor.Expect(kEngine);
  request.choice = EngineChoice::kNumbered;
  request.engine = cursor.Integer(0, "cuDNN's number of an engine");
  if (!cursor.AtEnd()) cursor.Refuse("the end");
  name.options.pop_back();
}

}  // namespace

CudnnConv2dCase ReadCudnnConv2dCase(const BenchmarkName& full) {
  CudnnConv2dCase request;
  BenchmarkName name = full;
  TakeEngine(name, request);
  request.conv = ReadConv2dCase(name, {{"f32", "tf32", "f16", "bf16", "int8", "fp8"},
                                       true,
                                       {{"bias"}, {"relu"}, {"nchw"}, {"best", "engineN"}}});
  auto& conv = request.conv;
  if (conv.type == "tf32") conv.fpmath = "tf32-truncated";
  if (conv.layout == Conv2dLayout::kAny) conv.layout = Conv2dLayout::kNhwc;
  if (HasOption(name, "best")) {
    if (request.choice == EngineChoice::kNumbered)
      RefuseOption(name, "best", "times every engine, engineN is one: a name has one of them");
    request.choice = EngineChoice::kBest;
  }
  RefuseOption(name, "engineN", "needs cuDNN's number of an engine: engine45");
  if (conv.direction != ProductDirection::kForward)
    RefuseOption(name, "bias", "is fused into fwd alone");
  return request;
}

namespace {
[[maybe_unused]] const bool cudnn_case_registered =
    RegisterCell({"Conv2D", "gpu", "cudnn", ReadNameAlone<ReadCudnnConv2dCase>, "the CUDA module"});
}  // namespace

}  // namespace dlroof::cudnn
