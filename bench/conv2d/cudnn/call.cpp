#include "bench/conv2d/cudnn/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "bench/conv2d/cudnn/plans.h"
#include "bench/library_rules/cudnn_version.h"
#include "bench/workload/device_elements.h"
#include "bench/workload/host_memory.h"
#include "counters/cuda/clock.h"
#include "counters/cuda/support.h"

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

int64_t ResultId(ProductDirection direction) {
  if (direction == ProductDirection::kForward) return kDestinationId;
  return direction == ProductDirection::kBackwardData ? kSourceId : kWeightsId;
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

  CudnnConv2dCase request;
  unsigned seed = 1;
  GraphSpec graph;
  ProductInputs inputs;
  std::map<int64_t, DeviceBuffer> tensors;  // by id
  std::optional<DeviceBuffer> workspace;
  // cuDNN does not promise that a plan owns all that it was made from.
  std::optional<Graph> described;
  std::optional<Target> target;
  std::vector<Proposal> proposals;
  size_t next = 0;              // proposal to be tried
  std::vector<WhyNot> reasons;  // why earlier ones could not be used
  std::vector<WhyNot> modes;    // heuristics that broke
  int64_t workspace_limit = 0;  // [byte]
  std::vector<Candidate> candidates;
  PlanChoice choice;
  std::optional<double> heuristic_over_best;
  CudaStream stream;

  const Candidate& Chosen() const { return candidates.front(); }

  void Execute(const Candidate& candidate, void* on) const {
    UseStream(on);
    CheckExecuted(
        cudnnBackendExecute(Handle(), candidate.plan.descriptor.get(), candidate.pack.get()),
        "a convolution");
  }
  void Run(const Candidate& candidate) const {
    Execute(candidate, stream.get());
    stream.Wait();
  }

  void FillTensors();
  void Ask();
  std::optional<Candidate> Try(Proposal& proposal, WhyNot& why) const;
  bool NextCandidate();
  void Pack();
  void KeepOnly(size_t candidate);
  void TakeFirstThatRuns();
  void TakeFastest();
  Verification Compared(const Candidate& candidate);
};

void ConvCall::State::FillTensors() {
  inputs = SeededInputs(request.conv, seed);
  const std::map<int64_t, const std::vector<float>*> values = {
      {kSourceId, &inputs.source},
      {kWeightsId, &inputs.weights},
      {kDestinationId, &inputs.destination},
      {kBiasId, &inputs.bias}};
  for (const auto& tensor : graph.tensors) {
    if (tensor.is_virtual) continue;
    auto& buffer = tensors.emplace(tensor.id, DeviceBuffer(Bytes(tensor))).first->second;
    if (tensor.id != ResultId(request.conv.direction))
      Upload(*values.at(tensor.id), tensor, buffer);
  }
}

void ConvCall::State::Ask() {
  target.emplace(Target::Here());
  described.emplace(graph, *target);
  workspace_limit = WorkspaceLimit(FreeDeviceBytes() - static_cast<int64_t>(TensorBytes(graph)));
  proposals = Propose(*described, *target, request.choice == EngineChoice::kBest, &modes);
  choice.proposed = proposals.size();
  for (const auto& proposal : proposals)
    if (!WhyNotAllowed(request.conv, proposal.config).empty()) ++choice.refused;
}

// Makes the plan and takes the proposal; absent with the reason where it cannot be used.
std::optional<Candidate> ConvCall::State::Try(Proposal& proposal, WhyNot& why) const {
  why.words = WhyNotAllowed(request.conv, proposal.config);
  if (!why.words.empty()) return std::nullopt;
  if (request.choice == EngineChoice::kNumbered && proposal.config.engine != request.engine) {
    why.words = fmt::format("engine {}", proposal.config.engine);
    return std::nullopt;
  }
  auto plan = MakePlan(proposal, *target, why);
  if (!plan) return std::nullopt;
  if (plan->workspace_bytes > workspace_limit) {
    why.words =
        fmt::format("workspace above {:.2g} GB", static_cast<double>(workspace_limit) / 1e9);
    return std::nullopt;
  }
  return Candidate{std::move(proposal), std::move(*plan),
                   Descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)};
}

