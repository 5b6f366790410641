#include "counters/caches/level_model.h"

#include <algorithm>
#include <cmath>

#include "counters/counter_manager.h"
#include "counters/cpu/core_caches.h"

namespace dlroof::caches {
namespace {

// Returns the extent of each dimension inside the first `around` loops.
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

// [byte] fetched if the body of the first `fitting` loops is the largest that fits.
double Fetched(const ReuseNest& nest, const NestTensor& tensor, size_t fitting, CacheStart start) {
  if (fitting == 0) return start == CacheStart::kSameNestBefore ? 0 : Footprint(nest, tensor, 0);
  const auto moved_by = [&](size_t loop) {
    return Iterations(nest, loop) > 1 && Moves(tensor, nest.loops[loop].dimension);
  };
  // The innermost loop around the fitting body fetches the union of its iterations.
  double bytes = Footprint(nest, tensor, fitting - 1);
  bool stays = !moved_by(fitting - 1);
  for (size_t i = fitting - 1; i-- > 0;) {
    const bool moves = moved_by(i);
    stays = stays && !moves;
    if (stays) continue;
    // A last, smaller tile fetches less of a tensor that the loop moves, and all of others.
    const double iterations = Iterations(nest, i);
    bytes *= moves ? iterations : std::ceil(iterations - 1e-9);
    if (nest.loops[i].dimension == tensor.partial_in) bytes *= tensor.partial;
  }
  return stays && start == CacheStart::kSameNestBefore ? 0 : bytes;
}

// [byte] that the loop around the body of the first `around` loops replaces in each iteration.
double Replaced(const ReuseNest& nest, size_t around) {
  while (around > 0 && Iterations(nest, around - 1) <= 1) --around;
  if (around == 0) return 0;
  double bytes = 0;
  for (const NestTensor& tensor : nest.tensors)
    if (Moves(tensor, nest.loops[around - 1].dimension)) bytes += Footprint(nest, tensor, around);
  return bytes;
}

// Returns the share of the cache's sets that overflow in the body of the first `around` loops.
double Overflow(const ReuseNest& nest, size_t around, const NestCache& cache) {
  const double bytes = Footprint(nest, around);
  if (cache.ways == 0) return bytes > cache.bytes ? 1 : 0;
  const double way = 1.0 / cache.ways;
  const double used = (bytes + Replaced(nest, around) / 4) / cache.bytes;
  return std::clamp((used - (1 - way / 2)) / (1.5 * way), 0.0, 1.0);
}

// Adds the full iterations of loop `apart` and its last one for the tensors that it moves.
std::vector<double> FetchedApart(ReuseNest nest, size_t apart, const NestCache& cache,
                                 CacheStart start) {
  NestLoop& loop = nest.loops[apart];
  loop.last_apart = false;
  const auto dimension = static_cast<size_t>(loop.dimension);
  const double size = nest.sizes[dimension], full = std::floor(size / loop.step) * loop.step;
  auto fetched = FetchedBytes(nest, cache, start);
  if (full == 0 || full == size) return fetched;
  nest.sizes[dimension] = full;
  const auto of_full = FetchedBytes(nest, cache, start);
  nest.sizes[dimension] = size - full;
  const auto of_last = FetchedBytes(nest, cache, start);
  for (size_t i = 0; i < fetched.size(); ++i)
    if (Moves(nest.tensors[i], loop.dimension)) fetched[i] = of_full[i] + of_last[i];
  return fetched;
}

// [byte] fetched by one thread, given which tensors were in the caches before.
double Fetched(const ReuseNest& nest, const NestCache& cache, bool all_stay,
               const StartOfCall& start) {
  const auto cold = FetchedBytes(nest, cache, CacheStart::kEmpty);
  const auto warm = FetchedBytes(nest, cache, CacheStart::kSameNestBefore);
  double bytes = 0;
  for (size_t i = 0; i < nest.tensors.size(); ++i) {
    const bool weights = nest.tensors[i].name == "weights";
    const bool cached = weights ? start.weights_cached : start.others_cached;
    bytes += cached && all_stay ? warm[i] : cold[i];
  }
  return bytes;
}

double FetchedByAll(const LevelModel& model, const NestCache& cache, int threads,
                    const StartOfCall& start) {
  std::vector<ReuseNest> shares;
  double footprint = 0;
  for (const ReuseNest& nest : model.nests) {
    shares.push_back(SharedBy(nest, threads));
    footprint += Footprint(shares.back(), 0);
  }
  // With several nests, all others run between two executions of one.
  const bool all_stay = shares.size() == 1 || footprint <= cache.bytes;
  double bytes = 0;
  for (const ReuseNest& nest : shares) bytes += Fetched(nest, cache, all_stay, start);
  return bytes * threads;
}

Counted Model(const CountRequest& request) {
  Counted counted;
  if (request.model) counted.work = request.model(counted.how);
  return counted;
}

[[maybe_unused]] const bool model_source_registered =
    RegisterCounterSource({"model", "cpu", Provenance::kModelled, {}, Model}) &&
    RegisterCounterSource({"model", "gpu", Provenance::kModelled, {}, Model});

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
  for (size_t i = 0; i < nest.loops.size(); ++i)
    if (nest.loops[i].last_apart) return FetchedApart(nest, i, cache, start);
  std::vector<double> fetched(nest.tensors.size(), 0);
  double left = 1;  // share of sets into which no body so far fits
  for (size_t around = 0; around <= nest.loops.size() && left > 0; ++around) {
    const bool last = around == nest.loops.size();
    const double overflow = last ? 0 : Overflow(nest, around, cache);
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

CacheShares SharesPerThread(const cpu::Topology& topology, const std::vector<int>& cpus) {
  CacheShares shares;
  for (const Level level : {Level::kL1, Level::kL2, Level::kL3})
    if (const auto share = cpu::ShareOf(topology, level, cpus))
      shares[level] = {share->bytes / share->sharers,
                       cpu::CacheWays(level, cpus.front()).value_or(0)};
  return shares;
}

std::map<Level, double> LevelBytes(const LevelModel& model, const CacheShares& shares, int threads,
                                   const StartOfCall& start) {
  std::map<Level, double> bytes;
  if (model.nests.empty()) return bytes;
  bytes[Level::kL1] = model.core_bytes;
  double nearer = model.core_bytes;
  for (const auto& [cache, behind] :
       {std::pair{Level::kL1, Level::kL2}, std::pair{Level::kL2, Level::kL3}}) {
    const auto share = shares.find(cache);
    if (share == shares.end()) break;
    // A level cannot receive more bytes than the level in front of it requests.
    nearer = std::min(nearer, FetchedByAll(model, share->second, threads, start));
    bytes[behind] = nearer;
  }
  return bytes;
}

}  // namespace dlroof::caches
