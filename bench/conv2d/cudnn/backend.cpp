// Conv2D/gpu/cudnn: convolutions on cuDNN's graph API.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include "bench/conv2d/cudnn/plans.h"
#include "bench/conv2d/loops.h"
#include "bench/workload/gpu_call.h"
#include "bench/workload/library_rules.h"
#include "counters/base/numbers.h"
#include "counters/cuda/device.h"

namespace dlroof::conv2d {
namespace {

void Upload(const std::vector<float>& plain, const TensorSpec& spec, cuda::DeviceBuffer& buffer) {
  workload::Upload(workload::ToStrides(plain, spec.dimensions, spec.strides), spec.type, buffer);
}

std::vector<float> Download(const TensorSpec& spec, const cuda::DeviceBuffer& buffer) {
  return workload::FromStrides(workload::Download(spec.type, buffer), spec.dimensions,
                               spec.strides);
}

int64_t ResultId(ProductDirection direction) {
  if (direction == ProductDirection::kForward) return kDestinationId;
  return direction == ProductDirection::kBackwardData ? kSourceId : kWeightsId;
}

// Throws Unsupported if GPU or host memory does not suffice. Call it before allocating. The host
// needs three copies of a tensor: f32 in row-major order, f32 in the GPU's order, and encoded.
void RequireMemory(const GraphSpec& graph, const std::string& what) {
  double host = 0;
  for (const auto& tensor : graph.tensors)
    if (!tensor.is_virtual)
      host += Bytes(tensor) * (1 + 8 / static_cast<double>(workload::ElementBytes(tensor.type)));
  workload::RequireHostMemory(host, what);
  cuda::RequireDeviceMemory(TensorBytes(graph), what);
}

// An executable plan with its proposal.
struct Candidate {
  Proposal proposal;
  Plan plan;
};

class Call {
 public:
  // Gets cuDNN's proposals, fills GPU memory, and chooses an engine as `request.choice` says.
  // Throws Unsupported with cuDNN's message if cuDNN does not support the call.
  Call(const CudnnConv2dCase& request, unsigned seed) : request_(request), seed_(seed) {
    RequireConvSupport(request.conv);
    workload::RequireTf32(request.conv.type, std::getenv(workload::kTf32Override));
    graph_ = GraphOf(request);
    auto stored = graph_;
    if (request.padded) stored.tensors.push_back(PlainSource(request));
    RequireMemory(stored, ToText(request.conv.problem));
    Ask();
    if (!NextCandidate()) ThrowNoPlan(request.conv, failures_, modes_);
    FillTensors();
    if (request.choice == EngineChoice::kBest)
      TakeFastest();
    else
      TakeFirstThatRuns();
  }

  void Enqueue(void* on) const { Execute(Chosen(), on); }
  // Returns a function that starts the call on copies of its tensors (GpuCapabilities::on_copies).
  // Not for `padded` calls.
  std::function<void(void*)> Moved(const std::map<const void*, void*>& copies) const {
    const auto pack = std::make_shared<cudnn::Descriptor>(PackOf(copies));
    return [this, pack](void* on) { Execute(Chosen().plan, *pack, on); };
  }

  void Run() const { Run(Chosen()); }
  workload::Verification Verify() {
    auto found = Compared(Chosen());
    // Frees gigabytes that timed calls do not read. After a wrong result the next check reads them.
    if (found.ok) inputs_ = {};
    return found;
  }

  void NewInputs(unsigned seed) {
    seed_ = seed;
    FillTensors();
  }

  // Chooses the next proposal that runs. Returns false if none is left or the choice is fixed.
  bool TakeNext() {
    if (request_.choice != EngineChoice::kHeuristic) return false;
    ++choice_.wrong;
    candidates_.clear();
    workspace_.reset();
    if (!NextCandidate()) return false;
    try {
      TakeFirstThatRuns();
    } catch (const std::exception&) {
      cuda::RequireWorkingGpu();
      return false;
    }
    return true;
  }

