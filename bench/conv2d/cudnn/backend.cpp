// Conv2D/gpu/cudnn: convolutions on cuDNN's graph API.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include "bench/conv2d/cudnn/plans.h"
#include "bench/conv2d/loops.h"
#include "bench/library_rules/library_rules.h"
#include "bench/workload/memory.h"
#include "counters/cuda/clock.h"
#include "counters/cuda/device.h"

namespace dlroof::conv2d {
namespace {

size_t Bytes(const TensorSpec& spec) {
  int64_t count = 1;
  for (const int64_t size : spec.dimensions) count *= size;
  return static_cast<size_t>(count * workload::ElementBytes(spec.type));
}

void Upload(const std::vector<float>& plain, const TensorSpec& spec, cuda::DeviceBuffer& buffer) {
  const auto bytes =
      workload::Encoded(workload::ToStrides(plain, spec.dimensions, spec.strides), spec.type);
  buffer.CopyFrom(bytes.data());
}

std::vector<float> Download(const TensorSpec& spec, const cuda::DeviceBuffer& buffer) {
  std::vector<std::byte> bytes(buffer.bytes());
  buffer.CopyTo(bytes.data());
  return workload::FromStrides(workload::Decoded(bytes, spec.type), spec.dimensions, spec.strides);
}

int64_t ResultId(ProductDirection direction) {
  if (direction == ProductDirection::kForward) return kDestinationId;
  return direction == ProductDirection::kBackwardData ? kSourceId : kWeightsId;
}

// Call it before anything is allocated. The host has each tensor as f32 in plain order, as f32 in
// the device's order, and encoded.
void RequireMemory(const GraphSpec& graph, const std::string& what) {
  double host = 0;
  for (const auto& tensor : graph.tensors)
    if (!tensor.is_virtual)
      host += static_cast<double>(Bytes(tensor)) *
              (1 + 8 / static_cast<double>(workload::ElementBytes(tensor.type)));
  workload::RequireHostMemory(host, what);
  cudnn::RequireDeviceMemory(TensorBytes(graph), what);
}

// A plan, the proposal that it was made from, and the pointers with which it is executed.
struct Candidate {
  Proposal proposal;
  Plan plan;
  cudnn::Descriptor pack;
};

// One convolution, with its seeded tensors and the chosen engine.
class Call {
 public:
  // Gets cuDNN's proposals, fills the GPU's memory, and chooses an engine: the first allowed one
  // that runs, or the fastest one with a right result (EngineChoice::kBest). Throws cuDNN's own
  // message, as Unsupported if cuDNN refuses.
  Call(const CudnnConv2dCase& request, unsigned seed);

  // Starts one call on a cudaStream_t.
  void Enqueue(void* on) const { Execute(Chosen(), on); }
  // Makes one call, which has finished when it returns.
  void Run() const { Run(Chosen()); }
  // Fills the result with NaN, runs once, and compares with the reference.
  workload::Verification Verify();
  const PlanChoice& choice() const { return choice_; }
  // [1] Only for EngineChoice::kBest, if the heuristic's choice could be timed.
  std::optional<double> heuristic_over_best() const { return heuristic_over_best_; }
  std::vector<workload::MemoryRegion> Memory() const;

 private:
  const Candidate& Chosen() const { return candidates_.front(); }

  void Execute(const Candidate& candidate, void* on) const {
    cudnn::UseStream(on);
    cudnn::CheckExecuted(
        cudnnBackendExecute(cudnn::Handle(), candidate.plan.descriptor.get(), candidate.pack.get()),
        "a convolution");
  }
  void Run(const Candidate& candidate) const {
    Execute(candidate, stream_.get());
    stream_.Wait();
  }

  void FillTensors();
  void Ask();
  std::optional<Candidate> Try(Proposal& proposal, library_rules::Failure& failure) const;
  bool NextCandidate();
  void Pack();
  void KeepOnly(size_t candidate);
  void TakeFirstThatRuns();
  void TakeFastest();
  workload::Verification Compared(const Candidate& candidate);

