// Names of a benchmark with another size, or for another number of threads.
#pragma once

#include <cstdint>
#include <string>

namespace dlroof::workload {

// Returns the name with another value of a parameter of its op ("batch"); a square image or kernel
// stays square, padding stays. Throws BadInput: a bad name, no such parameter (listing those there
// are), a problem that cannot be.
std::string WithSize(const std::string& name, const std::string& parameter, std::int64_t value);

// Returns the value of a parameter of its op; 1 where the name leaves it out. Throws BadInput: a
// bad name, no such parameter.
std::int64_t SizeOf(const std::string& name, const std::string& parameter);

// Returns the name with the option threadsN. Throws BadInput: a bad name, a benchmark of another
// device than the CPU, a name that has the option.
std::string WithThreads(const std::string& name, int threads);

}  // namespace dlroof::workload
