#include "bench/run/benchmark_filter.h"

#include <regex.h>

namespace dlroof {

bool KeptByFilter(const std::string& filter, const std::string& name) {
  if (filter.empty() || filter == "all") return true;
  const bool negative = filter.front() == '-';
  regex_t expression;
  if (regcomp(&expression, filter.c_str() + (negative ? 1 : 0), REG_EXTENDED | REG_NOSUB) != 0)
    return true;
  const bool found = regexec(&expression, name.c_str(), 0, nullptr, 0) == 0;
  regfree(&expression);
  return found != negative;
}

}  // namespace dlroof
