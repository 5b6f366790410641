// Tries the setting that the largest part of a ledger proposes.
#pragma once

#include <optional>
#include <string>

#include "baselines/tune/setting.h"
#include "bench/tune/bench_trial.h"
#include "reporters/ledger/ledger.h"

namespace dlroof {

struct Proposal {
  Setting setting;
  std::string words;  // "on 1 thread"
};

// Absent: the largest part proposes nothing that a setting could do (another batch, another shape).
std::optional<Proposal> ProposalOf(const Ledger& ledger, int threads);

// Measures the proposal against the default by turns, for at most so many seconds; returns a
// sentence with the ratio, or with why there is none.
std::string TryProposal(const Proposal& proposal, const BenchTrialRequest& request,
                        double budget_seconds);

}  // namespace dlroof
