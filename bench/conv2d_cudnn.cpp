#include "bench/conv2d_cudnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "bench/cudnn_plans.h"
#include "bench/device_elements.h"
#include "bench/host_memory.h"
#include "counters/cuda_clock.h"
#include "counters/cuda_support.h"

namespace dlroof::cudnn {
namespace {

size_t Bytes(const TensorSpec& spec) {
  int64_t count = 1;
  for (const int64_t size : spec.dimensions) count *= size;
  return static_cast<size_t>(count * ElementBytes(spec.type));
}

void Upload(const std::vector<float>& plain, const TensorSpec& spec, DeviceBuffer& buffer) {
  const auto bytes = Encoded(ToStrides(plain, spec.dimensions, spec.strides), spec.type);
  buffer.CopyFrom(bytes.data());
}

std::vector<float> Download(const TensorSpec& spec, const DeviceBuffer& buffer) {
  std::vector<std::byte> bytes(buffer.bytes());
  buffer.CopyTo(bytes.data());
  return FromStrides(Decoded(bytes, spec.type), spec.dimensions, spec.strides);
}

int64_t ResultId(Conv2dDirection direction) {
  if (direction == Conv2dDirection::kForward) return kDestinationId;
  return direction == Conv2dDirection::kBackwardData ? kSourceId : kWeightsId;
}

// Before anything is allocated. On the host each tensor stands as f32 in plain and in the device's
// order, and encoded.
void RequireMemory(const GraphSpec& graph, const std::string& what) {
  double host = 0;
  for (const auto& tensor : graph.tensors)
    if (!tensor.is_virtual)
      host += static_cast<double>(Bytes(tensor)) *
              (1 + 8 / static_cast<double>(ElementBytes(tensor.type)));
  RequireHostMemory(host, what);
  RequireDeviceMemory(TensorBytes(graph), what);
}

// A plan, what it was made from, and the pointers that it is executed with.
struct Candidate {
  Proposal proposal;
  Plan plan;
  Descriptor pack;
};

}  // namespace

struct ConvCall::State {
  State() = default;
  ~State() { ForgetStream(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ConvRequest request;
  unsigned seed = 1;
  GraphSpec graph;
  Conv2dInputs inputs;
  std::map<int64_t, DeviceBuffer> tensors;  // by id
  std::optional<DeviceBuffer> workspace;
  // cuDNN does not promise that a plan owns all that it was made from.
  std::optional<Graph> described;
  std::vector<Candidate> candidates;
  PlanChoice choice;
  double heuristic_over_best = 1;
  CudaStream stream;

  const Candidate& Chosen() const { return candidates.front(); }

  void Execute(const Candidate& candidate, void* on) const {
    UseStream(on);
    Check(cudnnBackendExecute(Handle(), candidate.plan.descriptor.get(), candidate.pack.get()),
          "a convolution");
  }

  void FillTensors();
  std::optional<Candidate> Try(Proposal& proposal, const Target& target, int64_t workspace_limit,
                               std::string& why) const;
  void FindCandidates();
  void Pack();
  void KeepOnly(size_t candidate);
  void TimeCandidates();
};

void ConvCall::State::FillTensors() {
  inputs = SeededConv2dInputs(request.one, seed);
  const std::map<int64_t, const std::vector<float>*> values = {
      {kSourceId, &inputs.source},
      {kWeightsId, &inputs.weights},
      {kDestinationId, &inputs.destination},
      {kBiasId, &inputs.bias}};
  for (const auto& tensor : graph.tensors) {
    if (tensor.is_virtual) continue;
    auto& buffer = tensors.emplace(tensor.id, DeviceBuffer(Bytes(tensor))).first->second;
    if (tensor.id != ResultId(request.one.direction)) Upload(*values.at(tensor.id), tensor, buffer);
  }
}

// Makes the plan and takes the proposal; absent with the reason where it cannot be used.
std::optional<Candidate> ConvCall::State::Try(Proposal& proposal, const Target& target,
                                              int64_t workspace_limit, std::string& why) const {
  why = WhyNotAllowed(request.one, proposal.config);
  if (!why.empty()) return std::nullopt;
  if (request.choice == EngineChoice::kNumbered && proposal.config.engine != request.engine) {
    why = fmt::format("engine {}", proposal.config.engine);
    return std::nullopt;
  }
  auto plan = MakePlan(proposal, target, why);
  if (!plan) return std::nullopt;
  if (plan->workspace_bytes > workspace_limit) {
    why = fmt::format("workspace above {:.2g} GB", static_cast<double>(workspace_limit) / 1e9);
    return std::nullopt;
  }
  return Candidate{std::move(proposal), std::move(*plan),
                   Descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)};
}

// All that may be used, in the heuristics' order; unless the fastest is asked for, the first alone.
void ConvCall::State::FindCandidates() {
  const auto target = Target::Here();
  described.emplace(graph, target);
  const bool all = request.choice == EngineChoice::kBest;
  const int64_t limit =
      WorkspaceLimit(FreeDeviceBytes() - static_cast<int64_t>(TensorBytes(graph)));
  auto proposals = Propose(*described, target, all);
  choice.proposed = proposals.size();
  for (const auto& proposal : proposals)
    if (!WhyNotAllowed(request.one, proposal.config).empty()) ++choice.refused;
  std::vector<std::string> reasons;
  for (auto& proposal : proposals) {
    if (auto candidate = Try(proposal, target, limit, reasons.emplace_back()))
      candidates.push_back(std::move(*candidate));
    if (!candidates.empty() && !all) break;
  }
  if (candidates.empty()) throw Unsupported(NoPlan(request.one, reasons));
}

void ConvCall::State::Pack() {
  int64_t most = 0;
  for (const auto& candidate : candidates) most = std::max(most, candidate.plan.workspace_bytes);
  if (most > 0) workspace.emplace(static_cast<size_t>(most));
  const void* const space = workspace ? workspace->get() : nullptr;
  std::vector<int64_t> ids;
  std::vector<const void*> pointers;
  for (const auto& [id, buffer] : tensors) {
    ids.push_back(id);
    pointers.push_back(buffer.get());
  }
  for (auto& candidate : candidates) {
    candidate.pack.SetInts(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    candidate.pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                       static_cast<int64_t>(pointers.size()), pointers.data());
    candidate.pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &space);
    candidate.pack.Finalize("the pointers of a convolution");
  }
}

// Gives back what the others need: with many plans that is gigabytes of workspace.
void ConvCall::State::KeepOnly(size_t candidate) {
  Candidate kept = std::move(candidates[candidate]);
  kept.pack = Descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  candidates.clear();
  candidates.push_back(std::move(kept));
  workspace.reset();
  Pack();
}

void ConvCall::State::TimeCandidates() {
  const auto clock = OpenCudaClock(CurrentDevice());
  const StreamUse use;  // of the clock's stream, which ends with it
  const auto seconds = [&](size_t candidate, int calls) {
    const auto call = [&](void* on) { Execute(candidates[candidate], on); };
    return clock.batch(call, calls, {}).seconds / calls;
  };
  // An error of the context stays, and every later call says it again.
  const auto require_gpu = [] {
    cudaGetLastError();
    CheckCuda(cudaDeviceSynchronize(), "after a plan that failed");
  };
  const auto plans = TimePlans(candidates.size(), seconds, require_gpu);
  const auto fastest = Fastest(plans);
  KeepOnly(fastest.config);
  heuristic_over_best = fastest.heuristic_over_best;
  choice.timed = plans.size();
}

ConvCall::ConvCall(const ConvRequest& request, unsigned seed) : state_(std::make_unique<State>()) {
  auto& state = *state_;
  state.request = request;
  state.seed = seed;
  RequireConvSupport(request.one);
  state.graph = GraphOf(request);
  RequireMemory(state.graph, ToText(request.one.problem));
  state.FindCandidates();
  state.FillTensors();
  state.Pack();
  if (request.choice == EngineChoice::kBest) state.TimeCandidates();
  state.choice.config = state.Chosen().proposal.config;
  state.choice.workspace_bytes = state.Chosen().plan.workspace_bytes;
  state.choice.tensor_bytes = TensorBytes(state.graph);
  Run();
}

ConvCall::~ConvCall() = default;

void ConvCall::Enqueue(void* stream) const { state_->Execute(state_->Chosen(), stream); }

void ConvCall::Run() const {
  Enqueue(state_->stream.get());
  state_->stream.Wait();
}

Verification ConvCall::Verify() const {
  constexpr int kNotANumber = 0xff;
  auto& state = *state_;
  const int64_t id = ResultId(state.request.one.direction);
  auto& result = state.tensors.at(id);
  result.Fill(kNotANumber);
  Run();
  const auto checked = CheckedCase(state.request.one, state.choice.config);
  auto found =
      CheckConv2d(checked, state.inputs,
                  Conv2dOutput<float>{Download(TensorOf(state.graph, id), result)}, state.seed);
  state.inputs = {};  // up to gigabytes that the timed calls do not need
  return found;
}

const PlanChoice& ConvCall::choice() const { return state_->choice; }

double ConvCall::heuristic_over_best() const { return state_->heuristic_over_best; }

std::vector<MemoryRegion> ConvCall::Memory() const {
  std::vector<MemoryRegion> regions;
  for (const auto& [id, buffer] : state_->tensors)
    regions.push_back({buffer.get(), buffer.bytes(), id == kWeightsId || id == kBiasId});
  return regions;
}

Workload MakeConv2dCudnn(const BenchmarkName& name) {
  const auto request = ReadConvRequest(name);
  return {.name = name, .prepare = [request](const RunSettings& settings) {
            const auto call = std::make_shared<const ConvCall>(request, settings.seed);
            PreparedCall prepared;
            prepared.run = [call] { call->Run(); };
            prepared.enqueue = [call](void* stream) { call->Enqueue(stream); };
            prepared.verify = [call] { return call->Verify(); };
            prepared.algorithm = Describe(call->choice(), request.one.type);
            prepared.modelled = ConvWork(request.one, call->choice());
            prepared.threads = 1;
            prepared.memory = call->Memory();
            if (call->choice().timed > 0)
              prepared.heuristic_over_best = call->heuristic_over_best();
            return prepared;
          }};
}

}  // namespace dlroof::cudnn
