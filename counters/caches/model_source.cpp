// The counter source "model": bytes by cache level from a model of the call, where its benchmark
// brings one.
#include "counters/counter_source.h"

namespace dlroof::caches {
namespace {

Counted Model(const CountRequest& request) {
  Counted counted;
  if (request.model) counted.work = request.model(counted.how);
  return counted;
}

[[maybe_unused]] const bool model_source_registered =
    RegisterCounterSource({"model", "cpu", Provenance::kModelled, {}, Model}) &&
    RegisterCounterSource({"model", "gpu", Provenance::kModelled, {}, Model});

}  // namespace
}  // namespace dlroof::caches
