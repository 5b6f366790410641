// Measures the rows of a GPU: finds the fastest launch, checks the results, and runs the passes.
#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "ceilings/gpu_ceilings/chips.h"
#include "ceilings/gpu_ceilings/measure.h"
#include "counters/base/error.h"

namespace dlroof::gpu_ceilings {
namespace {

constexpr double kTrialSeconds = 1e-3;  // long enough to compare launches
constexpr std::int64_t kCheckedIterations[] = {1, 3};

// Returns the architecture's peak [flop/s] at the default clock, or nothing if either is unknown.
std::optional<double> PeakOf(const GpuSession& session, const gpu_ceilings::GpuRow& row) {
  const auto* peak = FindGpuPeak(session.Capability(), row.key.substr(0, row.key.rfind('.')));
  if (peak == nullptr || !session.gpu.default_clock_hz) return std::nullopt;
  return peak->per_cycle.front() * session.gpu.identity.sms * *session.gpu.default_clock_hz;
}

// Returns the rate [iteration/s] of a short run, after another one to warm up.
double Trial(GpuSession& session, const gpu_ceilings::GpuRow& row,
             const gpu_ceilings::GpuShape& shape) {
  session.bench.Prepare(row, shape);
  session.bench.Run(1);
  for (std::int64_t iterations = 1;; iterations *= 2) {
    const double seconds = session.bench.Run(iterations).seconds;
    if (seconds >= kTrialSeconds || iterations >= (std::int64_t{1} << 40))
      return static_cast<double>(iterations) / std::max(seconds, 1e-9);
  }
}

void AddToSweep(const gpu_ceilings::GpuShape& shape, double per_second,
                std::vector<machine::SweepPoint>& sweep) {
  const auto bytes = static_cast<double>(shape.set_bytes);
  const auto same = std::ranges::find(sweep, bytes, &machine::SweepPoint::bytes);
  if (same == sweep.end())
    sweep.push_back({bytes, per_second});
  else
    same->per_second = std::max(same->per_second, per_second);
}

gpu_ceilings::GpuShape FastestShape(GpuSession& session, const gpu_ceilings::GpuRow& row) {
  const auto& identity = session.gpu.identity;
  const gpu_ceilings::GpuSize size{identity.sms, static_cast<std::int64_t>(identity.l2_bytes),
                                   static_cast<std::int64_t>(session.gpu.free_bytes)};
  gpu_ceilings::GpuShape best;
  double best_rate = 0;
  for (const auto& shape : gpu_ceilings::GpuShapes(row, size, PeakOf(session, row))) {
    const double rate = Trial(session, row, shape) * gpu_ceilings::WorkPerIteration(row, shape);
    if (row.unit == gpu_ceilings::GpuUnit::kLoad) AddToSweep(shape, rate, session.sweep);
    if (rate <= best_rate) continue;
    best_rate = rate;
    best = shape;
  }
  return best;
}

// Returns the first difference from the reference loop's results, if there is one.
std::optional<Reason> Difference(GpuSession& session, const gpu_ceilings::GpuRow& row,
                                 const gpu_ceilings::GpuShape& shape) {
  const auto operands = gpu_ceilings::GpuOperands(row, shape, gpu_ceilings::GpuOperandKind::kKnown);
  for (const auto iterations : kCheckedIterations) {
    const auto results = session.bench.Result(row, shape, operands, iterations);
    const auto difference = gpu_ceilings::GpuDifference(row, shape, iterations, results);
    if (difference) return difference;
    if (row.unit == gpu_ceilings::GpuUnit::kGemm)
      break;  // its result does not depend on iterations
  }
  return std::nullopt;
}

void CheckResult(GpuSession& session, GpuRowState& state) {
  const auto shapes = gpu_ceilings::CheckShapes(state.row, state.shape);
  for (const auto& shape : shapes) {
    const auto difference = Difference(session, state.row, shape);
    if (!difference) continue;
    state.wrong_result = Reason{fmt::format("the result is wrong: {}", difference->text)};
    if (shapes.size() > 1)
      state.wrong_result->text += fmt::format(" (with {} blocks)", shape.blocks);
    return;
  }
  state.result = state.row.unit == gpu_ceilings::GpuUnit::kGemm
                     ? "256 elements of the product equal a plain loop's"
                     : "all results of 1 and of 3 iterations equal a plain loop's";
  if (shapes.size() > 1)
    *state.result += fmt::format(", with {} and {} blocks", shapes[0].blocks, shapes[1].blocks);
}

void MeasureHalf(GpuSession& session, GpuRowState& state) {
  const auto half = gpu_ceilings::HalfShape(state.shape);
  if (half.blocks == state.shape.blocks) return;
  session.bench.Prepare(state.row, half);
  auto policy = session.Policy(state.row);
  policy.repetitions = 3;
  policy.doubled = 1;
  const auto pass =
      MeasureGpuRate([&](std::int64_t iterations) { return session.bench.Run(iterations); }, policy,
                     session.RequiredClock(state.row));
  if (pass.rate.clean == 0) return;
  state.half = HalfRate{pass.rate.per_second * gpu_ceilings::WorkPerIteration(state.row, half),
                        pass.rate.clock_hz, static_cast<double>(half.blocks) / state.shape.blocks};
}

void MeasureOnce(GpuSession& session, GpuRowState& state) {
  if (state.passes.empty()) {
    state.shape = FastestShape(session, state.row);
    CheckResult(session, state);
  }
  session.bench.Prepare(state.row, state.shape);
  const auto run = [&](std::int64_t iterations) {
    return state.last = session.bench.Run(iterations);
  };
  state.passes.push_back(
      MeasureGpuRate(run, session.Policy(state.row), session.RequiredClock(state.row)));
  if (static_cast<int>(state.passes.size()) == session.effort.passes &&
      gpu_ceilings::ScalesWithSms(state.row))
    MeasureHalf(session, state);
}

}  // namespace

void MeasureGpuRows(GpuSession& session) {
  for (auto& row : gpu_ceilings::GpuRows(session.Capability())) {
    session.rows.emplace_back();
    session.rows.back().row = std::move(row);
  }
  // Rows with the newest instructions run last, because a failing kernel destroys the CUDA context.
  std::stable_partition(session.rows.begin(), session.rows.end(), [](const GpuRowState& state) {
    return state.row.unit != gpu_ceilings::GpuUnit::kWgmma;
  });
  for (int pass = 0; pass < session.effort.passes; ++pass)
    for (auto& state : session.rows) {
      if (session.Stopped()) {
        if (state.passes.empty() && !state.absent)
          state.absent = Reason{"not measured: the measurement was ended early"};
        continue;
      }
      if (state.absent) continue;
      if (session.options.progress) session.options.progress(state.row.key);
      try {
        MeasureOnce(session, state);
      } catch (const Unsupported& error) {
        state.absent = Reason{error.what()};
      } catch (const std::exception& error) {
        state.absent = Reason{fmt::format("failed: {}", error.what())};
      }
    }
}

}  // namespace dlroof::gpu_ceilings
