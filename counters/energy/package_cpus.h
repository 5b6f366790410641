// Packages of CPUs, as the kernel numbers them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace dlroof {

// The CPUs of each package that are online, from SYSFS/devices/system/cpu; empty: the kernel does
// not tell.
std::map<int, std::vector<int>> CpusOfPackages(const std::filesystem::path& sysfs);

enum class PackageUse { kOurs, kShared, kNotOurs };
// Returns whether all, some or none of `cpus` are in `allowed`, which ascends.
PackageUse UseOf(const std::vector<int>& cpus, const std::vector<int>& allowed);

// "this process may use 2 of the 64 CPUs of package 0, and the energy is that of all"
std::string SharedPackageText(int package, const std::vector<int>& cpus,
                              const std::vector<int>& allowed);

}  // namespace dlroof
