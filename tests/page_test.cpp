#include "reporters/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "counters/error.h"
#include "reporters/page/assets.h"

namespace dlroof {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json SmallRun() { return json::parse(std::ifstream(DLROOF_TEST_DATA "/run_small.json")); }

#define NEED_PLOTLY() \
  if (PlotlyScript().text.empty()) GTEST_SKIP() << "built without plotly.js"

std::string Page(const json& run_file) {
  std::ostringstream out;
  WritePage(run_file, out);
  return out.str();
}

std::string Content(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="content">)";
  const auto start = page.find(open) + open.size();
  return page.substr(start, page.find("</script>", start) - start);
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ScriptSafeJson, HoldsNothingThatHtmlWouldRead) {
  const json value = {{"</script><!--", "a & b \xE2\x80\xA8 \xE2\x80\xA9 < >"}};
  const auto text = ScriptSafeJson(value);
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xA8")));
  EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xA9")));
  EXPECT_EQ(json::parse(text), value) << "and still says the same";
}

TEST(ScriptSafeJson, ReplacesInvalidUtf8) {
  EXPECT_EQ(ScriptSafeJson("a\xff"), "\"a\xEF\xBF\xBD\"");
}

TEST(Base64OfHex, AsInRfc4648) {
  // The RFC's "f", "fo", "foo"; and the SHA-256 of nothing.
  EXPECT_EQ(Base64OfHex("66"), "Zg==");
  EXPECT_EQ(Base64OfHex("666f"), "Zm8=");
  EXPECT_EQ(Base64OfHex("666F6F"), "Zm9v");
  EXPECT_EQ(Base64OfHex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

TEST(WritePage, WithoutPlotlyItIsRefused) {
  if (!PlotlyScript().text.empty()) GTEST_SKIP() << "built with plotly.js";
  EXPECT_THROW(Page(SmallRun()), BadInput);
}

TEST(WritePage, RefusesWhatIsNoRunFile) { EXPECT_THROW(Page(json::array()), BadInput); }

TEST(WritePage, LabelsOfTheFileAreOnlyData) {
  NEED_PLOTLY();
  const auto page = Page(SmallRun());
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  const auto scripts = static_cast<int>(PageScripts().size()) + 2;  // plotly and the data
  EXPECT_EQ(Count(page, "</script>"), scripts);
  EXPECT_EQ(json::parse(Content(page))["records"][7]["reason"], SmallRun()["records"][7]["reason"]);
}

TEST(WritePage, ShowsTheNumbersOfTheFileAsTheyAre) {
  NEED_PLOTLY();
  auto run = SmallRun();
  auto content = json::parse(Content(Page(run)));
  for (auto& record : content["records"])
    if (record.contains("classic"))
      for (auto& entry : record["classic"]) entry.erase("error_bar");
  EXPECT_EQ(content["records"], run["records"]);
  EXPECT_EQ(content["machines"], run["machines"]);
  EXPECT_FALSE(content.contains("benchmarks"));
}

TEST(WritePage, GeometryComesWithTheData) {
  NEED_PLOTLY();
  const auto content = json::parse(Content(Page(SmallRun())));
  EXPECT_EQ(content["main_roofs"], 0);
  EXPECT_EQ(content["roofs"][0]["level"], "dram");
  EXPECT_EQ(content["roofs"][0]["used"], json({"bf16.matrix", "fp32.vector", "int8.matrix"}));
  EXPECT_DOUBLE_EQ(content["roofs"][0]["bytes"][3]["ridges"]["fp32.vector"].get<double>(), 10);
  EXPECT_FALSE(content["records"][4]["classic"][0].contains("error_bar"));
  EXPECT_TRUE(content["records"][0]["classic"][0].contains("error_bar"));
}

TEST(WritePage, LoadsNothing) {
  NEED_PLOTLY();
  std::string own(PageHtml().text);
  own += PageStyle().text;
  for (const auto& script : PageScripts()) own += script.text;
  EXPECT_THAT(own, Not(HasSubstr("https:")));
  for (const char* loader :
       {" src=", " href=", "url(", "@import", "fetch(", "XMLHttpRequest", "innerHTML", "eval("})
    EXPECT_THAT(own, Not(HasSubstr(loader)));
  const auto page = Page(SmallRun());
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  for (const char* unfilled : {"{{policy", "{{style", "{{content", "{{scripts", "{{plotly"})
    EXPECT_THAT(page, Not(HasSubstr(unfilled)));
}

TEST(WritePage, TakesAFileWithoutAnything) {
  NEED_PLOTLY();
  EXPECT_THAT(Page(json::object()), HasSubstr("\"records\":[]"));
  const auto odd =
      json::parse(R"({"records": [1, null, {"classic": [3]}], "machines": [4], "context": 5})");
  EXPECT_THAT(Page(odd), HasSubstr("\"roofs\":[]"));
}

// The page after its scripts ran, and what the browser complained about.
struct Rendered {
  std::string document, console;
};

Rendered Render(const json& run_file) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("dlroof_page_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "page.html") << Page(run_file);
  const auto command =
      std::string(DLROOF_CHROMIUM) + " --headless=new --no-sandbox --disable-gpu --user-data-dir=" +
      (folder / "profile").string() +
      " --virtual-time-budget=20000 --enable-logging=stderr --v=0 --dump-dom file://" +
      (folder / "page.html").string() + " > " + (folder / "dom").string() + " 2> " +
      (folder / "log").string();
  EXPECT_EQ(std::system(command.c_str()), 0);
  Rendered rendered;
  std::stringstream document, log;
  document << std::ifstream(folder / "dom").rdbuf();
  log << std::ifstream(folder / "log").rdbuf();
  rendered.document = document.str();
  for (std::string line; std::getline(log, line);)
    if (line.find("CONSOLE") != std::string::npos) rendered.console += line + "\n";
  std::filesystem::remove_all(folder);
  return rendered;
}

TEST(PageInABrowser, DrawsBothChartsAndEveryRow) {
  NEED_PLOTLY();
  if (std::string(DLROOF_CHROMIUM).empty()) GTEST_SKIP() << "no chromium to look at the page with";
  const auto page = Render(SmallRun());
  EXPECT_EQ(page.console, "");
  EXPECT_THAT(page.document, HasSubstr("data-drawn=\"yes\""));
  EXPECT_EQ(Count(page.document, "<tr data-index="), 11);
  EXPECT_GE(Count(page.document, "class=\"main-svg\""), 2);
  EXPECT_THAT(page.document, HasSubstr("6 benchmarks drawn, 5 without a point here."));
  EXPECT_THAT(page.document, HasSubstr(">160 GFLOP/s<"));
  // The hostile label is text, and did not run.
  EXPECT_THAT(page.document, HasSubstr("&lt;/script&gt;&lt;img src=x onerror="));
  EXPECT_THAT(page.document, Not(HasSubstr("<img")));
  EXPECT_THAT(page.document, HasSubstr("<title>Example CPU, 2 cores · dlroof</title>"));
}

TEST(PageInABrowser, AModelHasItsRowAndItsLayersAreButtons) {
  NEED_PLOTLY();
  if (std::string(DLROOF_CHROMIUM).empty()) GTEST_SKIP() << "no chromium to look at the page with";
  auto run = SmallRun();
  const std::string layer = run["records"][0]["name"];
  run["models"] = json::parse(R"([{"suite": "net<b>", "op": "Conv2D", "direction": "fwd",
    "layers": {"measured": 2, "total": 3}, "calls": {"measured": 4, "total": 4}, "seconds": 0.25,
    "flops": 5e9, "flops_per_second": 2e10, "roof": {"layers": 1, "seconds": 0.1, "fraction": 0.5},
    "fix_first": [{"count": 3, "seconds": 0.2, "above_roof_seconds": 0.125, "share": 0.8},
                  {"name": "<img src=x>", "count": 1}]}, null, {"fix_first": 5}])");
  run["models"][0]["fix_first"][0]["name"] = layer;
  const auto page = Render(run);
  EXPECT_EQ(page.console, "");
  EXPECT_THAT(page.document, HasSubstr("net&lt;b&gt; Conv2D/"));
  for (const char* text :
       {">2 of 3<", ">4<", ">250 ms<", ">5.00 GFLOP<", ">20.0 GFLOP/s<", ">50.0 % (1 layer)<",
        " ×3: 80.0 % of the time, 125 ms of it above the roof"})
    EXPECT_THAT(page.document, HasSubstr(text));
  EXPECT_THAT(page.document, Not(HasSubstr("<img")));
  EXPECT_THAT(page.document,
              HasSubstr("<section id=\"models-section\" aria-labelledby=\"models-title\">"));
  EXPECT_THAT(Render(SmallRun()).document, HasSubstr("aria-labelledby=\"models-title\" hidden"));
}

TEST(PageInABrowser, AFileWithoutCeilingsStillHasItsTable) {
  NEED_PLOTLY();
  if (std::string(DLROOF_CHROMIUM).empty()) GTEST_SKIP() << "no chromium to look at the page with";
  auto run = SmallRun();
  run["machines"] = json::array();
  for (auto& record : run["records"]) {
    record.erase("classic");
    record.erase("time");
  }
  const auto page = Render(run);
  EXPECT_EQ(page.console, "");
  EXPECT_EQ(Count(page.document, "<tr data-index="), 11);
  EXPECT_THAT(page.document, HasSubstr("No ceilings in this file"));
}

}  // namespace
}  // namespace dlroof
