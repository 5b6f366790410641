// Trials of settings of a benchmark, in interleaved processes of dlroof_bench.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/settings/tuning.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/process.h"
#include "reporters/roofline/breakdown.h"

namespace dlroof::tune {

struct BenchTrialRequest {
  std::string program;           // dlroof_bench
  workload::BenchmarkName name;  // under the default setting
  double timeout_seconds = 60;   // [s] for each answer of a process
};

// Returns the function that measures a block: each setting in a new process, one process at a time;
// on a GPU all settings in one process.
// The result of a failed process has the reason. After a noisy block the function waits up to 2 s.
settings::MeasureBlock BenchTrials(const BenchTrialRequest& request);

struct Proposal {
  settings::Setting setting;
  std::string text;  // in messages: "on 1 thread"
};

// Returns the setting that may reduce the breakdown's largest component. Returns nothing if no
// setting can reduce it, even if another batch size or shape might.
std::optional<Proposal> ProposalOf(const roofline::Breakdown& breakdown, int threads);

// Returns the other ways to compute the GPU benchmark `name` that its operator lists: the options
// that its name may have, and its name without one of them.
std::vector<Proposal> GpuProposals(const workload::BenchmarkName& name);

// Measures the default and the proposals in one process. Returns a sentence for each proposal: its
// time on the device beside the default's, or why it has no time. Returns nothing after an
// interrupt.
std::vector<std::string> TryOnGpu(const std::vector<Proposal>& proposals,
                                  const BenchTrialRequest& request);

// Returns the sentence of TryOnGpu for one proposal.
std::string ComparedText(const Proposal& proposal, const settings::TrialResult& before,
                         const settings::TrialResult& after);

// Measures the proposal and the default interleaved, for at most `budget_seconds` [s]. Returns a
// sentence with the ratio of their times, or with the reason why there is no ratio.
std::string TryProposal(const Proposal& proposal, const BenchTrialRequest& request,
                        double budget_seconds);

}  // namespace dlroof::tune
