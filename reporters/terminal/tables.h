// A run file as text for a terminal: a row per benchmark, findings, ceilings.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>

namespace dlroof {

// Rows of every record with a time (in the file's order), those without and their reasons beneath,
// then remarks, models and the ceilings. `width` [columns] of the terminal; names are shortened in
// the middle to fit, 0 leaves them whole (output to a file). Control characters of the file are not
// passed on to the terminal.
void WriteTables(const nlohmann::json& run_file, int width, std::ostream& out);

// The run file's "models": a row per model, then the layers of each that are worth a look first.
// Nothing where there is none. `width` as above.
void WriteModels(const nlohmann::json& models, int width, std::ostream& out);

}  // namespace dlroof
