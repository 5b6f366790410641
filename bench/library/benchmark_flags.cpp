#include "bench/library/benchmark_flags.h"

#include <cctype>
#include <cstdlib>
#include <utility>

#include "bench/runner/bench_flags.h"

namespace dlroof::library {
namespace {

struct Remembered {
  std::string program;
  std::vector<std::string> flags;
};

Remembered& Memory() {
  static Remembered memory;
  return memory;
}

// Google Benchmark stores the address of the program's name.
void SetFlags(std::vector<std::string> flags) {
  std::vector<char*> pointers = {Memory().program.data()};
  for (auto& flag : flags) pointers.push_back(flag.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  benchmark::Initialize(&count, pointers.data());
}

}  // namespace

void RememberBenchmarkFlags(const std::string& program, const std::vector<std::string>& args) {
  // As they are without a flag and a variable of the environment.
  Memory() = {program, {}};
  const std::pair<const char*, const char*> kChanged[] = {
      {"out", ""}, {"repetitions", "1"}, {"list_tests", "false"}, {"min_time", "0.5s"}};
  for (const auto& [name, otherwise] : kChanged) {
    std::string variable = std::string("BENCHMARK_") + name;
    for (auto& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const char* const set = std::getenv(variable.c_str());
    const std::string flag = std::string("--benchmark_") + name;
    std::string whole = flag + "=" + (set == nullptr ? otherwise : set);
    for (const auto& arg : args)
      if (arg == flag || arg.starts_with(flag + "=")) whole = arg;
    Memory().flags.push_back(std::move(whole));
  }
  runner::AdaptMinTime(Memory().flags);
}

OtherBenchmarkFlags::OtherBenchmarkFlags(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "--benchmark_out=");
  runner::AdaptMinTime(flags);
  SetFlags(std::move(flags));
}

OtherBenchmarkFlags::~OtherBenchmarkFlags() { SetFlags(Memory().flags); }

}  // namespace dlroof::library
