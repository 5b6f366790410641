// The kernel's tree of small files, one line each, which are read anew each time; and the packages
// of CPUs, as it numbers them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/energy/energy_source.h"

namespace dlroof::energy {

// Returns the file's text without spaces at its end, of at most 127 bytes; `error` is errno, 0
// where it could be read.
std::string ReadKernelFile(const std::filesystem::path& path, int& error);

// [J] of a file that has a whole number of microjoules. Throws BadInput: it cannot be read, where
// that is not allowed with the `cure`; or it has another text.
double ReadMicrojoules(const std::filesystem::path& path, const std::string& cure);

// A counter in such a file. Throws as ReadMicrojoules does.
EnergyDomain MicrojouleDomain(const std::string& name, bool counted,
                              const std::filesystem::path& path, const std::string& cure);

// Returns 12 of "cpu12" with prefix "cpu"; absent: the name is not the prefix and a number.
std::optional<int> NumberBehind(std::string_view prefix, std::string_view name);

// The CPUs of each package that are online, from SYSFS/devices/system/cpu; empty: the kernel does
// not tell.
std::map<int, std::vector<int>> CpusOfPackages(const std::filesystem::path& sysfs);

// Returns whether this process has the package to itself; false: it may use no CPU of it. Throws
// BadInput: it shares the package, or the kernel does not tell its CPUs.
bool OwnsPackage(const std::map<int, std::vector<int>>& packages, int package,
                 const EnergyPlace& place);

}  // namespace dlroof::energy
