#include "bench/library/identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <vector>

namespace dlroof::library {
namespace {

// Google Benchmark does not tell the number of arguments: State::range(i) must not be called beyond
// them. An explicit instantiation may name a private member ([temp.spec] 6).
using Ranges = std::vector<std::int64_t> benchmark::State::*;
template <Ranges kMember>
struct Opened {
  friend Ranges RangesMember() { return kMember; }
};
Ranges RangesMember();
template struct Opened<&benchmark::State::range_>;

template <class AnyState>
std::optional<std::string> NameInAny(const AnyState& state) {
  if constexpr (requires { state.name(); })
    return std::string(state.name());
  else
    return std::nullopt;
}

}  // namespace

std::optional<std::string> NameIn(const benchmark::State& state) { return NameInAny(state); }

std::string PlaceOf(const benchmark::State& state, const void* site) {
  return fmt::format("{}/{}/threads:{}", site, fmt::join(state.*RangesMember(), "/"),
                     state.threads());
}

}  // namespace dlroof::library
