#include "counters/cupti/self_test.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace dlroof::cupti {
namespace {

std::map<std::string, double> Flat(const Work& work) {
  std::map<std::string, double> flat(work.flops.begin(), work.flops.end());
  for (const auto& [level, bytes] : work.bytes) flat[std::string(Key(level))] = bytes;
  if (work.launches) flat["launches"] = *work.launches;
  return flat;
}

void Erase(Work& work, const std::string& quantity) {
  work.flops.erase(quantity);
  if (const auto level = LevelFromKey(quantity)) work.bytes.erase(*level);
  if (quantity == "launches") work.launches.reset();
}

}  // namespace

double CounterTolerance(const std::string& quantity) {
  if (quantity == Key(Level::kDram)) return 0.05;
  return LevelFromKey(quantity) ? 0.10 : 0.01;
}

void JudgeCounters(const KnownCall& known, const Work& counted, JudgedCounters& judged) {
  const auto found = Flat(counted);
  for (const auto& [quantity, expected] : Flat(known.work)) {
    const auto got = found.find(quantity);
    if (got == found.end() || expected <= 0) continue;
    const double error = got->second / expected - 1;
    const bool ok = std::abs(error) <= CounterTolerance(quantity);
    auto& row = judged[quantity];
    if (row.grade == CounterGrade::kFailed) continue;
    if (ok && row.grade == CounterGrade::kProved) continue;
    row.grade = ok ? CounterGrade::kProved : CounterGrade::kFailed;
    row.evidence = fmt::format("{}: counted {:.4g} of what it does", known.name, 1 + error);
  }
}

void DropFailed(const JudgedCounters& judged, Work& work, std::vector<std::string>& doubts) {
  std::vector<std::string> untested;
  for (const auto& [quantity, value] : Flat(work)) {
    const auto row = judged.find(quantity);
    const auto grade = row == judged.end() ? CounterGrade::kUntested : row->second.grade;
    if (grade == CounterGrade::kFailed) {
      doubts.push_back(
          fmt::format("{} is not used, its counter failed on a kernel of known work ({})", quantity,
                      row->second.evidence));
      Erase(work, quantity);
    } else if (grade == CounterGrade::kUntested && value > 0) {
      untested.push_back(quantity);
    }
  }
  if (!untested.empty())
    doubts.push_back(
        fmt::format("not tested on a kernel of known work: {}", fmt::join(untested, ", ")));
}

KnownL2Walk WalkL2(std::size_t l2_bytes, std::size_t block_bytes) {
  constexpr std::size_t kPart = 8, kStrides = 17;  // twice the loads in flight, and one
  const std::size_t blocks = std::max<std::size_t>(1, l2_bytes / kPart / block_bytes / kStrides);
  return {static_cast<int>(blocks), blocks * kStrides * block_bytes};
}

}  // namespace dlroof::cupti
