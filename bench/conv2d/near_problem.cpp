#include "bench/conv2d/near_problem.h"

#include <algorithm>
#include <vector>

#include "bench/workload/device_elements.h"

namespace dlroof {
namespace {

constexpr int64_t kFewestRows = 3;
// Kernels cut the channels of a group into blocks of so many; half of that where filters are large.
constexpr int64_t kFewestChannels[] = {64, 32};

struct TensorBytes {
  double images = 0, weights = 0;  // [byte] of one image's tensors, and of what all share
};

TensorBytes BytesOf(const Conv2dProblem& p, const ProductTypes& types) {
  const auto bytes = [](int64_t count, std::string_view type) {
    return static_cast<double>(count) * static_cast<double>(ElementBytes(type));
  };
  return {(bytes(SourceCount(p), types.source) + bytes(DestinationCount(p), types.destination)) /
              static_cast<double>(p.n),
          bytes(WeightsCount(p), types.weights)};
}

// Half the rows of the result, from the top.
std::optional<Conv2dProblem> WithHalfTheRows(Conv2dProblem p) {
  const int64_t rows = OutputRows(p) / 2;
  if (rows < kFewestRows) return std::nullopt;
  p.h -= (OutputRows(p) - rows) * p.stride_h;
  return p;
}

bool Halves(int64_t channels, int64_t groups, int64_t fewest) {
  return channels % (2 * groups) == 0 && channels / groups / 2 >= fewest;
}

// Each problem that is one step smaller.
std::vector<Conv2dProblem> Smaller(const Conv2dProblem& p, int64_t fewest_channels) {
  std::vector<Conv2dProblem> found;
  if (const auto rows = WithHalfTheRows(p)) found.push_back(*rows);
  auto half = p;
  if (p.groups % 2 == 0 && p.c / 2 >= fewest_channels) {
    half.groups /= 2;
    half.c /= 2;
    half.k /= 2;
    found.push_back(half);
  }
  half = p;
  half.c /= 2;
  if (Halves(p.c, p.groups, fewest_channels)) found.push_back(half);
  half = p;
  half.k /= 2;
  if (Halves(p.k, p.groups, fewest_channels)) found.push_back(half);
  return found;
}

// [1] Pairs of an output position and a tap that meet the source, in one dimension.
int64_t Meetings(int64_t outputs, int64_t taps, int64_t stride, int64_t dilation, int64_t pad,
                 int64_t size) {
  int64_t count = 0;
  for (int64_t output = 0; output < outputs; ++output)
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t at = output * stride + tap * dilation - pad;
      if (at >= 0 && at < size) ++count;
    }
  return count;
}

}  // namespace

std::optional<Conv2dProblem> NearProblem(const Conv2dCase& conv, double bytes) {
  const auto total = [&](const Conv2dProblem& p) {
    const auto one = BytesOf(p, conv.types);
    return static_cast<double>(p.n) * one.images + one.weights;
  };
  if (total(conv.problem) <= bytes) return conv.problem;
  for (const auto fewest : kFewestChannels) {
    auto near = conv.problem;
    near.n = 1;
    while (total(near) > bytes) {
      const auto smaller = Smaller(near, fewest);
      if (smaller.empty()) break;
      near = std::ranges::min(smaller, {}, total);
    }
    if (total(near) > bytes) continue;
    const auto one = BytesOf(near, conv.types);
    near.n = std::min(conv.problem.n, static_cast<int64_t>((bytes - one.weights) / one.images));
    return near;
  }
  return std::nullopt;
}

double InsideMultiplyAdds(const Conv2dProblem& p) {
  const auto rows = Meetings(OutputRows(p), p.r, p.stride_h, p.dilation_h, p.pad_top, p.h);
  const auto columns = Meetings(OutputColumns(p), p.s, p.stride_w, p.dilation_w, p.pad_left, p.w);
  return static_cast<double>(p.n * p.k) * static_cast<double>(p.c / p.groups) *
         static_cast<double>(rows) * static_cast<double>(columns);
}

}  // namespace dlroof
