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
Asset PlotlyScript();              // empty text when the program was built without plotly.js

}  // namespace dlroof
