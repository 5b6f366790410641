// The run file as it is written: records placed on their roofs.
#pragma once

#include <nlohmann/json.hpp>

#include "reporters/roofline/placed_run.h"

namespace dlroof::roofline {

// Each of a run's parts; an unknown quantity has no key.
nlohmann::json ToJson(const record::Record& written, const Placed& placed);
nlohmann::json ToJson(const ModelSummary& model);
nlohmann::json ToJson(const Census& census);
// Places the record on `machine`, which may be null.
nlohmann::json ToJson(const record::Record& record, const machine::Machine* machine, const PlaceView& view = {});

// Only what does not differ from repetition to repetition: no times, nothing derived.
nlohmann::json FactsToJson(const record::Record& record);

// Writes "context", "machines", "records", "models" where a counted suite was run and "census"
// where a kernel executed no FLOPs. A view that is not the usual one is in context.dlroof.view.
nlohmann::json ToJson(const PlacedRun& run);
// Places the run anew.
nlohmann::json ToJson(const record::RunFile& file, const PlaceView& view = {});
// The same to be stored for years, all measured facts in it but the proofs of single access mixes,
// none of which judges a record: their rates and whether they are proved stay, and the best one's
// proof stands at its level. The machines' numbers have kStoredDigits (written_number.h) and place
// the records; so have "classic", "time" and CPU times, run delays have kStoredDelayDigits, wall
// times all that they have. Members that ReadRunFile derives are left out: a machine's "flops",
// "bytes" and "launch_seconds" (those of the largest "by_threads"), a record's advice, remarks,
// time point (the complexity point times gap) and interval of FLOP/s (FLOPs over that of
// "seconds").
nlohmann::json ToStoredJson(const record::RunFile& file, const PlaceView& view = {});

}  // namespace dlroof::roofline
