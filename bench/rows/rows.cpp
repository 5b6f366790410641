#include "bench/rows/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "bench/workload/memory.h"
#include "counters/base/error.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::rows {
namespace {

// Parses a name. Throws BadInput with the column for an invalid problem. Checks nothing else.
RowsCase CaseOf(const RowsOperator& op, const workload::BenchmarkName& name) {
  RowsCase read{&op,
                ParseRows(name.problem, workload::ColumnOfPart(name, 5) - 1),
                name.type,
                workload::HasOption(name, "training"),
                workload::HasOption(name, "scale"),
                workload::HasOption(name, "shift")};
  for (const auto function : workload::kEltwises)
    if (workload::HasOption(name, Key(function))) read.function = function;
  read.backward = name.direction == "bwd";
  read.residual = workload::HasOption(name, "residual");
  return read;
}

// Returns the directions of an operator. Backward calls exist for normalizations only.
std::vector<std::string_view> DirectionsOf(const RowsOperator& op) {
  if (&op == &kLayerNorm || &op == &kRmsNorm) return {"fwd", "bwd"};
  return {"fwd"};
}

// Parses a name. Throws BadInput with the column for a direction, type or option not allowed.
RowsCase ReadCase(const RowsOperator& op, const workload::BenchmarkName& name,
                  const std::vector<std::string_view>& types, const workload::OptionRows& options) {
  workload::RequireDirection(name, DirectionsOf(op));
  workload::RequireType(name, types);
  auto read = CaseOf(op, name);
  workload::CheckOptions(name, options);
  for (const std::string_view option : {"training", "residual"})
    if (read.backward) workload::RefuseOption(name, option, "applies to fwd");
  return read;
}

RowsCase ReadLoopsCase(const RowsOperator& op, const workload::BenchmarkName& name) {
  return ReadCase(op, name, {"f64"}, op.loops_options);
}

workload::PreparedCall PrepareLoops(const RowsCase& request, uint64_t seed) {
  struct Call {
    Tensors<float> in;
    Tensors<double> wide;
    std::vector<double> destination;
  };
  RequireMemory(request);
  const auto made = std::make_shared<Call>();
  made->in = request.op->inputs(request, seed);
  made->wide.source.assign(made->in.source.begin(), made->in.source.end());
  made->destination.resize(ResultSize(request));
  for (const auto& values : made->in.parameters)
    made->wide.parameters.emplace_back(values.begin(), values.end());
  workload::TensorList tensors = {&made->wide.source, &made->destination};
  for (const auto& values : made->wide.parameters) tensors.push_back(&values);
  return workload::PreparedLoops(
      [made, request] { request.op->run(request, made->wide, made->destination); },
      [made, request, seed] { return Check(request, made->in, made->destination, seed); },
      WorkOf(request), tensors);
}

// Returns the number of rows, at most 2^31. `batch` replaces the first size unless it is 0.
int64_t RowCount(const std::vector<int64_t>& sizes, int64_t batch) {
  constexpr int64_t kTooMany = int64_t{1} << 31;
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < sizes.size(); ++i)
    rows = std::min(rows * (i == 0 && batch != 0 ? batch : sizes[i]), kTooMany);
  return rows;
}

suites::BenchdnnName NameOf(const RowsOperator& op, const RowsBenchdnn& benchdnn,
                            std::string_view text, const suites::BenchdnnChoice& choice) {
  size_t at = 0;
  const auto sizes = suites::ReadSizes(text, at);
  suites::ExpectName(text, at);
  if (sizes.size() < 2 || sizes.size() > 5) throw BadInput("expected 2 to 5 dimensions");
  if (auto reason = benchdnn.reason(sizes.size(), choice)) return *std::move(reason);
  const auto problem = ToText(Rows{RowCount(sizes, choice.Count("mb")), sizes.back()});
  std::vector<std::string> options;
  if (benchdnn.name_options != nullptr) options = benchdnn.name_options(choice);
  if (choice["dir"] == "FWD_D") options.insert(options.begin(), "training");
  const auto type = choice[benchdnn.type_option];
  return workload::ToText({std::string(op.name), "cpu", "onednn",
                           choice["dir"] == "BWD_DW" ? "bwd" : "fwd",
                           std::string(type.substr(0, type.find(':'))), problem, options});
}

}  // namespace

std::string ToText(const Rows& rows) { return fmt::format("m{}n{}", rows.m, rows.n); }

