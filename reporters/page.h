// The page: a run file as one self-contained, interactive HTML file.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace dlroof {

// `run_file` is a run file's JSON with its placements (design: "context", "machines", "records").
// The page draws the numbers of its records and computes none; roofs, ridges and error bars come
// from chart.h. It loads nothing: scripts, style and data are inside, and a Content-Security-Policy
// lets no other script run. Throws BadInput when the program was built without plotly.js, and when
// `run_file` is not an object. `before`, another run file or null: an arrow leads from each
// benchmark's point there to its point here.
void WritePage(const nlohmann::json& run_file, std::ostream& out,
               const nlohmann::json* before = nullptr);

// JSON that can stand inside <script>: no <, >, &, U+2028, U+2029; invalid UTF-8 is replaced by
// U+FFFD.
std::string ScriptSafeJson(const nlohmann::json& json);

// Base64 of a hash given in hexadecimal, as Content-Security-Policy wants it.
std::string Base64OfHex(std::string_view hex);

}  // namespace dlroof