  const std::vector<record::WrongEngine>& wrong_engines() const { return wrong_engines_; }
  std::string Algorithm() const { return DescribeCall(request_, choice_); }
  Work Modelled() const { return CallWork(request_, choice_); }
  // [1] FastestPlan::heuristic_over_best. Absent unless EngineChoice::kBest timed the first plan.
  std::optional<double> heuristic_over_best() const { return heuristic_over_best_; }
  std::vector<workload::MemoryRegion> Memory() const {
    std::vector<workload::MemoryRegion> regions;
    for (const auto& [id, buffer] : tensors_)
      regions.push_back({buffer.get(), buffer.bytes(), id == kWeightsId || id == kBiasId});
    if (plain_source_) regions.push_back({plain_source_->get(), plain_source_->bytes(), false});
    return regions;
  }

 private:
  const Candidate& Chosen() const { return candidates_.front(); }

  void Execute(const Candidate& candidate, void* on) const { Execute(candidate.plan, *pack_, on); }
  void Execute(const Plan& plan, const cudnn::Descriptor& pack, void* on) const {
    const bool cuts = request_.conv.direction == ProductDirection::kBackwardData;
    if (plain_source_ && !cuts) CopyPadding(on, true);
    cudnn::UseStream(on);
    cudnn::CheckExecuted(cudnnBackendExecute(cudnn::Handle(), plan.descriptor.get(), pack.get()),
                         "a convolution");
    if (plain_source_ && cuts) CopyPadding(on, false);
  }

  // If `adds`, zeroes the padded tensor and copies the source into it; otherwise copies the
  // source's gradient out of it. A CUDA graph can capture CUDA's 3-D copy, which needs no kernel of
  // dlroof's.
  void CopyPadding(void* on, bool adds) const {
    const auto box = PaddingCopyOf(request_);
    const auto stream = static_cast<cudaStream_t>(on);
    const auto& padded = tensors_.at(kSourceId);
    const auto size = [](int64_t value) { return static_cast<size_t>(value); };
    if (adds)
      cuda::CheckCuda(cudaMemsetAsync(padded.get(), 0, padded.bytes(), stream), "zeros as padding");
    const cudaPitchedPtr plain_at{plain_source_->get(), size(box.plain_pitch), size(box.row_bytes),
                                  size(box.rows)};
    const cudaPitchedPtr padded_at{padded.get(), size(box.padded_pitch), size(box.padded_pitch),
                                   size(box.padded_rows)};
    const cudaPos inside{size(box.first_byte), size(box.first_row), 0};
    cudaMemcpy3DParms copy{};
    copy.srcPtr = adds ? plain_at : padded_at;
    copy.dstPtr = adds ? padded_at : plain_at;
    (adds ? copy.dstPos : copy.srcPos) = inside;
    copy.extent = {size(box.row_bytes), size(box.rows), size(box.planes)};
    copy.kind = cudaMemcpyDeviceToDevice;
    cuda::CheckCuda(cudaMemcpy3DAsync(&copy, stream), "the copy of a padded source");
  }

  void Run(const Candidate& candidate) const {
    Execute(candidate, stream_.get());
    stream_.Wait();
  }

  void FillTensors() {
    inputs_ = workload::SeededInputs(request_.conv, seed_);
    const std::map<int64_t, const std::vector<float>*> values = {
        {kSourceId, &inputs_.source},
        {kWeightsId, &inputs_.weights},
        {kDestinationId, &inputs_.destination},
        {kBiasId, &inputs_.bias}};
    if (request_.padded) {
      const auto plain = PlainSource(request_);
      if (!plain_source_) plain_source_.emplace(static_cast<size_t>(Bytes(plain)));
      if (ResultId(request_.conv.direction) != kSourceId)
        Upload(inputs_.source, plain, *plain_source_);
    }
    for (const auto& tensor : graph_.tensors) {
      if (tensor.is_virtual) continue;
      const auto bytes = static_cast<size_t>(Bytes(tensor));
      auto& buffer = tensors_.try_emplace(tensor.id, bytes).first->second;
      const bool copied = plain_source_ && tensor.id == kSourceId;
      if (!copied && tensor.id != ResultId(request_.conv.direction))
        Upload(*values.at(tensor.id), tensor, buffer);
    }
  }

