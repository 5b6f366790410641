#include "bench/run/verified_call.h"

#include <fmt/format.h>

namespace dlroof {

std::string VerifiedHow(const PreparedCall& call) {
  const Verification found = call.verify();
  if (!found.ok)
    throw WrongResult(fmt::format("differs from the reference: error {:.3g}, allowed {:.3g} ({})",
                                  found.max_error, found.tolerance, found.how));
  return fmt::format("{}, error {:.2g} of {:.2g} allowed", found.how, found.max_error,
                     found.tolerance);
}

}  // namespace dlroof
