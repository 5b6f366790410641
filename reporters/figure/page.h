// Writes a run file as one self-contained, interactive HTML file (the page).
#pragma once

#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/files.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/trajectory.h"

namespace dlroof::figure {

EmbeddedFile PageHtml();  // template of a page, with {{NAME}} for each inserted text
EmbeddedFile PageStyle();
std::vector<EmbeddedFile> PageScripts();     // without plotly.js, in the order of execution
std::optional<EmbeddedFile> PlotlyScript();  // nullopt if built without plotly.js

// Sorts scripts into the order of execution: first format.js, which creates the object that the
// other scripts fill, last main.js, which uses all of them.
std::vector<EmbeddedFile> InRunningOrder(std::vector<EmbeddedFile> scripts);

// Returns the data of a page: the run's JSON plus "roofs", the coordinates of points and lines, and
// each record's binding classic point (index), FLOP/s and FLOP/byte (WorkRateOf). If `before` (an
// older run) is not null, an arrow leads from each benchmark's point in `before` to that in `run`.
nlohmann::json PageContent(const roofline::PlacedRun& run,
                           const roofline::PlacedRun* before = nullptr);

// Returns the member "trajectories" of a PageContent, which itself has only those along threads.
nlohmann::json TrajectoriesJson(const std::vector<roofline::Trajectory>& trajectories);

// Writes the page of a PageContent, to which the caller may have added "trajectories"
// (TrajectoriesJson) and "program" (document::ToJson). Its scripts only draw these numbers.
// Scripts, style and data are inline, and a Content-Security-Policy blocks all other scripts.
// Throws BadInput if the program was built without plotly.js.
void WritePage(const nlohmann::json& content, std::ostream& out);

// Writes the same page for a web site. Its scripts are separate files: "load.js", which loads the
// content, "roofline.js" and "plotly.js". `more_style` is added to the page's own style.
void WriteSitePage(std::string_view more_style, std::ostream& out);
std::string SitePolicy();                                    // the site page's CSP
std::string Join(const std::vector<EmbeddedFile>& scripts);  // all scripts in one text

// Writes `text` with each {{KEY}} replaced by KEY's value, which may contain "{{". Throws
// std::out_of_range for a key that is not in `values`.
void Fill(std::string_view text, const std::map<std::string_view, std::string>& values,
          std::ostream& out);

// Returns JSON safe in <script>: escapes <, >, & and what is not ASCII. Invalid UTF-8 becomes
// U+FFFD.
std::string ScriptSafeJson(const nlohmann::json& json);

// Converts a hash from hexadecimal to Base64, which a Content-Security-Policy requires.
std::string Base64OfHex(std::string_view hex);

}  // namespace dlroof::figure
