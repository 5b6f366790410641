#include "bench/run/simulated_call.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/run/counting.h"
#include "bench/run/simulation_marks.h"
#include "bench/workload/workload.h"

namespace dlroof::runner {
namespace {

struct Asked {
  std::string name;
  unsigned seed = 1;
};

Asked Read(const std::vector<std::string>& args) {
  constexpr std::string_view kSeed = "--dlroof_seed=";
  Asked asked;
  for (size_t i = 1; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    if (arg.starts_with(kSimulatedCallFlag)) {
      asked.name = arg.substr(std::string_view(kSimulatedCallFlag).size());
      continue;
    }
    const auto number = arg.starts_with(kSeed) ? arg.substr(kSeed.size()) : std::string_view();
    const auto* const end = number.data() + number.size();
    if (number.empty() || std::from_chars(number.data(), end, asked.seed).ptr != end)
      throw BadInput("{}: beside the call to simulate only --dlroof_seed=N", arg);
  }
  return asked;
}

// Brings a tensor into the simulated caches as a program that has just made it would.
void Touch(const workload::MemoryRegion& region) {
  const auto* bytes = static_cast<const volatile std::uint64_t*>(region.begin);
  for (size_t i = 0; i < region.bytes / sizeof(std::uint64_t); ++i) static_cast<void>(bytes[i]);
}

// A cold call finds none of its own tensors in a cache, and everything else that calls use: the
// library's descriptors, scratchpad and tables. So a twin runs before it, the same call on tensors
// of its own; its lines are the least recently used ones and leave first.
void BringCachesInto(workload::CacheState state, const workload::PreparedCall& call, const workload::PreparedCall& twin) {
  (state == workload::CacheState::kWarm ? call : twin).run();
  if (state != workload::CacheState::kColdWeights) return;
  for (const auto& region : call.memory)
    if (!region.weights) Touch(region);
}

}  // namespace

bool AsksForSimulatedCall(const std::vector<std::string>& args) {
  return std::any_of(args.begin(), args.end(),
                     [](const auto& arg) { return arg.starts_with(kSimulatedCallFlag); });
}

int RunSimulatedCall(const std::vector<std::string>& args) {
  if (!CanMarkSimulation())
    throw BadInput("this build was made without valgrind's headers, so it cannot be simulated");
  const Asked asked = Read(args);
  const workload::Workload workload = workload::MakeWorkload(asked.name);
  workload::RunSettings settings;
  settings.seed = asked.seed;
  const workload::PreparedCall call = workload.prepare(settings);
  const workload::PreparedCall twin =
      workload.cache == workload::CacheState::kWarm ? workload::PreparedCall() : workload.prepare(settings);
  StartSimulation();
  BringCachesInto(workload.cache, call, twin);
  ForgetCounts();
  call.run();
  KeepCounts();
  nlohmann::json answer = {
      {"algorithm", call.algorithm}, {"isa", call.isa}, {"loops", call.levels.how}};
  double tensor_bytes = 0;
  for (const auto& region : call.memory) tensor_bytes += static_cast<double>(region.bytes);
  answer["tensor_bytes"] = tensor_bytes;
  for (const auto& levels : {ModelledLevels(call, workload.cache, 1, {}), call.modelled.bytes})
    for (const auto& [level, bytes] : levels) answer["modelled"][std::string(Key(level))] = bytes;
  std::cout << answer.dump() << '\n';
  return 0;
}

}  // namespace dlroof::runner
