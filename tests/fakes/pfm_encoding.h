// Registers that libpfm4 programs for an event: a second opinion on counters/perf/tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dlroof::fakes {

// Returns whether the tests were built with a libpfm4 that has the tables of x86 CPUs.
bool HasPfm();

// Returns what an event in libpfm4's spelling ("skx::L2_TRANS:L2_WB"; bits of one umask may be
// joined, "p::E:A:B") asks of its counter's register: event, umask, edge, inversion, threshold;
// without the bits that say who is counted and that the counter runs. CPUs that are not there have
// theirs too. Absent where libpfm4 does not know the PMU, the event or the umask, and without
// libpfm4. Throws std::runtime_error where it refuses for another reason, or where the event needs
// a second register.
std::optional<std::uint64_t> PfmEncoding(const std::string& event);

}  // namespace dlroof::fakes