Rows ParseRows(std::string_view text, int column_offset) {
  const auto read = [](workload::TextCursor& cursor) {
    Rows rows;
    cursor.Sizes({{"m", rows.m}, {"n", rows.n}});
    if (!cursor.AtEnd()) cursor.Refuse("the end");
    return rows;
  };
  return workload::ParseProblem(text, column_offset, read, [](const Rows& rows) {
    workload::CheckedCount({16, rows.m, rows.n}, "the tensors' size in bytes");  // two of f64
  });
}

RowsCase ReadOnednnCase(const RowsOperator& op, const workload::BenchmarkName& name) {
  workload::RefuseOption(name, "residual", "is for RmsNorm/gpu/cudnn, which fuses it");
  return ReadCase(op, name, {"f32", "bf16"}, op.onednn_options);
}

RowsCase ReadCudnnCase(const RowsOperator& op, const workload::BenchmarkName& name) {
  return ReadCase(op, name, {"f32", "f16", "bf16"}, op.onednn_options);
}

void RequireMemory(const RowsCase& request) {
  const double elements = static_cast<double>(request.rows.m) * static_cast<double>(request.rows.n);
  workload::RequireHostMemory((request.residual                             ? 4
                               : request.op == &kSwiGlu || request.backward ? 3
                                                                            : 2) *
                                  elements *
                                  static_cast<double>(4 + workload::ElementBytes(request.type)),
                              ToText(request.rows));
}

logs::PrimitiveText Logged(const RowsCase& request) {
  return {.kind = std::string(request.op->kind),
          .prop = request.backward   ? "backward"
                  : request.training ? "forward_training"
                                     : "forward_inference",
          .tensors = request.backward ? fmt::format("src:{0}::blocked:ab::f0 diff_dst:{0}::"
                                                    "blocked:ab::f0 diff_src:{0}::blocked:ab::f0",
                                                    request.type)
                                      : fmt::format("src:{0}::blocked:ab::f0 "
                                                    "dst:{0}::blocked:ab::f0",
                                                    request.type),
          .attributes = request.op == &kSwiGlu
                            ? fmt::format("attr-post-ops:binary_mul:{}:3:ab", request.type)
                            : "",
          .auxiliary = request.op->auxiliary(request),
          .problem = fmt::format("{}x{}", request.rows.m, request.rows.n)};
}

Work WorkOf(const RowsCase& request) {
  auto work = workload::WorkOfLogged(Logged(request));
  const auto rows = static_cast<double>(request.rows.m);
  const double elements = rows * static_cast<double>(request.rows.n);
  const auto element = static_cast<double>(workload::ElementBytes(request.type));
  work.written = element * elements;
  if (request.op != &kRmsNorm) return work;
  // RmsNorm has no mean, which LayerNorm writes in training and reads in backward calls. It saves 3
  // FLOPs per element: forward a sum and two subtractions; backward the subtraction of the mean,
  // and the sum and the subtraction of mean(g).
  for (auto& [pipe, flops] : work.flops) flops -= 3 * elements;
  for (auto& [part, flops] : work.parts) flops -= 3 * elements;
  if (request.training || request.backward) work.bytes[Level::kDram] -= 4 * rows;
  if (!request.residual) return work;
  // The call reads and adds the residual, writes the sum, and has a scale in the type of the rows.
  for (auto& [pipe, flops] : work.flops) flops += elements;
  for (auto& [part, flops] : work.parts) flops += elements;
  work.bytes[Level::kDram] += 2 * element * elements;
  *work.written += element * elements;
  if (request.scale)
    work.bytes[Level::kDram] += (element - 4) * static_cast<double>(request.rows.n);
  return work;
}

std::vector<float> SeededRows(const RowsCase& request, uint64_t seed, float low, float high) {
  return workload::SeededValues(request.rows.m * request.rows.n, seed, request.type, low, high);
}

namespace {

template <class Number>
std::vector<Number> Part(const std::vector<Number>& output, int64_t first, int64_t count) {
  return {output.begin() + first, output.begin() + first + count};
}

// Returns the largest error of a row of source + residual, divided by the allowed error.
double SumError(const Tensors<float>& in, int64_t first, std::span<const double> sums,
                const workload::TypeRounding& rounding) {
  double error = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const size_t at = static_cast<size_t>(first) + i;
    const double x = in.source[at], residual = in.parameters[kResidual][at];
    const double allowed = rounding.sum * (std::fabs(x) + std::fabs(residual)) +
                           rounding.result * std::fabs(x + residual) + rounding.least;
    error = std::max(error, workload::ErrorInUnits(sums[i], x + residual, allowed));
  }
  return error;
}

}  // namespace