  CudnnConv2dCase request_;
  unsigned seed_;
  GraphSpec graph_;
  products::ProductInputs inputs_;
  std::map<int64_t, cuda::DeviceBuffer> tensors_;  // by id
  std::optional<cuda::DeviceBuffer> workspace_;
  // cuDNN does not promise that a plan owns everything that it was made from.
  std::optional<Graph> described_;
  std::optional<Target> target_;
  std::vector<Proposal> proposals_;
  size_t next_ = 0;                               // index of the proposal to try next
  std::vector<library_rules::Failure> failures_;  // of earlier proposals
  std::vector<library_rules::Failure> modes_;     // heuristics that are broken
  int64_t workspace_limit_ = 0;                   // [byte]
  std::vector<Candidate> candidates_;
  PlanChoice choice_;
  std::optional<double> heuristic_over_best_;
  cuda::CudaStream stream_;
  cudnn::StreamUse use_;  // must be destroyed before stream_
};

void Call::FillTensors() {
  inputs_ = products::SeededInputs(request_.conv, seed_);
  const std::map<int64_t, const std::vector<float>*> values = {
      {kSourceId, &inputs_.source},
      {kWeightsId, &inputs_.weights},
      {kDestinationId, &inputs_.destination},
      {kBiasId, &inputs_.bias}};
  for (const auto& tensor : graph_.tensors) {
    if (tensor.is_virtual) continue;
    auto& buffer = tensors_.emplace(tensor.id, cuda::DeviceBuffer(Bytes(tensor))).first->second;
    if (tensor.id != ResultId(request_.conv.direction))
      Upload(*values.at(tensor.id), tensor, buffer);
  }
}

void Call::Ask() {
  target_.emplace(Target::Here());
  described_.emplace(graph_, *target_);
  workspace_limit_ =
      WorkspaceLimit(cudnn::FreeDeviceBytes() - static_cast<int64_t>(TensorBytes(graph_)));
  proposals_ = Propose(*described_, *target_, request_.choice == EngineChoice::kBest, &modes_);
  choice_.proposed = proposals_.size();
  for (const auto& proposal : proposals_)
    if (ForbiddenReason(request_.conv, proposal.config)) ++choice_.refused;
}

// Makes a plan and moves the proposal into the candidate. Sets `failure` and returns nothing if the
// proposal cannot be used.
std::optional<Candidate> Call::Try(Proposal& proposal, library_rules::Failure& failure) const {
  if (const auto reason = ForbiddenReason(request_.conv, proposal.config)) {
    failure.text = reason->text;
    return std::nullopt;
  }
  if (request_.choice == EngineChoice::kNumbered && proposal.config.engine != request_.engine) {
    failure.text = fmt::format("engine {}", proposal.config.engine);
    return std::nullopt;
  }
  auto plan = MakePlan(proposal, *target_, failure);
  if (!plan) return std::nullopt;
  if (plan->workspace_bytes > workspace_limit_) {
    failure.text =
        fmt::format("workspace above {:.2g} GB", static_cast<double>(workspace_limit_) / 1e9);
    return std::nullopt;
  }
  return Candidate{std::move(proposal), std::move(*plan),
                   cudnn::Descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)};
}

// Appends the next usable proposal in the heuristics' order. Returns false if there is none.
bool Call::NextCandidate() {
  while (next_ < proposals_.size())
    if (auto candidate = Try(proposals_[next_++], failures_.emplace_back())) {
      failures_.pop_back();
      candidates_.push_back(std::move(*candidate));
      return true;
    }
  return false;
}

void Call::Pack() {
  int64_t most = 0;
  for (const auto& candidate : candidates_) most = std::max(most, candidate.plan.workspace_bytes);
  if (most > 0) workspace_.emplace(static_cast<size_t>(most));
  const void* const space = workspace_ ? workspace_->get() : nullptr;
  std::vector<int64_t> ids;
  std::vector<const void*> pointers;
  for (const auto& [id, buffer] : tensors_) {
    ids.push_back(id);
    pointers.push_back(buffer.get());
  }
  for (auto& candidate : candidates_) {
    candidate.pack.SetInts(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    candidate.pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                       static_cast<int64_t>(pointers.size()), pointers.data());
    candidate.pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &space);
    candidate.pack.Finalize("the pointers of a convolution");
  }
}

