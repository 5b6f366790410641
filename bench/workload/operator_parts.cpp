#include "bench/workload/operator_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "counters/base/error.h"
#include "reporters/logs/primitive.h"
#include "reporters/logs/primitive_work.h"

namespace dlroof::workload {
namespace {

void RequirePart(const BenchmarkName& name, int part, std::string_view what,
                 const std::string& value, const std::vector<std::string_view>& allowed) {
  if (std::ranges::find(allowed, value) == allowed.end())
    throw BadInput({.column = ColumnOfPart(name, part)}, "expected a {} ({}), got '{}'", what,
                   fmt::join(allowed, ", "), value);
}

}  // namespace

void RequireDirection(const BenchmarkName& name, const std::vector<std::string_view>& directions) {
  RequirePart(name, 3, "direction", name.direction, directions);
}

void RequireType(const BenchmarkName& name, const std::vector<std::string_view>& types) {
  RequirePart(name, 4, "type", name.type, types);
}

Work WorkOfLogged(const logs::PrimitiveText& text) {
  const auto primitive = logs::ReadPrimitive(text);
  const auto found = logs::WorkOf(primitive);
  if (found.matrix != 0.0 || !found.elementwise || !found.bytes)
    throw std::logic_error(fmt::format("{} {}: {}", text.kind, text.problem,
                                       found.reason ? found.reason->text : "has matrix products"));
  const bool wide = logs::ComputeTypeOf(primitive) == "f64";
  Work work;
  work.flops[wide ? "fp64.vector" : "fp32.vector"] = *found.elementwise;
  work.parts["elementwise"] = *found.elementwise;
  work.bytes[Level::kDram] = *found.bytes;
  work.launches = 1;
  return work;
}

PreparedCall PreparedLoops(std::function<void()> run, Work modelled,
                           const std::vector<const std::vector<double>*>& tensors) {
  PreparedCall call;
  call.run = std::move(run);
  call.algorithm = "plain loops";
  call.threads = 1;
  call.modelled = std::move(modelled);
  for (const auto* tensor : tensors)
    if (!tensor->empty()) call.memory.push_back({tensor->data(), tensor->size() * sizeof(double)});
  return call;
}

}  // namespace dlroof::workload
