#include "bench/workload/op.h"

#include <map>

namespace dlroof::workload {
namespace {

std::map<std::string, Op, std::less<>>& OpRegistry() {
  static std::map<std::string, Op, std::less<>> ops;
  return ops;
}

}  // namespace

bool RegisterOp(Op op) {
  roofline::RegisterOpWords(op.name, op.words);
  return OpRegistry().emplace(op.name, std::move(op)).second;
}

std::vector<const Op*> AllOps() {
  std::vector<const Op*> ops;
  for (const auto& [name, op] : OpRegistry()) ops.push_back(&op);
  return ops;
}

const Op* FindOp(std::string_view name) {
  const auto found = OpRegistry().find(name);
  return found == OpRegistry().end() ? nullptr : &found->second;
}

}  // namespace dlroof::workload
