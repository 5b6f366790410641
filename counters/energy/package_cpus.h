// Packages of CPUs, as the kernel numbers them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "counters/energy/energy_source.h"

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

// Returns whether this process has the package to itself; false: it may use no CPU of it. Throws
// BadInput: it shares the package, or the kernel does not tell its CPUs.
bool OwnsPackage(const std::map<int, std::vector<int>>& packages, int package,
                 const EnergyPlace& place);

}  // namespace dlroof