template <class Number>
workload::Verification Check(const RowsCase& request, const Tensors<float>& in,
                             const std::vector<Number>& output, uint64_t seed) {
  const auto& [m, n] = request.rows;
  const auto rounding = workload::RoundingOf(request.type).value();
  const auto of_sums = workload::RoundingOf(request.type == "f64" ? "f64" : "f32").value();
  constexpr double kFlops = 8;  // [1] approximate FLOPs per element of the reference
  using Error = std::function<double(int64_t unit, std::span<const double> found)>;
  std::optional<workload::Verification> worst;
  // Compares `units` units of `size` elements from `first` on.
  const auto compare = [&, flops = kFlops * static_cast<double>(m) * static_cast<double>(n)](
                           int64_t first, int64_t units, int64_t size, const Error& error) {
    auto found = workload::CheckOutput<Number>(
        {.units = units, .size = size, .flops = flops, .error = error},
        Part(output, first, units * size), seed);
    if (!worst || !found.ok || found.max_error > worst->max_error) worst = std::move(found);
  };
  compare(0, m, n, [&, width = static_cast<size_t>(n)](int64_t row, std::span<const double> y) {
    return request.op->error(
        request, in, {in.source.data() + row * static_cast<int64_t>(width), width}, y, rounding);
  });
  if (request.residual)
    compare(m * n, m, n, [&, n = n](int64_t row, std::span<const double> sums) {
      return SumError(in, row * n, sums, rounding);
    });
  for (const auto& [used, first] : {std::pair(request.scale, int64_t{0}), {request.shift, n}})
    if (request.backward && used)
      compare(m * n + first, n, 1, [&, at = first](int64_t column, std::span<const double> sum) {
        return NormColumnError(request, in, at + column, sum[0], of_sums);
      });
  return *worst;
}

template workload::Verification Check(const RowsCase&, const Tensors<float>&,
                                      const std::vector<float>&, uint64_t);
template workload::Verification Check(const RowsCase&, const Tensors<float>&,
                                      const std::vector<double>&, uint64_t);

suites::BenchdnnDriver DriverOf(const RowsOperator& op, const RowsBenchdnn& benchdnn,
                                suites::BenchdnnDriver driver) {
  // No begins_problem: without a driver's name a problem such as "8x16" is read as matmul's.
  driver.name_of = [&op, benchdnn](std::string_view text, const suites::BenchdnnChoice& choice) {
    return NameOf(op, benchdnn, text, choice);
  };
  driver.work = [&op](const workload::BenchmarkName& name) -> suites::BenchdnnWork {
    // The library converts every type to f32.
    return {workload::WorkOfLogged(Logged(ReadOnednnCase(op, name))).bytes, "f32"};
  };
  return driver;
}

std::optional<Reason> LayoutReason(std::string_view tag, size_t dimensions) {
  // ReadLayout converts abx to nchw.
  if (tag == "any" || tag == "nchw" || tag == std::string_view("abcde").substr(0, dimensions))
    return std::nullopt;
  return Reason{fmt::format("layout {}", tag)};
}

bool Register(const RowsOperator& op, workload::Op row) {
  row.name = op.name;
  row.words.sweep = {{"rows", "m"}, {"columns", "n"}};
  for (const auto direction : DirectionsOf(op)) row.directions.emplace_back(direction);
  row.named_flops = [&op](const record::Record& record) {
    auto request = CaseOf(
        op, {.direction = record.direction, .problem = record.problem, .options = record.options});
    request.type = "f32";  // all types have the same count
    return TotalFlops(WorkOf(request)).value();
  };
  workload::RegisterOp(std::move(row));
  workload::RegisterBackend({std::string(op.name), "cpu", "onednn",
                             [&op](const workload::BenchmarkName& name) -> workload::Workload {
                               const auto logged =
                                   logs::ReadPrimitive(Logged(ReadOnednnCase(op, name)));
                               if (&op == &kRmsNorm) return {};  // it would be LayerNorm's line
                               return {.repro = suites::BenchdnnLine(logged)};
                             },
                             &op == &kRmsNorm ? "oneDNN 3.9 or newer" : "oneDNN 3.2 or newer"});
  workload::RegisterBackend(
      {std::string(op.name), "gpu", "cudnn",
       workload::CheckedWorkload(std::bind_front(ReadCudnnCase, std::cref(op))),
       "cuDNN 9.8 or newer"});
  const auto read = std::bind_front(ReadLoopsCase, std::cref(op));
  return workload::RegisterBackend(
      {std::string(op.name), "cpu", "reference", workload::CheckedWorkload(read), std::nullopt,
       [read](const workload::BenchmarkName& name, const workload::RunSettings& settings) {
         return PrepareLoops(read(name), settings.seed);
       }});
}

}  // namespace dlroof::rows