// Appends the next that may be used, in the heuristics' order; false: there is none.
bool ConvCall::State::NextCandidate() {
  while (next < proposals.size())
    if (auto candidate = Try(proposals[next++], reasons.emplace_back())) {
      reasons.pop_back();
      candidates.push_back(std::move(*candidate));
      return true;
    }
  return false;
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

void ConvCall::State::TakeFirstThatRuns() {
  const auto run = [&] {
    Pack();
    Run(Chosen());
  };
  const auto another = [&] {
    candidates.clear();
    workspace.reset();
    return NextCandidate();
  };
  choice.broke = RunFirstThatWorks(run, another, RequireWorkingGpu);
}

void ConvCall::State::TakeFastest() {
  while (NextCandidate()) {
  }
  Pack();
  const auto clock = OpenCudaClock(CurrentDevice());
  const StreamUse use;  // of the clock's stream, which ends with it
  const auto seconds = [&](size_t candidate, int calls) {
    const auto call = [&](void* on) { Execute(candidates[candidate], on); };
    return clock.batch(call, calls, {}).seconds / calls;
  };
  const auto plans = TimePlans(candidates.size(), seconds, RequireWorkingGpu);
  const auto fastest =
      FastestRight(plans, [&](size_t candidate) { return Compared(candidates[candidate]).ok; });
  choice.broke = candidates.size() - plans.size();
  choice.timed = plans.size();
  choice.wrong = fastest.wrong;
  heuristic_over_best = fastest.plan.heuristic_over_best;
  KeepOnly(fastest.plan.config);
}

// Runs it on a result that is not a number, and looks at what it made.
Verification ConvCall::State::Compared(const Candidate& candidate) {
  constexpr int kNotANumber = 0xff;
  const int64_t id = ResultId(request.conv.direction);
  auto& result = tensors.at(id);
  result.Fill(kNotANumber);
  Run(candidate);
  return CheckOutput(CheckedCase(request.conv, candidate.proposal.config), inputs,
                     ProductOutput<float>{Download(TensorOf(graph, id), result)}, seed);
}

ConvCall::ConvCall(const CudnnConv2dCase& request, unsigned seed)
    : state_(std::make_unique<State>()) {
  auto& state = *state_;
  state.request = request;
  state.seed = seed;
  RequireConvSupport(request.conv);
  RequireTf32(request.conv.type, std::getenv(kTf32Override));
  state.graph = GraphOf(request);
  RequireMemory(state.graph, ToText(request.conv.problem));
  state.Ask();
  if (!state.NextCandidate()) ThrowNoPlan(request.conv, state.reasons, state.modes);
  state.FillTensors();
  if (request.choice == EngineChoice::kBest)
    state.TakeFastest();
  else
    state.TakeFirstThatRuns();
  state.proposals.clear();
  state.choice.config = state.Chosen().proposal.config;
  state.choice.workspace_bytes = state.Chosen().plan.workspace_bytes;
  state.choice.tensor_bytes = TensorBytes(state.graph);
}

ConvCall::~ConvCall() = default;

void ConvCall::Enqueue(void* stream) const { state_->Execute(state_->Chosen(), stream); }

void ConvCall::Run() const { state_->Run(state_->Chosen()); }

Verification ConvCall::Verify() const {
  auto found = state_->Compared(state_->Chosen());
  state_->inputs = {};  // up to gigabytes that the timed calls do not need
  return found;
}

const PlanChoice& ConvCall::choice() const { return state_->choice; }

std::optional<double> ConvCall::heuristic_over_best() const { return state_->heuristic_over_best; }

std::vector<MemoryRegion> ConvCall::Memory() const {
  std::vector<MemoryRegion> regions;
  for (const auto& [id, buffer] : state_->tensors)
    regions.push_back({buffer.get(), buffer.bytes(), id == kWeightsId || id == kBiasId});
  return regions;
}

}  // namespace dlroof::cudnn
