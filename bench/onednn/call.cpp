#include "bench/onednn/call.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "bench/workload/memory.h"

namespace dlroof::onednn {
namespace {

using dnnl::memory;

// The primitive of a call with copies of its tensors in FoldedMemory.
struct FoldedCall {
  std::shared_ptr<const Call> call;
  std::vector<workload::FoldedMemory> copies;
  std::unordered_map<int, memory> arguments;
  ArgumentList listed;
};

std::shared_ptr<const FoldedCall> MakeFolded(std::shared_ptr<const Call> call,
                                             double distinct_bytes) {
  auto folded = std::make_shared<FoldedCall>();
  std::vector<size_t> bytes;
  for (const auto& [argument, original] : call->arguments)
    bytes.push_back(original.get_desc().get_size());
  const auto distinct = workload::DistinctBytes(bytes, distinct_bytes);
  workload::RequireHostMemory(std::accumulate(distinct.begin(), distinct.end(), 0.0),
                              "a copy of the tensors");
  size_t i = 0;
  for (const auto& [argument, original] : call->arguments) {
    const auto& copy = folded->copies.emplace_back(bytes[i], distinct[i]);
    std::memcpy(copy.begin(), original.get_data_handle(), std::min(bytes[i], copy.distinct()));
    folded->arguments.emplace(argument, memory(original.get_desc(), CpuEngine(), copy.begin()));
    ++i;
  }
  folded->listed = ListedArguments(folded->arguments);
  folded->call = std::move(call);
  return folded;
}

workload::PreparedCall Folded(std::shared_ptr<const Call> call, double distinct_bytes) {
  workload::PreparedCall prepared{.algorithm = call->implementation};
  prepared.run = [folded = MakeFolded(std::move(call), distinct_bytes)] {
    Execute(folded->call->primitive, folded->listed);
  };
  return prepared;
}

}  // namespace

const memory& Call::AddInput(int argument, const memory::desc& desc,
                             const std::vector<float>& values) {
  return arguments.insert_or_assign(argument, tensors.Filled(desc, values)).first->second;
}

const memory& Call::AddOutput(int argument, const memory::desc& desc) {
  return arguments.insert_or_assign(argument, tensors.Poisoned(desc)).first->second;
}

void RequireKernel(std::string_view implementation, double flops) {
  constexpr double kMaxFlops = 1e8;
  if (implementation.starts_with("ref") && flops > kMaxFlops)
    throw Unsupported(
        "oneDNN has no kernel for this call on this CPU, only reference loops ({}), which would "
        "take seconds or minutes per call",
        implementation);
}

workload::PreparedCall Prepared(const std::shared_ptr<const Call>& call, Work modelled) {
  double flops = 0;
  for (const auto& [pipe, count] : modelled.flops) flops += count;
  RequireKernel(call->implementation, flops);
  workload::PreparedCall prepared{.algorithm = call->implementation,
                                  .isa = EffectiveIsa(),
                                  .modelled = std::move(modelled),
                                  .memory = Regions(call->arguments, call->weights)};
  prepared.explain.folded = [call](double distinct_bytes) { return Folded(call, distinct_bytes); };
  prepared.run = [call] { call->Run(); };
  return prepared;
}

}  // namespace dlroof::onednn
