#include "counters/energy/kernel_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string_view>

#include "counters/base/error.h"
#include "counters/base/process.h"

namespace dlroof {

std::string ReadKernelFile(const std::filesystem::path& path, int& error) {
  std::array<char, 127> text{};
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto got = file.get() < 0 ? -1 : read(file.get(), text.data(), text.size());
  error = got < 0 ? errno : 0;
  std::string_view line(text.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.remove_suffix(1);
  return std::string(line);
}

double ReadMicrojoules(const std::filesystem::path& path, const std::string& cure) {
  constexpr double kJoulesPerMicrojoule = 1e-6;
  int error = 0;
  const auto text = ReadKernelFile(path, error);
  if (error == EACCES || error == EPERM) throw BadInput("{}: {}", path.string(), cure);
  if (error != 0) throw BadInput("{}: {}", path.string(), std::strerror(error));
  std::uint64_t microjoules = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), microjoules);
  if (wrong != std::errc() || end != text.data() + text.size() || text.empty())
    throw BadInput("{}: '{}' is not a number of microjoules", path.string(), text);
  return kJoulesPerMicrojoule * static_cast<double>(microjoules);
}

std::vector<int> CpuList(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream in(text);
  for (int first = 0; in >> first;) {
    int last = first;
    if (in.peek() == '-') in.ignore(), in >> last;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (in.peek() == ',') in.ignore();
  }
  return cpus;
}

}  // namespace dlroof
