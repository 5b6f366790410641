#include "bench/onednn/part_seconds.h"

#include <omp.h>

#include <algorithm>
#include <compare>
#include <dnnl.hpp>
#include <functional>
#include <limits>
#include <map>
#include <unordered_map>

#include "bench/onednn/support.h"
#include "counters/cpu/clocks.h"
#include "counters/instructions/instruction_count.h"

namespace dlroof::onednn {
namespace {

using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;

// On one thread; primitives made meanwhile use one.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { SetThreads(1); }
  ~OneThread() { SetThreads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// Some numbers of small size, neither zero nor denormal.
std::vector<float> Numbers(const Dims& dims) {
  std::int64_t count = 1;
  for (const auto size : dims) count *= size;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 64) / 16 - 2;
  return numbers;
}

// [s] of one execution; the fastest of ten tries of half a millisecond, since other programs only
// lengthen.
double FastestSeconds(const std::function<void()>& run) {
  constexpr int kTries = 10;
  constexpr double kTrySeconds = 5e-4;
  const auto calls_take = [&](int calls) {
    const double begin = cpu::WallSeconds();
    for (int call = 0; call < calls; ++call) run();
    return cpu::WallSeconds() - begin;
  };
  calls_take(1);
  const int calls = std::max(1, static_cast<int>(kTrySeconds / std::max(calls_take(3) / 3, 1e-8)));
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) fastest = std::min(fastest, calls_take(calls) / calls);
  return fastest;
}

// Other programs lengthen neither count.
PartCost CostOf(const std::function<void()>& run, double step_seconds) {
  PartCost cost{FastestSeconds(run), std::nullopt};
  if (const auto counted = instructions::CountInstructions(run, step_seconds).count)
    cost.instructions = counted->all;
  return cost;
}

PartCost CostOf(const dnnl::primitive& primitive,
                const std::unordered_map<int, dnnl::memory>& arguments, double step_seconds) {
  const auto listed = ListedArguments(arguments);
  return CostOf([&] { Execute(primitive, listed); }, step_seconds);
}

// `count` times `cost` more.
void Add(double count, const PartCost& cost, PartCost& sum) {
  sum.seconds += count * cost.seconds;
  if (sum.instructions && cost.instructions)
    *sum.instructions += count * *cost.instructions;
  else
    sum.instructions.reset();
}

PartCost CostOfElement(dnnl::algorithm function, double step_seconds) {
  const Dims shape = {16384};
  const auto desc = PlainDesc(shape, Type::f32);
  Tensors tensors;
  const dnnl::eltwise_forward primitive(dnnl::eltwise_forward::primitive_desc(
      CpuEngine(), dnnl::prop_kind::forward_inference, function, desc, desc, 0.0F, 0.0F));
  PartCost cost{0, 0};
  Add(1 / static_cast<double>(shape[0]),
      CostOf(primitive,
             {{DNNL_ARG_SRC, tensors.Filled(desc, Numbers(shape))},
              {DNNL_ARG_DST, tensors.Empty(desc)}},
             step_seconds),
      cost);
  return cost;
}

struct FunctionCosts {
  PartCost sigmoid, tanh;  // of an element
};

std::optional<FunctionCosts> MeasureFunctions(double step_seconds) {
  const OneThread one;
  try {
    return FunctionCosts{CostOfElement(dnnl::algorithm::eltwise_logistic, step_seconds),
                         CostOfElement(dnnl::algorithm::eltwise_tanh, step_seconds)};
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

PartCost CostOfProduct(std::int64_t m, std::int64_t n, std::int64_t k, Type type,
                       double step_seconds) {
  const auto any = [](const Dims& dims, Type of) {
    return dnnl::memory::desc(dims, of, dnnl::memory::format_tag::any);
  };
  const dnnl::matmul::primitive_desc chosen(CpuEngine(), PlainDesc({m, k}, type), any({k, n}, type),
                                            PlainDesc({m, n}, Type::f32));
  Tensors tensors;
  return CostOf(dnnl::matmul(chosen),
                {{DNNL_ARG_SRC, tensors.Filled(chosen.src_desc(), Numbers({m, k}))},
                 {DNNL_ARG_WEIGHTS, tensors.Filled(chosen.weights_desc(), Numbers({k, n}))},
                 {DNNL_ARG_DST, tensors.Empty(chosen.dst_desc())}},
                step_seconds);
}

PartCost CostOfGemm(std::int64_t m, std::int64_t n, std::int64_t k, double step_seconds) {
  const auto a = Numbers({m, k}), b = Numbers({k, n});
  auto c = Numbers({m, n});
  return CostOf(
      [&] {
        const auto status =
            dnnl_sgemm('N', 'N', m, n, k, 1.0F, a.data(), k, b.data(), n, 0.0F, c.data(), n);
        if (status != dnnl_success) throw dnnl::error(status, "sgemm");
      },
      step_seconds);
}

struct MeasuredProduct {
  std::int64_t m, n, k;
  Type type;
  ProductBy by;

  auto operator<=>(const MeasuredProduct&) const = default;
};

PartCost CostOf(const MeasuredProduct& product, double step_seconds) {
  const auto& [m, n, k, type, by] = product;
  return by == ProductBy::kGemm ? CostOfGemm(m, n, k, step_seconds)
                                : CostOfProduct(m, n, k, type, step_seconds);
}

std::optional<PartCost> Measure(const MeasuredProduct& product, double step_seconds) {
  const OneThread one;
  try {
    auto cost = CostOf(product, step_seconds);
    Add(-1, CostOf({8, 8, 8, product.type, product.by}, step_seconds), cost);
    cost.seconds = std::max(0.0, cost.seconds);
    if (cost.instructions) cost.instructions = std::max(0.0, *cost.instructions);
    return cost;
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<PartCost> FunctionCost(double sigmoids, double tanhs, double step_seconds) {
  static const auto costs = MeasureFunctions(step_seconds);
  if (!costs) return std::nullopt;
  PartCost cost{0, 0};
  Add(sigmoids, costs->sigmoid, cost);
  Add(tanhs, costs->tanh, cost);
  return cost;
}

std::optional<PartCost> ProductCost(const std::vector<Product>& products, std::string_view type,
                                    ProductBy by, double step_seconds) {
  static std::map<MeasuredProduct, std::optional<PartCost>> measured;
  PartCost sum{0, 0};
  for (const auto& [m, n, k, count] : products) {
    const auto [found, is_new] = measured.try_emplace(MeasuredProduct{m, n, k, DataType(type), by});
    if (is_new) found->second = Measure(found->first, step_seconds);
    if (!found->second) return std::nullopt;
    Add(count, *found->second, sum);
  }
  return sum;
}

}  // namespace dlroof::onednn
