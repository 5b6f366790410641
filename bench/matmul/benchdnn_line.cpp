#include <fmt/format.h>

#include "bench/matmul/benchdnn.h"

namespace dlroof {
namespace {

bool IsByte(std::string_view type) { return type == "u8" || type == "s8"; }

// Returns "--dt=u8:s8:u8 ", without what is benchdnn's default.
std::string Types(std::string_view source, std::string_view weights, std::string_view destination) {
  if (source != weights || weights != destination)
    return fmt::format("--dt={}:{}:{} ", source, weights, destination);
  return source == "f32" ? "" : fmt::format("--dt={} ", source);
}

// Returns relu, scales and fpmath. Calls get the scales as data: any value but 1 will do.
std::string Attributes(const MatmulCase& matmul) {
  std::string text;
  if (matmul.scales) text += "--attr-scales=src:common:0.5+wei:per_oc:0.5";
  if (matmul.scales) text += IsByte(matmul.types.destination) ? "+dst:common:0.5 " : " ";
  if (matmul.relu) text += "--attr-post-ops=relu ";
  if (!matmul.fpmath.empty()) text += fmt::format("--attr-fpmath={} ", matmul.fpmath);
  return text;
}

// Returns "ab" for a matrix row by row, "ba" for its transpose; "abc" and "acb" in a batch.
std::string_view Tag(int64_t batch, bool transposed) {
  if (batch == 1) return transposed ? "ba" : "ab";
  return transposed ? "acb" : "abc";
}

std::string MatmulLine(const MatmulCase& matmul) {
  const auto p = ProductOf(matmul);
  std::string line = "--matmul --mode=P ";
  line += Types(TypeOf(matmul.types, p.left.matrix), TypeOf(matmul.types, p.right.matrix),
                TypeOf(matmul.types, p.result));
  if (!matmul.any)
    line += fmt::format("--stag={} --wtag={} --dtag={} ", Tag(p.batch, p.left.transposed),
                        Tag(p.batch, p.right.transposed), Tag(p.batch, false));
  if (matmul.bias) line += fmt::format("--bia_dt={} ", BiasType(matmul.types));
  if (matmul.bias && p.batch > 1) line += "--bia_mask=4 ";
  line += Attributes(matmul);
  const auto batch = p.batch > 1 ? fmt::format("{}x", p.batch) : "";
  return line + fmt::format("{0}{1}x{2}:{0}{2}x{3}", batch, p.rows, p.depth, p.columns);
}

// Returns "FWD_I"; nothing where there is none.
std::string_view Dir(const MatmulCase& matmul) {
  switch (matmul.direction) {
    case MatmulDirection::kForward:
      if (matmul.bias) return matmul.training ? "FWD_B" : "";
      return matmul.training ? "FWD_D" : "FWD_I";
    case MatmulDirection::kBackwardData:
      return "BWD_D";
    case MatmulDirection::kBackwardWeights:
      return matmul.bias ? "BWD_WB" : "BWD_W";
  }
  return "";
}

std::string InnerProductLine(const MatmulCase& matmul) {
  const auto dir = Dir(matmul);
  if (dir.empty()) return "";
  return fmt::format("--ip --mode=P --dir={} {}{}mb{}ic{}oc{}", dir,
                     Types(matmul.types.source, matmul.types.weights, matmul.types.destination),
                     Attributes(matmul), matmul.problem.m, matmul.problem.k, matmul.problem.n);
}

}  // namespace

std::string MatmulBenchdnn(const MatmulCase& matmul) {
  if (matmul.scales && matmul.direction != MatmulDirection::kForward) return "";
  return matmul.ip ? InnerProductLine(matmul) : MatmulLine(matmul);
}

}  // namespace dlroof
