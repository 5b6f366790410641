// The files that a page is made of.
//
// The page: a run file as one self-contained, interactive HTML file.
#pragma once

#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/files.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/trajectory/trajectory.h"

namespace dlroof::page {

EmbeddedFile PageHtml();  // with {{NAME}} for each piece
EmbeddedFile PageStyle();
std::vector<EmbeddedFile> PageScripts();  // our own, in running order
EmbeddedFile PlotlyScript();              // empty text: the program was built without plotly.js

// Returns scripts in running order: format.js makes the object that the others fill, and main.js
// draws with all of them. The others keep their order.
std::vector<EmbeddedFile> InRunningOrder(std::vector<EmbeddedFile> scripts);

// Writes the page of a run. The page draws its numbers and computes none; roofs, ridges and error
// bars come from chart.h. It loads nothing: scripts, style and data are inside, and a
// Content-Security-Policy lets no other script run. An arrow leads from each benchmark's point in
// `before`, which may be null, to its point here. Throws BadInput where the program was built
// without plotly.js.
void WritePage(const roofline::PlacedRun& run, std::ostream& out,
               const roofline::PlacedRun* before = nullptr);

// Returns what the page shows of a run: the JSON of placed_json.h with "roofs", geometry and the
// index of the roof that binds; with `before` as above.
nlohmann::json PageContent(const roofline::PlacedRun& run,
                           const roofline::PlacedRun* before = nullptr);

// Returns "trajectories" of a page's content, each with its sentence. PageContent has those along
// the threads.
nlohmann::json TrajectoriesJson(const std::vector<trajectory::Trajectory>& trajectories);

// Writes the page around a content that PageContent made.
void WritePage(const nlohmann::json& content, std::ostream& out);

// The same page for a site: its scripts are files beside it ("load.js", which brings the content,
// "roofline.js", "plotly.js"). `more_style` follows the page's own style.
void WriteSitePage(std::string_view more_style, std::ostream& out);
std::string SitePolicy();  // Content-Security-Policy of a site's pages
std::string Join(const std::vector<EmbeddedFile>& scripts);  // one after the other

// Writes `text` with each {{key}} replaced; a key that `values` lacks throws std::out_of_range. One
// pass: what is inserted is never looked at again.
void Fill(std::string_view text, const std::map<std::string_view, std::string>& values,
          std::ostream& out);

// JSON that can stand inside <script>: no <, >, &, U+2028, U+2029; invalid UTF-8 is replaced by
// U+FFFD.
std::string ScriptSafeJson(const nlohmann::json& json);

// Base64 of a hash given in hexadecimal, as Content-Security-Policy wants it.
std::string Base64OfHex(std::string_view hex);

}  // namespace dlroof::page
