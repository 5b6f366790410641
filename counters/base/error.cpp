#include "counters/base/error.h"

#include <fmt/format.h>

namespace dlroof {
namespace {

std::string Prefix(const BadInput::Place& at) {
  std::string prefix = at.where;
  if (at.line > 0) prefix += fmt::format(":{}", at.line);
  if (!prefix.empty()) prefix += ": ";
  if (at.column > 0) prefix += fmt::format("column {}: ", at.column);
  return prefix;
}

}  // namespace

BadInput::BadInput(const Place& at, const std::string& fault)
    : runtime_error(Prefix(at) + fault), place(at), text(fault) {}

}  // namespace dlroof
