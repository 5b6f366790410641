#include "counters/energy/package_cpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

#include "counters/base/error.h"

namespace dlroof {
namespace {

// 12 of "cpu12"; absent for other names ("cpufreq").
std::optional<int> CpuNumber(std::string_view name) {
  if (!name.starts_with("cpu")) return std::nullopt;
  name.remove_prefix(3);
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::size_t CountAllowed(const std::vector<int>& cpus, const std::vector<int>& allowed) {
  return static_cast<std::size_t>(std::ranges::count_if(
      cpus, [&](int cpu) { return std::ranges::binary_search(allowed, cpu); }));
}

}  // namespace

std::map<int, std::vector<int>> CpusOfPackages(const std::filesystem::path& sysfs) {
  std::map<int, std::vector<int>> packages;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator(sysfs / "devices/system/cpu", none)) {
    const auto cpu = CpuNumber(entry.path().filename().string());
    std::ifstream file(entry.path() / "topology/physical_package_id");
    if (int package = 0; cpu && file >> package) packages[package].push_back(*cpu);
  }
  for (auto& [package, cpus] : packages) std::ranges::sort(cpus);
  return packages;
}

PackageUse UseOf(const std::vector<int>& cpus, const std::vector<int>& allowed) {
  const auto usable = CountAllowed(cpus, allowed);
  if (usable == 0) return PackageUse::kNotOurs;
  return usable == cpus.size() ? PackageUse::kOurs : PackageUse::kShared;
}

std::string SharedPackageText(int package, const std::vector<int>& cpus,
                              const std::vector<int>& allowed) {
  return fmt::format(
      "this process may use {} of the {} CPUs of package {}, and the counter has the energy of "
      "all: "
      "give it whole packages",
      CountAllowed(cpus, allowed), cpus.size(), package);
}

bool OwnsPackage(const std::map<int, std::vector<int>>& packages, int package,
                 const EnergyPlace& place) {
  const auto found = packages.find(package);
  if (found == packages.end())
    throw BadInput("the CPUs of package {} are not known ({}): who uses them is not, either",
                   package, (place.sysfs / "devices/system/cpu").string());
  const auto use = UseOf(found->second, place.allowed_cpus);
  if (use == PackageUse::kShared)
    throw BadInput(SharedPackageText(package, found->second, place.allowed_cpus));
  return use == PackageUse::kOurs;
}

}  // namespace dlroof
