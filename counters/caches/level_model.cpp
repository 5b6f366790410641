#include "counters/caches/level_model.h"

#include <algorithm>

#include "counters/cpu/core_caches.h"

namespace dlroof::caches {
namespace {

// [byte] fetched by one thread, each tensor as the caches held it.
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
  // Between two calls of one of several nests all the others run.
  const bool all_stay = shares.size() == 1 || footprint <= cache.bytes;
  double bytes = 0;
  for (const ReuseNest& nest : shares) bytes += Fetched(nest, cache, all_stay, start);
  return bytes * threads;
}

}  // namespace

CacheShares SharesPerThread(const cpu::Topology& topology, const std::vector<int>& cpus) {
  CacheShares shares;
  for (const Level level : {Level::kL1, Level::kL2, Level::kL3})
    if (const auto share = cpu::ShareOf(topology, level, cpus))
      shares[level] = {share->bytes / share->sharers, cpu::CacheWays(level, cpus.front())};
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
    // No level sees more than the one in front of it lets through, lines and all.
    nearer = std::min(nearer, FetchedByAll(model, share->second, threads, start));
    bytes[behind] = nearer;
  }
  return bytes;
}

}  // namespace dlroof::caches
