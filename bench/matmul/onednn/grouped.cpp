// GroupedMatmul/cpu/onednn: the baseline of a grouped product, one oneDNN 3.x matmul per expert in
// sequence. Each expert's weights are stored n x k.
#include "bench/matmul/grouped.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "bench/onednn/call.h"
#include "bench/workload/memory.h"

namespace dlroof::matmul {
namespace {

using dnnl::memory;
using onednn::CpuEngine;

// A product for each expert that has rows. Each works on its part of the three tensors.
struct GroupedCall : onednn::Sequence {
  std::map<int64_t, dnnl::matmul> products{};  // by number of rows
};

void AddPart(const GroupedCase& grouped, int64_t expert, int64_t row, int64_t rows,
             GroupedCall& call) {
  const auto& p = grouped.problem;
  const auto type = onednn::DataType(grouped.type);
  const auto a = onednn::PlainDesc({rows, p.k}, type);
  const memory::desc b({p.k, p.n}, type, memory::dims{1, p.k});
  const auto c = onednn::PlainDesc({rows, p.n}, type);
  auto found = call.products.find(rows);
  if (found == call.products.end()) {
    const dnnl::matmul::primitive_desc chosen(CpuEngine(), a, b, c,
                                              onednn::AttributesOf(grouped, {}, 0));
    const std::string implementation = chosen.impl_info_str();
    if (call.implementation.find(implementation) == std::string::npos)
      call.implementation += (call.implementation.empty() ? "" : " + ") + implementation;
    found = call.products.emplace(rows, chosen).first;
  }
  // Returns a view of a tensor with the layout `desc` that begins at this element.
  const auto part = [&](int argument, const memory::desc& desc, int64_t element) {
    auto* const begin = static_cast<std::byte*>(call.arguments.at(argument).get_data_handle());
    return memory(desc, CpuEngine(), begin + element * workload::ElementBytes(grouped.type));
  };
  auto& step = call.steps.emplace_back(onednn::Call{.primitive = found->second});
  step.arguments = {{DNNL_ARG_SRC, part(DNNL_ARG_SRC, a, row * p.k)},
                    {DNNL_ARG_WEIGHTS, part(DNNL_ARG_WEIGHTS, b, expert * p.n * p.k)},
                    {DNNL_ARG_DST, part(DNNL_ARG_DST, c, row * p.n)}};
  step.listed = onednn::ListedArguments(step.arguments);
}

GroupedCall MakeCall(const GroupedCase& grouped, const workload::ProductInputs& inputs) {
  const auto& p = grouped.problem;
  const auto type = onednn::DataType(grouped.type);
  GroupedCall call;
  auto& tensors = call.owner;
  call.weights = {DNNL_ARG_WEIGHTS};
  call.arguments = {
      {DNNL_ARG_SRC, tensors.Filled(onednn::PlainDesc({p.m, p.k}, type), inputs.source)},
      {DNNL_ARG_WEIGHTS, tensors.Filled(onednn::PlainDesc({p.g, p.n, p.k}, type), inputs.weights)},
      {DNNL_ARG_DST, tensors.Poisoned(onednn::PlainDesc({p.m, p.n}, type))}};
  int64_t row = 0, expert = 0;
  for (const auto rows : RowsOfExperts(p)) {
    if (rows > 0) AddPart(grouped, expert, row, rows, call);
    ++expert, row += rows;
  }
  call.implementation = fmt::format("{} products: {}", call.steps.size(), call.implementation);
  return call;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto grouped = ReadOnednnGroupedCase(name);
  onednn::RequireSupport(grouped, SizesOf(grouped), "");
  return onednn::PrepareCall(
      settings, fmt::format("grouped product {}", grouped.type),
      [grouped](unsigned seed) { return workload::SeededInputs(grouped, seed); },
      [&](const GroupedCall& call) {
        return WorkOf(grouped, onednn::PipeOf(grouped, call.implementation));
      },
      [grouped](const workload::ProductInputs& in) { return MakeCall(grouped, in); },
      [grouped, seed = settings.seed](const workload::ProductInputs& in, const GroupedCall& call) {
        const workload::ProductOutput<float> output{onednn::Plain(call.arguments.at(DNNL_ARG_DST))};
        return workload::CheckOutput(grouped, in, output, seed);
      });
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "GroupedMatmul", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::matmul
