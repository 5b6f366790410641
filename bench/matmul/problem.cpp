#include "bench/matmul/problem.h"

#include <fmt/format.h>

#include "bench/workload/problem_text.h"
#include "counters/base/error.h"

namespace dlroof::matmul {
namespace {

MatmulProblem ReadLetters(workload::TextCursor& cursor) {
  MatmulProblem p;
  // A batch of 1 has no letter, so that no problem has two texts.
  if (cursor.Accept("b")) p.b = cursor.Integer(2, "a batch");
  cursor.Sizes({{"m", p.m}, {"n", p.n}, {"k", p.k}});
  if (cursor.AtEnd()) return p;
  cursor.Expect("_");
  p.transposed_a = cursor.Accept("tA");
  p.transposed_b = cursor.Accept("tB");
  const bool any = p.transposed_a || p.transposed_b;
  if (!any) cursor.Refuse("tA, tB or tAtB");
  if (!cursor.AtEnd()) cursor.Refuse(p.transposed_b ? "the end" : "the end or tB");
  return p;
}

// Throws BadInput without a column.
void CheckShape(const MatmulProblem& p) {
  // In the widest type, so that no type of the same problem overflows.
  constexpr int64_t kBytes = 8;
  int64_t total = workload::CheckedCount({kBytes, p.b, p.m, p.k}, "A's size in byte");
  const int64_t b = workload::CheckedCount({kBytes, p.b, p.k, p.n}, "B's size in byte");
  const int64_t c = workload::CheckedCount({kBytes, p.b, p.m, p.n}, "C's size in byte");
  if (__builtin_add_overflow(total, b, &total) || __builtin_add_overflow(total, c, &total))
    throw BadInput("the matrices' size in byte overflows 64 bits");
  workload::CheckedCount({2, p.b, p.m, p.n, p.k}, "the number of FLOPs");
}

}  // namespace

int64_t CountA(const MatmulProblem& p) { return p.b * p.m * p.k; }
int64_t CountB(const MatmulProblem& p) { return p.b * p.k * p.n; }
int64_t CountC(const MatmulProblem& p) { return p.b * p.m * p.n; }

std::string ToText(const MatmulProblem& p) {
  std::string text = p.b == 1 ? "" : fmt::format("b{}", p.b);
  text += fmt::format("m{}n{}k{}", p.m, p.n, p.k);
  if (p.transposed_a || p.transposed_b) text += "_";
  if (p.transposed_a) text += "tA";
  if (p.transposed_b) text += "tB";
  return text;
}

MatmulProblem ParseMatmul(std::string_view text, int column_offset) {
  workload::TextCursor cursor(text, column_offset);
  const auto problem = ReadLetters(cursor);
  try {
    CheckShape(problem);
  } catch (const BadInput& error) {
    throw BadInput("column {}: {}", column_offset + 1, error.what());
  }
  return problem;
}

int64_t DenseFlops(const MatmulProblem& p) { return 2 * CountC(p) * p.k; }

}  // namespace dlroof::matmul