// Drops all other candidates and frees their workspace, which may be gigabytes.
void Call::KeepOnly(size_t candidate) {
  Candidate chosen = std::move(candidates_[candidate]);
  chosen.pack = cudnn::Descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  candidates_.clear();
  candidates_.push_back(std::move(chosen));
  workspace_.reset();
  Pack();
}

void Call::TakeFirstThatRuns() {
  const auto run = [&] {
    Pack();
    Run(Chosen());
  };
  const auto another = [&] {
    candidates_.clear();
    workspace_.reset();
    return NextCandidate();
  };
  choice_.broke = RunFirstThatWorks(run, another, cuda::RequireWorkingGpu);
}

void Call::TakeFastest() {
  while (NextCandidate()) {
  }
  Pack();
  const auto clock = cuda::OpenCudaClock(cudnn::CurrentDevice());
  const cudnn::StreamUse use;  // must be destroyed before the clock, which owns its stream
  const auto seconds = [&](size_t candidate, int calls) {
    const auto call = [&](void* on) { Execute(candidates_[candidate], on); };
    return clock.batch(call, calls, {}).seconds / calls;
  };
  const auto plans = TimePlans(candidates_.size(), seconds, cuda::RequireWorkingGpu);
  const auto fastest =
      FastestRight(plans, [&](size_t candidate) { return Compared(candidates_[candidate]).ok; });
  choice_.broke = candidates_.size() - plans.size();
  choice_.timed = plans.size();
  choice_.wrong = fastest.wrong;
  heuristic_over_best_ = fastest.plan.heuristic_over_best;
  KeepOnly(fastest.plan.config);
}

// Runs a candidate on a result that is filled with NaN, and checks what it wrote.
workload::Verification Call::Compared(const Candidate& candidate) {
  constexpr int kNotANumber = 0xff;
  const int64_t id = ResultId(request_.conv.direction);
  auto& result = tensors_.at(id);
  result.Fill(kNotANumber);
  Run(candidate);
  return products::CheckOutput(
      CheckedCase(request_.conv, candidate.proposal.config), inputs_,
      products::ProductOutput<float>{Download(TensorOf(graph_, id), result)}, seed_);
}

Call::Call(const CudnnConv2dCase& request, unsigned seed) : request_(request), seed_(seed) {
  RequireConvSupport(request.conv);
  library_rules::RequireTf32(request.conv.type, std::getenv(library_rules::kTf32Override));
  graph_ = GraphOf(request);
  RequireMemory(graph_, ToText(request.conv.problem));
  Ask();
  if (!NextCandidate()) ThrowNoPlan(request.conv, failures_, modes_);
  FillTensors();
  if (request.choice == EngineChoice::kBest)
    TakeFastest();
  else
    TakeFirstThatRuns();
  proposals_.clear();
  choice_.config = Chosen().proposal.config;
  choice_.workspace_bytes = Chosen().plan.workspace_bytes;
  choice_.tensor_bytes = TensorBytes(graph_);
}

workload::Verification Call::Verify() {
  auto found = Compared(Chosen());
  inputs_ = {};  // frees up to gigabytes that the timed calls do not need
  return found;
}

std::vector<workload::MemoryRegion> Call::Memory() const {
  std::vector<workload::MemoryRegion> regions;
  for (const auto& [id, buffer] : tensors_)
    regions.push_back({buffer.get(), buffer.bytes(), id == kWeightsId || id == kBiasId});
  return regions;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto request = ReadCudnnConv2dCase(name);
  const auto call = std::make_shared<Call>(request, settings.seed);
  workload::PreparedCall prepared;
  prepared.run = [call] { call->Run(); };
  prepared.gpu.emplace().enqueue = [call](void* stream) { call->Enqueue(stream); };
  prepared.verify = [call] { return call->Verify(); };
  prepared.algorithm = Describe(call->choice(), request.conv.type);
  prepared.modelled = ConvWork(request.conv, call->choice());
  prepared.threads = 1;
  prepared.memory = call->Memory();
  prepared.heuristic_over_best = call->heuristic_over_best();
  return prepared;
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "Conv2D", .device = "gpu", .library = "cudnn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::conv2d