  void Ask() {
    target_.emplace(Target::Here());
    described_.emplace(graph_, *target_);
    choice_.tensor_bytes = TensorBytes(graph_);
    workspace_limit_ =
        WorkspaceLimit(cuda::FreeDeviceBytes() - static_cast<int64_t>(choice_.tensor_bytes));
    const bool all = request_.choice == EngineChoice::kBest;
    proposals_ = Propose(*described_, *target_, all, &modes_);
    choice_.proposed = proposals_.size();
    for (const auto& proposal : proposals_)
      if (ForbiddenReason(request_.conv, proposal.config)) ++choice_.refused;
  }

  // Returns the proposal's plan, or sets `failure` and returns nullopt if it must not or cannot
  // run.
  std::optional<Candidate> Try(Proposal& proposal, workload::Failure& failure) const {
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
    return Candidate{std::move(proposal), std::move(*plan)};
  }

  // Appends the next usable proposal to the candidates. Returns false if no proposal is left.
  bool NextCandidate() {
    while (next_ < proposals_.size())
      if (auto candidate = Try(proposals_[next_++], failures_.emplace_back())) {
        failures_.pop_back();
        candidates_.push_back(std::move(*candidate));
        return true;
      }
    return false;
  }

  void Pack() {
    int64_t most = 0;
    for (const auto& candidate : candidates_) most = std::max(most, candidate.plan.workspace_bytes);
    if (most > 0) workspace_.emplace(static_cast<size_t>(most));
    pack_.emplace(PackOf());
  }

  // Returns a variant pack for all plans: the pointers to tensors (or copies) and to workspace.
  cudnn::Descriptor PackOf(const std::map<const void*, void*>& copies = {}) const {
    cudnn::Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    const void* const space = workspace_ ? workspace_->get() : nullptr;
    std::vector<int64_t> ids;
    std::vector<const void*> pointers;
    for (const auto& [id, buffer] : tensors_) {
      ids.push_back(id);
      const auto copy = copies.find(buffer.get());
      pointers.push_back(copy == copies.end() ? buffer.get() : copy->second);
    }
    pack.SetInts(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             static_cast<int64_t>(pointers.size()), pointers.data());
    pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &space);
    pack.Finalize("the pointers of a convolution");
    return pack;
  }

  // Removes all other candidates. Shrinks the shared workspace, which may take gigabytes, to fit.
  void KeepOnly(size_t candidate) {
    Candidate chosen = std::move(candidates_[candidate]);
    candidates_.clear();
    candidates_.push_back(std::move(chosen));
    workspace_.reset();
    Pack();
  }

  void TakeFirstThatRuns() {
    const auto run = [&] {
      Pack();
      Run(Chosen());
    };
    const auto another = [&] {
      candidates_.clear();
      workspace_.reset();
      return NextCandidate();
    };
    choice_.broke += RunFirstThatWorks(run, another, cuda::RequireWorkingGpu);
    Chose();
  }

  void TakeFastest() {
    while (NextCandidate()) {
    }
    Pack();
    const auto seconds = DeviceSeconds();
    const auto plans = TimePlans(candidates_.size(), seconds, cuda::RequireWorkingGpu);
    std::map<size_t, workload::Verification> found;
    const auto is_right = [&](size_t candidate) {
      if (found.count(candidate) == 0) found[candidate] = Compared(candidates_[candidate]);
      return found[candidate].ok;
    };
    auto fastest = FastestRight(plans, is_right);
    fastest.plan =
        Confirmed(fastest.plan, seconds, cuda::RequireWorkingGpu, [&] { return is_right(0); });
    choice_.broke = candidates_.size() - plans.size();
    choice_.timed = plans.size();
    choice_.wrong = fastest.wrong.size();
    for (const size_t wrong : fastest.wrong) {
      const auto& [proposal, plan] = candidates_[wrong];
      wrong_engines_.push_back({DescribeEngine(proposal.config, plan.workspace_bytes),
                                workload::DifferenceText(found[wrong])});
    }
    heuristic_over_best_ = fastest.plan.heuristic_over_best;
    KeepOnly(fastest.plan.config);
    Chose();
  }

