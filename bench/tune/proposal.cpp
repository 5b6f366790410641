#include "bench/tune/proposal.h"

#include <fmt/format.h>

#include "baselines/tune/tune.h"
#include "bench/tune/space.h"
#include "bench/tune/tuning_report.h"

namespace dlroof {

std::optional<Proposal> ProposalOf(const Ledger& ledger, int threads) {
  const auto* largest = ledger.Largest();
  if (largest == nullptr || threads < 2) return std::nullopt;
  switch (largest->kind) {
    case PartKind::kForkJoin:
    case PartKind::kImbalance:
    case PartKind::kSerial:
    case PartKind::kSharing:
    case PartKind::kStolen:
      return Proposal{{{kThreadsCoordinate, "1"}}, "on 1 thread"};
    default:
      return std::nullopt;
  }
}

std::string TryProposal(const Proposal& proposal, const BenchTrialRequest& request,
                        double budget_seconds) {
  Tuning tuning{.plan = {.subject = ToText(request.name), .budget_seconds = budget_seconds},
                .best = proposal.setting};
  std::string why;
  const auto effect = Verify(tuning, {BenchTrials(request)}, why);
  if (!effect) return fmt::format("tried {}: no answer, {}", proposal.words, why);
  return fmt::format("tried {}, by turns: {}{}", proposal.words, EffectText(*effect),
                     effect->confirmed ? "" : ", no sure gain");
}

}  // namespace dlroof
