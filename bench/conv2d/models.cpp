#include "bench/conv2d/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "bench/library_rules/onednn_blocking.h"
#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "counters/cpu/core_caches.h"
#include "counters/delta/gpu_spec.h"
#include "counters/delta/prediction.h"

namespace dlroof::conv2d {
namespace {

enum Dimension { kN, kG, kK, kP, kQ, kC, kR, kS, kDimensions };

// Returns the shape of the forward convolution: the source is read at shifted positions, the result
// is dense. A weight gradient has the same shape.
library_rules::BlockedConv ForwardShape(const Conv2dCase& conv) {
  const auto& p = conv.problem;
  const auto bytes = [](std::string_view type) {
    return static_cast<int>(workload::ElementBytes(type));
  };
  library_rules::BlockedConv shape = {p.n,
                                      p.groups,
                                      p.k / p.groups,
                                      p.c / p.groups,
                                      p.h,
                                      p.w,
                                      delta::OutputRows(p),
                                      delta::OutputColumns(p),
                                      p.r,
                                      p.s,
                                      p.stride_h,
                                      p.stride_w,
                                      p.dilation_h,
                                      p.dilation_w,
                                      p.pad_top,
                                      p.pad_left};
  shape.read_bytes = bytes(conv.types.source);
  shape.weight_bytes = bytes(conv.types.weights);
  shape.written_bytes = bytes(conv.types.destination);
  return shape;
}

// With stride 1, a data gradient convolves the output's gradient with rotated filters.
library_rules::BlockedConv BackwardShape(const Conv2dCase& conv) {
  library_rules::BlockedConv shape = ForwardShape(conv);
  std::swap(shape.k, shape.c);
  std::swap(shape.h, shape.p);
  std::swap(shape.w, shape.q);
  std::swap(shape.read_bytes, shape.written_bytes);
  shape.pad_top = (shape.r - 1) * shape.dilation_h - shape.pad_top;
  shape.pad_left = (shape.s - 1) * shape.dilation_w - shape.pad_left;
  return shape;
}

// Returns the average share of the r taps that are inside the image, over all output rows.
double TapsInside(const library_rules::BlockedConv& shape) {
  const FilterAxis rows = {shape.h,        shape.p,          shape.r,
                           shape.stride_h, shape.dilation_h, shape.pad_top};
  return static_cast<double>(PairsInside(rows)) /
         (static_cast<double>(rows.outputs) * static_cast<double>(rows.taps));
}

caches::NestAxis Along(int dimension, int64_t size) {
  return {{{dimension, 1}}, static_cast<double>(size)};
}

caches::NestAxis Shifted(int positions, int taps, int64_t stride, int64_t dilation, int64_t size) {
  return {{{positions, static_cast<double>(stride)}, {taps, static_cast<double>(dilation)}},
          static_cast<double>(size)};
}

caches::ReuseNest NestOf(const library_rules::BlockedConv& shape) {
  caches::ReuseNest nest;
  for (const int64_t size :
       {shape.n, shape.groups, shape.k, shape.p, shape.q, shape.c, shape.r, shape.s})
    nest.sizes.push_back(static_cast<double>(size));
  const double inside = TapsInside(shape);
  const double read = shape.read_bytes, weight = shape.weight_bytes, written = shape.written_bytes;
  nest.tensors = {{"source",
                   read,
                   {Along(kN, shape.n), Along(kG, shape.groups), Along(kC, shape.c),
                    Shifted(kP, kR, shape.stride_h, shape.dilation_h, shape.h),
                    Shifted(kQ, kS, shape.stride_w, shape.dilation_w, shape.w)},
                   kP,
                   inside},
                  {"weights",
                   weight,
                   {Along(kG, shape.groups), Along(kK, shape.k), Along(kC, shape.c),
                    Along(kR, shape.r), Along(kS, shape.s)},
                   kP,
                   inside},
                  {"destination",
                   written,
                   {Along(kN, shape.n), Along(kG, shape.groups), Along(kK, shape.k),
                    Along(kP, shape.p), Along(kQ, shape.q)}}};
  return nest;
}

struct Blocking {
  library_rules::VectorUnit unit;
  int64_t columns = 1;    // vectors of filters in registers
  int64_t positions = 1;  // result positions in registers
};

double Products(const library_rules::BlockedConv& shape) {
  return static_cast<double>(shape.n * shape.groups * shape.k * shape.c) *
         static_cast<double>(shape.p * shape.q * shape.r * shape.s) * TapsInside(shape);
}

double CoreBytes(const library_rules::BlockedConv& shape, const Blocking& blocking) {
  const double products = Products(shape);
  const double written = static_cast<double>(shape.n * shape.groups * shape.k) *
                         static_cast<double>(shape.p * shape.q) * shape.written_bytes;
  const auto filters = std::min<int64_t>(shape.k, blocking.columns * blocking.unit.lanes);
  return products * (shape.read_bytes / static_cast<double>(filters) +
                     shape.weight_bytes / static_cast<double>(blocking.positions)) +
         written;
}

// Returns the multiply-adds of one vector instruction.
double ProductsPerVector(const library_rules::BlockedConv& shape,
                         const library_rules::VectorUnit& unit) {
  return static_cast<double>(unit.lanes) * 4 / shape.read_bytes;
}

// Sets the bytes that the core loads: each vector of weights is used for all positions in
// registers, each element of the source for all vectors of filters.
void SetLoads(const library_rules::BlockedConv& shape, const Blocking& blocking,
              caches::LevelModel& model) {
  const auto lanes = blocking.unit.lanes;
  const auto columns = std::min<int64_t>(blocking.columns, (shape.k + lanes - 1) / lanes);
  model.core_loads =
      Products(shape) / ProductsPerVector(shape, blocking.unit) *
      (1 / static_cast<double>(columns) + 1 / static_cast<double>(blocking.positions));
  model.vector_bytes = 4 * static_cast<double>(lanes);
}

// Returns the number of elements in one cache line.
double Line(double element_bytes) { return 64 / element_bytes; }

caches::LevelModel BrgemmModel(library_rules::BlockedConv shape,
                               const library_rules::VectorUnit& unit, const CoreBlocking& core) {
  const library_rules::ConvBlocking chosen =
      library_rules::BlockingOf(shape, unit, core.caches, core.threads);
  if (chosen.whole_images && shape.stride_w == 1) {
    shape.q *= shape.p, shape.w *= shape.h;
    shape.p = shape.h = 1;
  }
  const auto real = [](int64_t size) { return static_cast<double>(size); };
  caches::LevelModel model;
  caches::ReuseNest nest = NestOf(shape);
  const caches::NestLoop group{kG, 1}, block{kK, real(chosen.filters)}, image_row{kP, 1};
  const caches::NestLoop positions{kQ, real(chosen.positions)};
  nest.loops = chosen.filters_outside
                   ? std::vector<caches::NestLoop>{{kN, 1}, group, block, image_row, positions}
                   : std::vector<caches::NestLoop>{{kN, 1}, image_row, positions, group, block};
  for (const caches::NestLoop& inner :
       {caches::NestLoop{kC, real(chosen.channels), true}, caches::NestLoop{kR, real(chosen.taps)},
        caches::NestLoop{kQ, real(chosen.rows)}, caches::NestLoop{kR, 1}, caches::NestLoop{kS, 1},
        caches::NestLoop{kC, Line(shape.read_bytes)}})
    nest.loops.push_back(inner);
  model.core_bytes = CoreBytes(shape, {unit, chosen.columns, chosen.rows});
  SetLoads(shape, {unit, chosen.columns, chosen.rows}, model);
  model.nests = {std::move(nest)};
  model.how = fmt::format("blocks of {} filters {}, {} channels, {} of {} positions in registers",
                          chosen.filters, chosen.filters_outside ? "outermost" : "innermost",
                          chosen.channels, chosen.rows, chosen.positions);
  return model;
}

caches::LevelModel JitModel(const library_rules::BlockedConv& shape,
                            const library_rules::VectorUnit& unit) {
  Blocking blocking{unit, std::min<int64_t>(4, (shape.k + unit.lanes - 1) / unit.lanes)};
  blocking.positions = std::min(shape.q, library_rules::MostRows(unit, blocking.columns) + 1);
  const auto filters = static_cast<double>(blocking.columns * unit.lanes);
  caches::LevelModel model;
  caches::ReuseNest nest = NestOf(shape);
  nest.loops = {{kN, 1},
                {kG, 1},
                {kK, filters},
                {kP, 1},
                {kC, static_cast<double>(unit.lanes)},
                {kQ, static_cast<double>(blocking.positions)},
                {kR, 1},
                {kS, 1}};
  model.core_bytes = CoreBytes(shape, blocking);
  SetLoads(shape, blocking, model);
  model.nests = {std::move(nest)};
  model.how = fmt::format("blocks of {} filters outermost, {} input channels at a time", filters,
                          unit.lanes);
  return model;
}

// With one filter per channel, kernels sum over no channels and read rows of the image again.
caches::LevelModel DepthwiseModel(const library_rules::BlockedConv& shape,
                                  const library_rules::VectorUnit& unit) {
  caches::LevelModel model;
  caches::ReuseNest nest = NestOf(shape);
  const auto channels = static_cast<double>(std::min<int64_t>(shape.groups, 4 * unit.lanes));
  nest.loops = {{kN, 1}, {kP, 1}, {kG, channels}, {kR, 1}};
  // Each multiply-add reads its source element; weights stay in registers along a row.
  model.core_bytes =
      static_cast<double>(shape.n * shape.groups * shape.p * shape.q) *
      (static_cast<double>(shape.r * shape.s) * shape.read_bytes + shape.written_bytes);
  model.nests = {std::move(nest)};
  model.how = fmt::format("depthwise, {} channels at a time", channels);
  return model;
}

// Returns the model of a weight gradient: for each pair of channel blocks and each row of the
// output's gradient, a kernel reads the block of weights, adds to it and stores it once per tap.
caches::LevelModel WeightGradientModel(const library_rules::BlockedConv& shape,
                                       const library_rules::VectorUnit& unit) {
  const auto lanes = static_cast<double>(unit.lanes);
  caches::LevelModel model;
  caches::ReuseNest nest = NestOf(shape);
  nest.loops = {{kN, 1}, {kG, 1}, {kK, lanes}, {kC, lanes}, {kP, 1}, {kR, 1}, {kS, 1}};
  const double rows = static_cast<double>(shape.n * shape.groups * shape.p) * TapsInside(shape);
  const double block_visits = rows * static_cast<double>(shape.k * shape.c * shape.r * shape.s);
  // Each multiply-add reads one source element per vector of filters. A vector of the gradient is
  // used for as many input channels as the kernel sums in registers.
  const double sums = shape.s <= 3 ? 8 : shape.s <= 7 ? 4 : 2;
  const double per_product = shape.read_bytes / lanes + shape.written_bytes / sums;
  model.core_bytes =
      block_visits * (2 * shape.weight_bytes + static_cast<double>(shape.q) * per_product);
  model.core_loads =
      Products(shape) / ProductsPerVector(shape, unit) * (1 + 1 / sums) + 2 * block_visits / lanes;
  model.vector_bytes = 4 * lanes;
  model.nests = {std::move(nest)};
  model.how = fmt::format("blocks of {} filters and {} channels, one row of the gradient at a time",
                          lanes, lanes);
  return model;
}

double Padding(int64_t size, int64_t lanes) {
  const int64_t whole = (size + lanes - 1) / lanes * lanes;
  return static_cast<double>(whole) / static_cast<double>(size);
}

}  // namespace

CoreBlocking BlockingHere(int threads) {
  static const auto caches = cpu::CoreCaches();
  CoreBlocking core{{}, threads};
  if (const auto l1 = caches.find(Level::kL1); l1 != caches.end())
    core.caches.l1_bytes = l1->second;
  if (const auto l2 = caches.find(Level::kL2); l2 != caches.end())
    core.caches.l2_bytes = l2->second;
  return core;
}

caches::LevelModel Conv2dLevels(const Conv2dCase& conv, std::string_view implementation,
                                std::string_view isa, const CoreBlocking& core) {
  if (auto reason = library_rules::TilesReason(implementation))
    return {.reason = std::move(reason)};
  const bool forward = conv.direction == ProductDirection::kForward;
  const bool dense = conv.problem.stride_h == 1 && conv.problem.stride_w == 1;
  const bool brgemm = implementation.starts_with("brgconv");
  const bool one_by_one = implementation.starts_with("jit_1x1");
  const bool jit = implementation.starts_with("jit") || implementation.starts_with("brdgmm");
  const library_rules::BlockedConv shape =
      conv.direction == ProductDirection::kBackwardData ? BackwardShape(conv) : ForwardShape(conv);
  const library_rules::VectorUnit unit = library_rules::VectorUnitOf(implementation, isa);
  const bool depthwise = shape.groups > 1 && shape.c == 1 && shape.k == 1;
  if (conv.direction == ProductDirection::kBackwardWeights && jit && !one_by_one && !depthwise)
    return WeightGradientModel(shape, unit);
  const bool backward = conv.direction == ProductDirection::kBackwardData && dense &&
                        (brgemm || (one_by_one && !depthwise));
  if (!forward && !backward)
    return {.reason = Reason{fmt::format("the loops of {} by {} are not modelled",
                                         Key(conv.direction), implementation)}};
  if (depthwise && (jit || brgemm)) return DepthwiseModel(shape, unit);
  if (brgemm) return BrgemmModel(shape, unit, core);
  if (jit) return JitModel(shape, unit);
  return {.reason = Reason{fmt::format("the loops of {} are not modelled", implementation)}};
}

std::optional<double> ExecutedOverUseful(const Conv2dCase& conv, std::string_view implementation,
                                         std::string_view isa) {
  const bool jit = implementation.starts_with("jit");
  if (!jit && !implementation.starts_with("br")) return std::nullopt;
  if (library_rules::TilesReason(implementation)) return std::nullopt;
  const auto& problem = conv.problem;
  const int64_t lanes = library_rules::VectorUnitOf(implementation, isa).lanes;
  const int64_t filters = problem.k / problem.groups, channels = problem.c / problem.groups;
  if (problem.groups > 1 && filters == 1 && channels == 1) return Padding(problem.groups, lanes);
  const bool of_data = conv.direction == ProductDirection::kBackwardData;
  const int64_t made = of_data ? channels : filters, summed = of_data ? filters : channels;
  const bool pads_sum = jit && summed >= lanes;
  return Padding(made, lanes) * (pads_sum ? Padding(summed, lanes) : 1);
}

namespace {

bool Has(const std::vector<std::string>& options, std::string_view option) {
  return std::ranges::count(options, option) > 0;
}

// Returns " nvidia titan xp " for "NVIDIA TITAN Xp", so that a search finds whole words.
std::string Words(const std::string& name) {
  std::string words(1, ' ');
  for (const char c : name)
    words += std::isalnum(static_cast<unsigned char>(c)) != 0
                 ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                 : ' ';
  return words + ' ';
}

}  // namespace

delta::TensorLayout GpuLayout(const std::string& library, const std::vector<std::string>& options) {
  const bool channels_last = library == "cudnn" ? !Has(options, "nchw") : Has(options, "nhwc");
  return channels_last ? delta::TensorLayout::kNhwc : delta::TensorLayout::kNchw;
}

std::optional<std::string> BuiltInGpuOf(const std::string& name) {
  const auto words = Words(name);
  for (const auto& gpu : delta::BuiltInGpus())
    if (words.find(Words(std::string(gpu.name))) != std::string::npos) return std::string(gpu.name);
  return std::nullopt;
}

std::function<Work(std::string& how)> DeltaModel(const workload::BenchmarkName& name,
                                                 const std::string& algorithm,
                                                 const std::string& gpu) {
  const auto known = BuiltInGpuOf(gpu);
  const auto direction = ProductDirectionFromKey(name.direction);
  if (!known || !direction || workload::HasOption(name, "padded")) return {};
  delta::ConvQuestion question{.type = name.type, .kernel = algorithm, .known_kernel_only = true};
  return [question, known = *known, problem = name.problem, way = *direction,
          layout = GpuLayout(name.library, name.options)](std::string& how) {
    delta::ConvQuestion layer_question = question;
    Work work;
    try {
      layer_question.layer = {ParseConv2d(problem), way, layout, 4};
      const auto spec = delta::FindGpu(known);
      const auto prediction = delta::PredictConv(layer_question, spec);
      work.bytes = delta::KnownBytes(prediction);
      work.bytes.erase(Level::kL1);  // L1 as counted has shared memory's bytes, which it lacks
      how = delta::HowModelled(prediction, spec);
    } catch (const BadInput& error) {
      how = fmt::format("the DeLTA-style model does not cover it: {}", error.what());
    }
    return work;
  };
}

}  // namespace dlroof::conv2d
