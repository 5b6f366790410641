// Conv2D/gpu/cudnn.
#include <memory>

#include "bench/conv2d/cudnn/call.h"

namespace dlroof::cudnn {
namespace {

PreparedCall Prepare(const BenchmarkName& name, const RunSettings& settings) {
  const auto request = ReadCudnnConv2dCase(name);
  const auto call = std::make_shared<const ConvCall>(request, settings.seed);
  PreparedCall prepared;
  prepared.run = [call] { call->Run(); };
  prepared.enqueue = [call](void* stream) { call->Enqueue(stream); };
  prepared.verify = [call] { return call->Verify(); };
  prepared.algorithm = Describe(call->choice(), request.conv.type);
  prepared.modelled = ConvWork(request.conv, call->choice());
  prepared.threads = 1;
  prepared.memory = call->Memory();
  prepared.heuristic_over_best = call->heuristic_over_best();
  return prepared;
}

[[maybe_unused]] const bool cell_registered =
    RegisterCell({.op = "Conv2D", .device = "gpu", .library = "cudnn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::cudnn
