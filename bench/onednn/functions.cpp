#include "bench/onednn/functions.h"

#include <omp.h>

#include <algorithm>
#include <dnnl.hpp>
#include <limits>
#include <unordered_map>

#include "bench/onednn/support.h"
#include "counters/cpu/clocks.h"

namespace dlroof::onednn {
namespace {

constexpr dnnl::memory::dim kElements = 16384;
constexpr int kTries = 10, kCallsOfTry = 20;

// [s] of one element on one thread; the fastest try, since other programs only lengthen.
double SecondsOf(dnnl::algorithm function) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const dnnl::memory::desc shape({kElements}, dnnl::memory::data_type::f32,
                                 dnnl::memory::format_tag::a);
  dnnl::memory source(shape, engine), result(shape, engine);
  auto* values = source.map_data<float>();
  for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>(i % 64) / 16 - 2;
  source.unmap_data(values);
  const dnnl::eltwise_forward primitive(dnnl::eltwise_forward::primitive_desc(
      engine, dnnl::prop_kind::forward_inference, function, shape, shape, 0.0F, 0.0F));
  const std::unordered_map<int, dnnl::memory> arguments = {{DNNL_ARG_SRC, source},
                                                           {DNNL_ARG_DST, result}};
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const double begin = WallSeconds();
    for (int call = 0; call < kCallsOfTry; ++call) primitive.execute(stream, arguments);
    stream.wait();
    fastest = std::min(fastest, WallSeconds() - begin);
  }
  return fastest / kCallsOfTry / static_cast<double>(kElements);
}

struct Costs {
  double sigmoid = 0, tanh = 0;  // [s] of an element
};

std::optional<Costs> Measure() {
  const int threads = omp_get_max_threads();
  std::optional<Costs> costs;
  SetThreads(1);
  try {
    costs = Costs{SecondsOf(dnnl::algorithm::eltwise_logistic),
                  SecondsOf(dnnl::algorithm::eltwise_tanh)};
  } catch (const dnnl::error&) {
  }
  SetThreads(threads);
  return costs;
}

}  // namespace

std::optional<double> FunctionSeconds(double sigmoids, double tanhs) {
  static const auto costs = Measure();
  if (!costs) return std::nullopt;
  return sigmoids * costs->sigmoid + tanhs * costs->tanh;
}

}  // namespace dlroof::onednn
