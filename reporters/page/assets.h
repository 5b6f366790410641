// The files a page is made of, linked into the program by assets.S.in (CMake lists them).
#pragma once

#include <string_view>
#include <vector>

namespace dlroof {

struct Asset {
  std::string_view text;
  std::string_view sha256;  // 64 hexadecimal digits, of the text
};

Asset PageHtml();  // with {{NAME}} for each piece
Asset PageStyle();
std::vector<Asset> PageScripts();  // ours, in the order in which they must run
// The dashboard: its index with {{NAME}} for each piece, what its style adds to the page's, what
// loads the roofline of a date, and the index's scripts, which follow the first of the page's.
Asset SiteHtml();
Asset SiteStyle();
Asset SiteLoader();
std::vector<Asset> SiteScripts();
Asset PlotlyScript();  // empty text when the program was built without plotly.js

}  // namespace dlroof
