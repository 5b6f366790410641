#include "bench/conv2d/cudnn_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include "bench/workload/memory.h"
#include "counters/base/numbers.h"

namespace dlroof::conv2d {
namespace {

// Names in the order of cudnnBackendNumericalNote_t and cudnnBackendKnobType_t (cuDNN 9.19).
constexpr std::string_view kNotes =
    "tensor_core down_convert_inputs reduced_precision_reduction fft nondeterministic winograd "
    "winograd_4x4 winograd_6x6 winograd_13x13 strict_nan_prop";
constexpr std::string_view kKnobs =
    "split_k swizzle tile_size use_tex edge kblock ldga ldgb chunk_k split_h wino_tile "
    "multiply split_k_buf tilek stages reduction_mode cta_split_k_mode split_k_slc idx_mode "
    "sliced split_rs singlebuffer ldgc specfilt kernel_cfg workspace tile_cga tile_cga_m "
    "tile_cga_n block_size occupancy array_size_per_thread num_c_per_block split_cols "
    "tile_rows tile_cols load_size cta_count stream_k split_p_slc tile_m tile_n warp_spec_cfg "
    "swap_ab";

constexpr int kTileSize = 2, kTileM = 40;

std::string NameIn(std::string_view names, int value, std::string_view unknown) {
  std::istringstream words{std::string(names)};
  std::string name;
  for (int at = 0; words >> name; ++at)
    if (at == value) return name;
  return fmt::format("{}{}", unknown, value);
}

// Returns the failure of a plan whose execution threw `error`; not broken if that is Unsupported.
workload::Failure NotExecuted(const std::exception& error) {
  return {fmt::format("cuDNN executes none of the plans that it makes: {}", error.what()),
          dynamic_cast<const Unsupported*>(&error) == nullptr};
}

bool IsWinograd(const EngineConfig& config) {
  return HasNote(config, Note::kWinograd) || HasNote(config, Note::kWinograd4x4) ||
         HasNote(config, Note::kWinograd6x6) || HasNote(config, Note::kWinograd13x13);
}

double Seconds(const TimedPlan& plan) { return Median(plan.seconds); }

}  // namespace

std::string NoteName(int note) { return NameIn(kNotes, note, "note"); }
std::string KnobName(int knob) { return NameIn(kKnobs, knob, "knob"); }

bool HasNote(const EngineConfig& config, Note note) {
  return std::ranges::count(config.notes, static_cast<int>(note)) > 0;
}

bool SameKernel(const EngineConfig& conv, const EngineConfig& other) {
  return conv.engine == other.engine && conv.knobs == other.knobs;
}

std::optional<Reason> ForbiddenReason(const Conv2dCase& conv, const EngineConfig& config) {
  if (HasNote(config, Note::kReducedPrecisionReduction)) return Reason{"sums in less than f32"};
  const bool tensor_core = HasNote(config, Note::kTensorCore);
  if (conv.type == "tf32" && !tensor_core) return Reason{"no tensor cores"};
  if (conv.type == "tf32" || conv.types.source != "f32" || conv.types.weights != "f32")
    return std::nullopt;
  if (tensor_core) return Reason{"tensor cores round f32 inputs to tf32"};
  if (HasNote(config, Note::kDownConvertInputs)) return Reason{"narrows its inputs"};
  return std::nullopt;
}

std::string ConvPipe(const Conv2dCase& conv, const EngineConfig& config) {
  const auto type = workload::ComputeType(conv.types);
  if (type == "int8") {
    const bool tiled = std::ranges::any_of(config.knobs, [](const auto& knob) {
      return knob.first == kTileSize || knob.first == kTileM;
    });
    return tiled || HasNote(config, Note::kTensorCore) ? "int8.matrix" : "int8.vector";
  }
  if (type == "fp8") return "fp8.matrix";  // only tensor cores support fp8
  if (!HasNote(config, Note::kTensorCore)) return "fp32.vector";
  if (type == "f16") return "fp16.matrix";
  return type == "f32" ? "tf32.matrix" : fmt::format("{}.matrix", type);
}

Conv2dCase CheckedCase(const Conv2dCase& conv, const EngineConfig& config) {
  Conv2dCase checked = conv;
  const auto type = workload::ComputeType(conv.types);
  if (IsWinograd(config) && (type == "f16" || type == "bf16")) checked.fpmath = std::string(type);
  return checked;
}

int64_t WorkspaceLimit(int64_t free_bytes) {
  constexpr int64_t kMax = int64_t{8} << 30U;
  return std::min(free_bytes / 2, kMax);
}

std::vector<TimedPlan> TimePlans(size_t plans,
                                 const std::function<double(size_t plan, int calls)>& seconds,
                                 const std::function<void()>& require_gpu) {
  constexpr int kRounds = 5;
  constexpr double kSeconds = 1e-3;  // minimum duration of one measurement
  constexpr double kMaxCalls = 100;
  std::vector<TimedPlan> timed;
  std::map<size_t, int> calls;
  for (size_t i = 0; i < plans; ++i) timed.push_back({i, {}});
  std::vector<workload::Failure> failures;
  const auto fails = [&](TimedPlan& plan, bool first) {
    try {
      if (first) {
        seconds(plan.config, 1);  // the first call may compile kernels
        const double once = std::max(seconds(plan.config, 1), 1e-9);
        calls[plan.config] = static_cast<int>(std::clamp(kSeconds / once, 1.0, kMaxCalls));
      } else {
        plan.seconds.push_back(seconds(plan.config, calls.at(plan.config)));
      }
      return false;
    } catch (const std::exception& error) {
      require_gpu();
      failures.push_back(NotExecuted(error));
      return true;
    }
  };
  for (int round = 0; round <= kRounds; ++round)
    std::erase_if(timed, [&](TimedPlan& plan) { return fails(plan, round == 0); });
  if (timed.empty()) workload::ThrowFirst(failures);
  return timed;
}

FastestPlan Confirmed(const FastestPlan& fastest,
                      const std::function<double(size_t plan, int calls)>& seconds,
                      const std::function<void()>& require_gpu,
                      const std::function<bool()>& heuristic_is_right) {
  if (fastest.config == 0 || !fastest.heuristic_over_best) return fastest;
  const auto again = [&](size_t plan, int calls) {
    return seconds(plan == 0 ? 0 : fastest.config, calls);
  };
  const auto timed = TimePlans(2, again, require_gpu);
  if (timed.size() < 2) return fastest;  // one of the two plans failed
  const auto found = Fastest(timed);
  if (found.config != 0) return {fastest.config, found.heuristic_over_best};
  return heuristic_is_right() ? found : fastest;
}

size_t RunFirstThatWorks(const std::function<void()>& run, const std::function<bool()>& another,
                         const std::function<void()>& require_gpu) {
  std::vector<workload::Failure> failures;
  do {
    try {
      run();
      return failures.size();
    } catch (const std::exception& error) {
      require_gpu();
      failures.push_back(NotExecuted(error));
    }
  } while (another());
  workload::ThrowFirst(failures);
}

FastestPlan Fastest(const std::vector<TimedPlan>& plans) {
  if (plans.empty()) throw std::logic_error("no plan was timed");
  const auto& first = plans.front();
  const auto* const best = &*std::ranges::min_element(
      plans, [](const auto& conv, const auto& other) { return Seconds(conv) < Seconds(other); });
  if (first.config != 0) return {best->config, std::nullopt};
  // A plan replaces the library's choice only if it is faster by more than measurements scatter.
  constexpr double kNoise = 1.02;
  const bool clear =
      *std::ranges::max_element(best->seconds) < *std::ranges::min_element(first.seconds);
  if (!clear && Seconds(first) < kNoise * Seconds(*best)) return {first.config, 1};
  return {best->config, Seconds(first) / Seconds(*best)};
}

FastestRightPlan FastestRight(std::vector<TimedPlan> plans,
                              const std::function<bool(size_t config)>& is_right) {
  FastestRightPlan of_all{Fastest(plans)};
  std::vector<size_t> wrong;
  while (!plans.empty()) {
    const auto fastest = Fastest(plans);
    if (is_right(fastest.config)) return {fastest, wrong};
    wrong.push_back(fastest.config);
    std::erase_if(plans, [&](const TimedPlan& plan) { return plan.config == fastest.config; });
  }
  return of_all;
}

void RequireConvSupport(const Conv2dCase& conv) {
  if (workload::IsInt8(conv.types) && conv.direction != ProductDirection::kForward)
    throw Unsupported(
        "int8 convolutions have no backward pass: cuDNN's integer engines only do fwd");
  if (conv.type != "fp8") return;
  if (conv.direction != ProductDirection::kForward)
    throw Unsupported(
        "dlroof has no backward pass of fp8 convolutions: their gradients would be e5m2");
  if (conv.bias || conv.eltwise)
    throw Unsupported("dlroof has neither bias nor relu for fp8 convolutions");
}

void ThrowNoPlan(const Conv2dCase& conv, const std::vector<workload::Failure>& proposals,
                 const std::vector<workload::Failure>& modes) {
  std::map<std::string, int> counts;
  for (const auto& failure : proposals) ++counts[failure.text];
  std::vector<std::pair<std::string, int>> ordered(counts.begin(), counts.end());
  std::ranges::stable_sort(ordered,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  parts.reserve(ordered.size() + modes.size());
  for (const auto& [reason, count] : ordered) parts.push_back(fmt::format("{} {}", count, reason));
  for (const auto& mode : modes) parts.push_back(mode.text);
  auto text = proposals.empty() ? std::string("cuDNN proposes no engine for this convolution")
                                : fmt::format("none of {} proposals of cuDNN can be used: {}",
                                              proposals.size(), fmt::join(parts, "; "));
  if (conv.type == "int8") text += " (its integer engines read s8, not u8: use the type s8s8s8)";
  workload::Throw(
      {text, !modes.empty() || std::ranges::any_of(proposals, &workload::Failure::broken)});
}

std::string DescribeEngine(const EngineConfig& config, int64_t workspace_bytes) {
  std::string text = fmt::format("engine {}", config.engine);
  std::vector<std::string> parts;
  for (const auto& [knob, value] : config.knobs)
    parts.push_back(fmt::format("{} {}", KnobName(knob), value));
  if (!parts.empty()) text += fmt::format(" ({})", fmt::join(parts, ", "));
  for (const int note : config.notes) text += fmt::format(", {}", NoteName(note));
  return text + fmt::format(", workspace {} B", workspace_bytes);
}

std::string DescribeCall(const CudnnConv2dCase& request, const PlanChoice& choice) {
  auto text =
      fmt::format("{}: {}", DescribeEngine(choice.config, choice.workspace_bytes),
                  choice.timed > 0 ? fmt::format("fastest of {} timed", choice.timed)
                                   : fmt::format("first of heuristic {}", choice.config.heuristic));
  if (choice.wrong > 0) text += fmt::format(", {} wrong", choice.wrong);
  if (choice.broke > 0) text += fmt::format(", {} broke", choice.broke);
  text += fmt::format(", {} proposed", choice.proposed);
  if (choice.refused > 0) text += fmt::format(", {} not {}", choice.refused, request.conv.type);
  if (request.padded) text += "; padding by a copy";
  return text;
}

namespace {

constexpr std::string_view kEngine = "engine";

bool HasPadding(const Conv2dProblem& p) {
  return p.pad_top != 0 || p.pad_bottom != 0 || p.pad_left != 0 || p.pad_right != 0;
}

// Removes a last option such as "engine62" from the name and stores its number in `request`.
void TakeEngine(workload::BenchmarkName& name, CudnnConv2dCase& request) {
  if (name.options.empty() || !name.options.back().starts_with(kEngine)) return;
  const int column = workload::ColumnOfPart(name, 5 + static_cast<int>(name.options.size()));
  workload::TextCursor cursor(name.options.back(), column - 1);
  cursor.Expect(kEngine);
  request.choice = EngineChoice::kNumbered;
  request.engine = cursor.Integer(0, "cuDNN's number of an engine");
  if (!cursor.AtEnd()) cursor.Refuse("the end");
  name.options.pop_back();
}

TensorSpec Dense(int64_t id, std::string_view type, const std::array<int64_t, 4>& dimensions,
                 Conv2dLayout layout) {
  return {id, std::string(type), dimensions, DenseStrides(dimensions, layout), false};
}

// Appends bias and relu after the convolution; the last operation writes the destination.
void AppendFused(const Conv2dCase& conv, GraphSpec& graph) {
  if (!conv.bias && !conv.eltwise) return;
  const TensorSpec result = TensorOf(graph, kDestinationId);
  const auto between = [&](int64_t id, std::string_view type) {
    TensorSpec tensor = result;
    tensor.id = id;
    tensor.type.assign(type);
    tensor.is_virtual = true;
    graph.tensors.push_back(tensor);
    return id;
  };
  int64_t made = between(kSumId, graph.compute_type);
  graph.destination = made;
  if (conv.bias) {
    graph.tensors.push_back(
        Dense(kBiasId, workload::BiasType(conv.types), {1, conv.problem.k, 1, 1}, conv.layout));
    const int64_t sum = conv.eltwise ? between(kBiasedId, "f32") : kDestinationId;
    graph.pointwise.push_back({made, kBiasId, sum});
    made = sum;
  }
  if (conv.eltwise) graph.pointwise.push_back({made, 0, kDestinationId});
}

}  // namespace

CudnnConv2dCase ReadCudnnConv2dCase(const workload::BenchmarkName& full) {
  CudnnConv2dCase request;
  workload::BenchmarkName name = full;
  TakeEngine(name, request);
  request.conv =
      ReadConv2dCase(name, {{"f32", "tf32", "f16", "bf16", "int8", "fp8"},
                            true,
                            {{"bias"}, {"relu"}, {"nchw"}, {"padded"}, {"best", "engineN"}}});
  auto& conv = request.conv;
  if (conv.layout == Conv2dLayout::kAny) conv.layout = Conv2dLayout::kNhwc;
  request.padded = workload::HasOption(name, "padded");
  if (!HasPadding(conv.problem))
    workload::RefuseOption(name, "padded", "needs a problem with padding: _p1, _p0:1x0:1");
  if (workload::HasOption(name, "best")) {
    if (request.choice == EngineChoice::kNumbered)
      workload::RefuseOption(name, "best",
                             "times every engine and engineN is a single one: use one of the two");
    request.choice = EngineChoice::kBest;
  }
  workload::RefuseOption(name, "engineN", "needs cuDNN's number of an engine: engine45");
  if (conv.direction != ProductDirection::kForward)
    workload::RefuseOption(name, "bias", "can only be fused into fwd");
  return request;
}

std::array<int64_t, 4> DenseStrides(const std::array<int64_t, 4>& d, Conv2dLayout layout) {
  if (layout == Conv2dLayout::kNchw) return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
  return {d[1] * d[2] * d[3], 1, d[1] * d[3], d[1]};
}

const TensorSpec& TensorOf(const GraphSpec& graph, int64_t id) {
  const auto found = std::ranges::find(graph.tensors, id, &TensorSpec::id);
  if (found == graph.tensors.end())
    throw std::logic_error(fmt::format("the graph has no tensor {}", id));
  return *found;
}

double Bytes(const TensorSpec& tensor) {
  auto bytes = static_cast<double>(workload::ElementBytes(tensor.type));
  for (const int64_t size : tensor.dimensions) bytes *= static_cast<double>(size);
  return bytes;
}

double TensorBytes(const GraphSpec& graph) {
  double bytes = 0;
  for (const auto& tensor : graph.tensors)
    if (!tensor.is_virtual) bytes += Bytes(tensor);
  return bytes;
}

TensorSpec PlainSource(const CudnnConv2dCase& request) {
  const auto& p = request.conv.problem;
  return Dense(kSourceId, request.conv.types.source, {p.n, p.c, p.h, p.w}, request.conv.layout);
}

PaddingCopy PaddingCopyOf(const CudnnConv2dCase& request) {
  const auto& p = request.conv.problem;
  const bool channels_last = request.conv.layout == Conv2dLayout::kNhwc;
  const int64_t pixel =
      workload::ElementBytes(request.conv.types.source) * (channels_last ? p.c : 1);
  return {.row_bytes = p.w * pixel,
          .rows = p.h,
          .planes = channels_last ? p.n : p.n * p.c,
          .plain_pitch = p.w * pixel,
          .padded_pitch = (p.w + p.pad_left + p.pad_right) * pixel,
          .padded_rows = p.h + p.pad_top + p.pad_bottom,
          .first_byte = p.pad_left * pixel,
          .first_row = p.pad_top};
}

Work CallWork(const CudnnConv2dCase& request, const PlanChoice& choice) {
  auto work = workload::ProductWork(request.conv, ConvPipe(request.conv, choice.config));
  if (static_cast<double>(choice.workspace_bytes) >= choice.tensor_bytes) work.launches.reset();
  const bool cuts = request.conv.direction == ProductDirection::kBackwardData;
  if (request.padded && work.launches) *work.launches += cuts ? 1 : 2;
  return work;
}

GraphSpec GraphOf(const CudnnConv2dCase& request) {
  const auto& conv = request.conv;
  auto p = conv.problem;
  if (request.padded) {
    p.h += p.pad_top + p.pad_bottom;
    p.w += p.pad_left + p.pad_right;
    p.pad_top = p.pad_bottom = p.pad_left = p.pad_right = 0;
  }
  GraphSpec graph{
      .tensors = {Dense(kSourceId, conv.types.source, {p.n, p.c, p.h, p.w}, conv.layout),
                  Dense(kWeightsId, conv.types.weights, {p.k, p.c / p.groups, p.r, p.s},
                        conv.layout),
                  Dense(kDestinationId, conv.types.destination,
                        {p.n, p.k, delta::OutputRows(p), delta::OutputColumns(p)}, conv.layout)},
      .problem = p,
      .direction = conv.direction,
      .compute_type = workload::IsInt8(conv.types) ? "s32" : "f32"};
  AppendFused(conv, graph);
  return graph;
}

namespace {
[[maybe_unused]] const bool cudnn_case_registered = workload::RegisterBackend(
    {"Conv2D", "gpu", "cudnn", workload::CheckedWorkload(ReadCudnnConv2dCase), "the CUDA module"});
}  // namespace
}  // namespace dlroof::conv2d
