// GroupedMatmul/cpu/onednn: the baseline of a grouped product, one oneDNN 3.x matmul per expert in
// sequence. Each expert's weights are stored n x k.
#include "bench/matmul/grouped.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bench/onednn/call.h"

namespace dlroof::matmul {
namespace {

using dnnl::memory;
using onednn::CpuEngine;

// A product for each expert that has rows. Each works on its part of the three tensors.
struct GroupedCall {
  onednn::Tensors tensors{};
  memory source{}, weights{}, destination{};
  std::map<int64_t, dnnl::matmul> products{};  // by number of rows
  std::string implementation{};
  struct Part {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
    onednn::ArgumentList listed = onednn::ListedArguments(arguments);
  };
  std::vector<Part> parts{};

  void Run() const {
    for (const auto& part : parts) onednn::Execute(part.primitive, part.listed);
  }
};

// Returns a view of `tensor` with the layout `desc` that begins at this element.
memory PartOf(const memory& tensor, const memory::desc& desc, int64_t element) {
  const auto type = tensor.get_desc().get_data_type();
  auto* const begin = static_cast<std::byte*>(tensor.get_data_handle());
  return {desc, CpuEngine(), begin + element * static_cast<int64_t>(memory::data_type_size(type))};
}

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
  call.parts.push_back({found->second,
                        {{DNNL_ARG_SRC, PartOf(call.source, a, row * p.k)},
                         {DNNL_ARG_WEIGHTS, PartOf(call.weights, b, expert * p.n * p.k)},
                         {DNNL_ARG_DST, PartOf(call.destination, c, row * p.n)}}});
}

std::shared_ptr<const GroupedCall> MakeCall(const GroupedCase& grouped,
                                            const workload::ProductInputs& inputs) {
  const auto& p = grouped.problem;
  const auto type = onednn::DataType(grouped.type);
  auto call = std::make_shared<GroupedCall>();
  call->source = call->tensors.Filled(onednn::PlainDesc({p.m, p.k}, type), inputs.source);
  call->weights = call->tensors.Filled(onednn::PlainDesc({p.g, p.n, p.k}, type), inputs.weights);
  call->destination = call->tensors.Poisoned(onednn::PlainDesc({p.m, p.n}, type));
  int64_t row = 0, expert = 0;
  for (const auto rows : RowsOfExperts(p)) {
    if (rows > 0) AddPart(grouped, expert, row, rows, *call);
    ++expert, row += rows;
  }
  return call;
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto grouped = ReadOnednnGroupedCase(name);
  onednn::RequireSupport(grouped, SizesOf(grouped), "");
  onednn::SetThreads(settings.threads);
  const auto inputs =
      std::make_shared<workload::ProductInputs>(workload::SeededInputs(grouped, settings.seed));
  const auto call = onednn::Translated(fmt::format("grouped product {}", grouped.type),
                                       [&] { return MakeCall(grouped, *inputs); });
  workload::PreparedCall prepared{
      .algorithm = fmt::format("{} products: {}", call->parts.size(), call->implementation),
      .isa = onednn::EffectiveIsa(),
      .modelled = WorkOf(grouped, onednn::PipeOf(grouped, call->implementation)),
      .memory = onednn::Regions({{DNNL_ARG_SRC, call->source},
                                 {DNNL_ARG_WEIGHTS, call->weights},
                                 {DNNL_ARG_DST, call->destination}},
                                {DNNL_ARG_WEIGHTS})};
  prepared.run = [call] { call->Run(); };
  prepared.verify = [call, inputs, grouped, seed = settings.seed] {
    call->Run();
    auto found = workload::CheckOutput(
        grouped, *inputs, workload::ProductOutput<float>{onednn::Plain(call->destination)}, seed);
    *inputs = {};
    return found;
  };
  prepared.new_inputs = [call, inputs, grouped](unsigned seed) {
    *inputs = workload::SeededInputs(grouped, seed);
    const auto other = MakeCall(grouped, *inputs);
    onednn::CopyTensor(other->source, call->source);
    onednn::CopyTensor(other->weights, call->weights);
    onednn::CopyTensor(other->destination, call->destination);
  };
  return prepared;
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "GroupedMatmul", .device = "cpu", .library = "onednn", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::matmul
