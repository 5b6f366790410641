#include "ceilings/machine.h"

#include <stdexcept>

namespace dlroof {

const CeilingSet& AllThreads(const Machine& machine) {
  if (machine.by_threads.empty()) throw std::logic_error("a machine without ceilings");
  return machine.by_threads.rbegin()->second;
}

const CeilingSet* ForThreads(const Machine& machine, int threads) {
  const auto found = machine.by_threads.find(threads);
  return found == machine.by_threads.end() ? nullptr : &found->second;
}

}  // namespace dlroof
