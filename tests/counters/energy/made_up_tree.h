// A tree of the kernel's files in a folder of the test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "counters/energy/energy_source.h"

namespace dlroof {

class MadeUpTree {
 public:
  MadeUpTree() { std::filesystem::create_directories(root_); }
  ~MadeUpTree() { std::filesystem::remove_all(root_); }
  MadeUpTree(const MadeUpTree&) = delete;
  MadeUpTree& operator=(const MadeUpTree&) = delete;

  const std::filesystem::path& root() const { return root_; }

  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  // CPUs `first` to `last` are of `package`.
  void Cpus(int package, int first, int last) const {
    for (int cpu = first; cpu <= last; ++cpu)
      Write("devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/physical_package_id",
            std::to_string(package));
  }
  void Zone(const std::string& zone, const std::string& name, long microjoules,
            long range = 262143328850) const {
    const auto folder = "class/powercap/" + zone;
    Write(folder + "/name", name);
    Write(folder + "/energy_uj", std::to_string(microjoules));
    Write(folder + "/max_energy_range_uj", std::to_string(range));
  }
  // Two packages of two CPUs; DRAM, a part that is in the package's count, and the platform.
  void TwoPackages() const {
    Cpus(0, 0, 1);
    Cpus(1, 2, 3);
    Zone("intel-rapl:0", "package-0", 5000000);
    Zone("intel-rapl:0:0", "core", 1000000);
    Zone("intel-rapl:0:1", "dram", 700000);
    Zone("intel-rapl:1", "package-1", 6000000);
    Zone("intel-rapl:1:0", "dram", 800000);
    Zone("intel-rapl:2", "psys", 20000000);
  }

 private:
  const std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("dlroof_sysfs_" + std::to_string(getpid()));
};

inline EnergyCounters Opened(const std::string& source, const MadeUpTree& tree,
                             const std::vector<int>& allowed) {
  for (const auto& row : AllEnergySources())
    if (row.name == source) return row.open({tree.root(), allowed});
  throw std::logic_error("no source " + source);
}

}  // namespace dlroof