  void Chose() {
    choice_.config = Chosen().proposal.config;
    choice_.workspace_bytes = Chosen().plan.workspace_bytes;
  }

  // Returns a function that returns the mean time of `calls` queued calls by device events [s].
  std::function<double(size_t candidate, int calls)> DeviceSeconds() const {
    struct Timer {
      std::unique_ptr<gpu::GpuClock> clock = cuda::OpenCudaClock(cudnn::CurrentDevice());
      cudnn::StreamUse use;  // must be destroyed before the clock, which owns the stream
    };
    return [this, timer = std::make_shared<Timer>()](size_t candidate, int calls) {
      const auto call = [&](void* on) { Execute(candidates_[candidate], on); };
      return timer->clock->Batch(call, calls, {}).seconds / calls;
    };
  }

  workload::Verification Compared(const Candidate& candidate) {
    const int64_t id = ResultId(request_.conv.direction);
    const bool cut = plain_source_ && id == kSourceId;
    auto& result = cut ? *plain_source_ : tensors_.at(id);
    result.Fill(workload::kNotANumber);
    Run(candidate);
    return workload::CheckOutput(CheckedCase(request_.conv, candidate.proposal.config), inputs_,
                                 workload::ProductOutput<float>{Download(
                                     cut ? PlainSource(request_) : TensorOf(graph_, id), result)},
                                 seed_);
  }

  CudnnConv2dCase request_;
  unsigned seed_;
  GraphSpec graph_;
  workload::ProductInputs inputs_;
  std::map<int64_t, cuda::DeviceBuffer> tensors_;  // by id
  // The source, or its gradient, without padding; only for `padded` calls (tensors_: with padding).
  std::optional<cuda::DeviceBuffer> plain_source_;
  std::optional<cuda::DeviceBuffer> workspace_;
  // Owned here, because cuDNN does not promise that a plan keeps its graph and target alive.
  std::optional<Graph> described_;
  std::optional<Target> target_;
  std::vector<Proposal> proposals_;
  size_t next_ = 0;                          // index of the proposal to try next
  std::vector<workload::Failure> failures_;  // of unusable proposals
  std::vector<workload::Failure> modes_;     // of broken heuristics
  int64_t workspace_limit_ = 0;              // [byte]
  std::vector<Candidate> candidates_;
  std::optional<cudnn::Descriptor> pack_;  // of all candidates
  PlanChoice choice_;
  std::optional<double> heuristic_over_best_;
  std::vector<record::WrongEngine> wrong_engines_;  // kBest: faster plans that are wrong
  cuda::CudaStream stream_;
  cudnn::StreamUse use_;  // must be destroyed before stream_
};

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto request = ReadCudnnConv2dCase(name);
  const auto call = std::make_shared<Call>(request, settings.seed);
  auto prepared = workload::PreparedOnGpu(call, {});
  prepared.modelled = call->Modelled();
  if (request.padded) prepared.gpu->on_copies = nullptr;
  prepared.heuristic_over_best = call->heuristic_over_best();
  prepared.wrong_engines = call->wrong_engines();
  if (request.choice != EngineChoice::kHeuristic) return prepared;
  prepared.next_algorithm = [call](workload::PreparedCall& changed) {
    if (!call->TakeNext()) return false;
    changed.algorithm = call->Algorithm();
    changed.modelled = call->Modelled();
    return true;
  };
  return prepared;
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "Conv2D", .device = "gpu", .library = "cudnn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::conv2d
