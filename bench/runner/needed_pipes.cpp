#include "bench/runner/needed_pipes.h"

namespace dlroof::runner {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::set<std::string> NeededPipes(std::string_view type, std::string_view options) {
  std::set<std::string> pipes = {"fp32.vector"};
  const auto add = [&](const std::string& element) {
    pipes.insert({element + ".vector", element + ".matrix"});
  };
  const bool converts = Has(options, "fpmath");  // f32 may be multiplied in another type
  const bool bf16 = Has(type, "bf16");
  if (Has(type, "f64")) add("fp64");
  if (bf16 || converts) add("bf16");
  // "f16" that is not the end of "bf16".
  for (auto at = type.find("f16"); at != std::string_view::npos; at = type.find("f16", at + 1))
    if (at == 0 || type[at - 1] != 'b') add("fp16");
  if (converts) {
    add("fp16");
    add("tf32");
  }
  if (Has(type, "8")) add("int8");
  return pipes;
}

}  // namespace dlroof::runner
