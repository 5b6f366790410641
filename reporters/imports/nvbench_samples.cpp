// nvbench's files of samples, beside its JSON.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "counters/base/files.h"
#include "reporters/imports/tool_tables.h"

namespace dlroof::imports {
namespace {

constexpr std::uintmax_t kMaxSampleBytes = std::uintmax_t{4} * 100'000'000;

// Returns the path of a file that the JSON file names, by nvbench's rules: beside the JSON file, or
// beside its folder, or in the current one.
std::optional<std::string> SampleFile(const std::string& name, const std::string& where) {
  namespace fs = std::filesystem;
  const auto folder = fs::path(where).parent_path();
  for (const auto& path :
       {folder / name, folder.parent_path() / name, fs::path(name),
        folder / fs::path(name).parent_path().filename() / fs::path(name).filename()}) {
    std::error_code none;
    if (fs::is_regular_file(path, none)) return path.string();
  }
  return std::nullopt;
}

}  // namespace

std::vector<float> SamplesIn(const std::string& name, const std::string& where,
                             std::optional<double> size, double mean) {
  constexpr double kMaxDifference = 1e-3;  // of means: samples are float32
  const auto path = SampleFile(name, where);
  if (!path) return {};
  const auto bytes = ReadFile(*path, "nvbench's samples", kMaxSampleBytes);
  std::vector<float> samples(bytes.size() / sizeof(float));
  std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(float));
  const auto count = static_cast<double>(samples.size());
  const double own = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  const bool known = size == count && std::ranges::all_of(samples, IsRunTime) &&
                     std::abs(own / mean - 1) <= kMaxDifference;
  return known ? samples : std::vector<float>();
}

}  // namespace dlroof::imports
