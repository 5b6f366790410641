#include "counters/reuse_nest.h"

#include <algorithm>
#include <cmath>

namespace dlroof {
namespace {

// What is left of each dimension inside the first `around` loops.
std::vector<double> Extents(const ReuseNest& nest, size_t around) {
  std::vector<double> extents = nest.sizes;
  for (size_t i = 0; i < around; ++i) {
    double& extent = extents[static_cast<size_t>(nest.loops[i].dimension)];
    extent = std::min(extent, nest.loops[i].step);
  }
  return extents;
}

double Iterations(const ReuseNest& nest, size_t loop) {
  const auto extents = Extents(nest, loop);
  const NestLoop& at = nest.loops[loop];
  return std::max(1.0, extents[static_cast<size_t>(at.dimension)] / at.step);
}

bool Moves(const NestTensor& tensor, int dimension) {
  for (const NestAxis& axis : tensor.axes)
    for (const NestTerm& term : axis.terms)
      if (term.dimension == dimension) return true;
  return false;
}

double Span(const NestAxis& axis, const std::vector<double>& extents) {
  double span = 1;
  for (const NestTerm& term : axis.terms)
    span += term.scale * (extents[static_cast<size_t>(term.dimension)] - 1);
  return std::min(span, axis.limit);
}

// How far a body is from fitting: 0 it does, 1 it does not.
double Overflow(double bytes, const NestCache& cache) {
  if (cache.ways == 0) return bytes > cache.bytes ? 1 : 0;
  const double way = 1.0 / cache.ways;
  return std::clamp((bytes / cache.bytes - (1 - way / 2)) / (1.5 * way), 0.0, 1.0);
}

// When the body of the first `fitting` loops is the largest that fits.
double Fetched(const ReuseNest& nest, const NestTensor& tensor, size_t fitting, CacheStart start) {
  if (fitting == 0) return start == CacheStart::kSameNestBefore ? 0 : Footprint(nest, tensor, 0);
  const auto moved_by = [&](size_t loop) {
    return Iterations(nest, loop) > 1 && Moves(tensor, nest.loops[loop].dimension);
  };
  // The loop right around the fitting body fetches the union of its iterations.
  double bytes = Footprint(nest, tensor, fitting - 1);
  bool stays = !moved_by(fitting - 1);
  for (size_t i = fitting - 1; i-- > 0;) {
    const bool moves = moved_by(i);
    stays = stays && !moves;
    if (stays) continue;
    // A last, smaller tile fetches less of what moves, and all of what does not.
    const double iterations = Iterations(nest, i);
    bytes *= moves ? iterations : std::ceil(iterations - 1e-9);
    if (nest.loops[i].dimension == tensor.partial_in) bytes *= tensor.partial;
  }
  return stays && start == CacheStart::kSameNestBefore ? 0 : bytes;
}

}  // namespace

double Footprint(const ReuseNest& nest, const NestTensor& tensor, size_t around) {
  const auto extents = Extents(nest, around);
  double elements = 1;
  for (const NestAxis& axis : tensor.axes) elements *= Span(axis, extents);
  return elements * tensor.element_bytes;
}

double Footprint(const ReuseNest& nest, size_t around) {
  double bytes = 0;
  for (const NestTensor& tensor : nest.tensors) bytes += Footprint(nest, tensor, around);
  return bytes;
}

std::vector<double> FetchedBytes(const ReuseNest& nest, const NestCache& cache, CacheStart start) {
  std::vector<double> fetched(nest.tensors.size(), 0);
  double left = 1;  // of the whole: the share of sets for which no body so far fits
  for (size_t around = 0; around <= nest.loops.size() && left > 0; ++around) {
    const bool last = around == nest.loops.size();
    const double overflow = last ? 0 : Overflow(Footprint(nest, around), cache);
    const double share = std::max(0.0, left - overflow);
    left = std::min(left, overflow);
    if (share == 0) continue;
    for (size_t i = 0; i < fetched.size(); ++i)
      fetched[i] += share * Fetched(nest, nest.tensors[i], around, start);
  }
  return fetched;
}

ReuseNest SharedBy(ReuseNest nest, int threads) {
  double left = threads;
  for (size_t i = 0; i < nest.loops.size() && left > 1; ++i) {
    const double iterations = Iterations(nest, i);
    const double share = std::min(left, iterations);
    double& size = nest.sizes[static_cast<size_t>(nest.loops[i].dimension)];
    size = std::max(nest.loops[i].step, size / share);
    left /= share;
  }
  return nest;
}

}  // namespace dlroof
