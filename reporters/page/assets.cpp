#include "reporters/page/assets.h"

#include <algorithm>

namespace dlroof {

// Made by room.cmake.
const std::vector<EmbeddedFile>& PageHtmlFiles();
const std::vector<EmbeddedFile>& PageStyleFiles();
const std::vector<EmbeddedFile>& PageScriptFiles();
const std::vector<EmbeddedFile>& PlotlyFiles();

EmbeddedFile PageHtml() { return PageHtmlFiles().at(0); }
EmbeddedFile PageStyle() { return PageStyleFiles().at(0); }
std::vector<EmbeddedFile> PageScripts() { return InRunningOrder(PageScriptFiles()); }
EmbeddedFile PlotlyScript() { return PlotlyFiles().empty() ? EmbeddedFile{} : PlotlyFiles()[0]; }

std::vector<EmbeddedFile> InRunningOrder(std::vector<EmbeddedFile> scripts) {
  std::stable_partition(scripts.begin(), scripts.end(),
                        [](const auto& script) { return script.name == "format"; });
  std::stable_partition(scripts.begin(), scripts.end(),
                        [](const auto& script) { return script.name != "main"; });
  return scripts;
}

}  // namespace dlroof
