#include "reporters/figure/page.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/base/files.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/placed_files.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/trajectory_points.h"
#include "tests/paths.h"

namespace dlroof::figure {
namespace {

using nlohmann::json;
using testing::HasSubstr, testing::Not;

#define NEED_PLOTLY() \
  if (!PlotlyScript()) GTEST_SKIP() << "built without plotly.js"

std::string Page(const json& content) {
  std::ostringstream out;
  WritePage(content, out);
  return out.str();
}

std::string Page(const roofline::PlacedRun& run) { return Page(PageContent(run)); }

std::string Content(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="content">)";
  const auto start = page.find(open) + open.size();
  return page.substr(start, page.find("</script>", start) - start);
}

TEST(ScriptSafeJson, HasNoCharactersWithAMeaningInHtmlAndReplacesInvalidUtf8) {
  const json value = {{"</script><!--", "a & b \xE2\x80\xA8 \xE2\x80\xA9 < >"}};
  const auto text = ScriptSafeJson(value);
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  fakes::ExpectHas(text, {"\\u2028", "\\u2029"});
  EXPECT_EQ(json::parse(text), value) << "and still says the same";
  EXPECT_EQ(ScriptSafeJson("a\xff"), "\"a\\ufffd\"");
}

TEST(Base64OfHex, AsInRfc4648) {
  // The RFC's "f", "fo", "foo"; and the SHA-256 of nothing.
  EXPECT_EQ(Base64OfHex("66"), "Zg==");
  EXPECT_EQ(Base64OfHex("666f"), "Zm8=");
  EXPECT_EQ(Base64OfHex("666F6F"), "Zm9v");
  EXPECT_EQ(Base64OfHex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

TEST(WritePage, ThrowsWithoutPlotly) {
  if (PlotlyScript()) GTEST_SKIP() << "built with plotly.js";
  EXPECT_THROW(Page(fakes::SmallRun()), BadInput);
}

TEST(WritePage, TextOfTheFileIsOnlyDataAsItIsAndThePageLoadsNothing) {
  NEED_PLOTLY();
  const auto page = Page(fakes::SmallRun());
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  const auto scripts = static_cast<int>(PageScripts().size()) + 2;  // plotly and the data
  EXPECT_EQ(fakes::CountOf("</script>", page), scripts);
  EXPECT_EQ(json::parse(Content(page))["records"][7]["reason"],
            fakes::SmallRun().file.records[7].reason);
  const auto run = roofline::ToJson(fakes::SmallRun());
  auto content = json::parse(Content(Page(fakes::SmallRun())));
  for (auto& record : content["records"]) {
    record.erase("binding");
    record.erase("rate");
    if (record.contains("time")) record["time"].erase("places");
    if (record.contains("classic"))
      for (auto& entry : record["classic"]) entry.erase("error_bar");
  }
  EXPECT_EQ(content["records"], run["records"]);
  EXPECT_EQ(content["machines"], run["machines"]);
  EXPECT_FALSE(content.contains("benchmarks"));
  std::string own(PageHtml().text);
  own += PageStyle().text;
  for (const auto& script : PageScripts()) own += script.text;
  fakes::ExpectLacks(own, {"https:", " src=", " href=", "url(", "@import", "fetch(",
                           "XMLHttpRequest", "innerHTML", "eval("});
  fakes::ExpectHas(page, {"default-src 'none'; script-src 'sha256-"});
  fakes::ExpectLacks(page, {"{{policy", "{{style", "{{content", "{{scripts", "{{plotly"});
  fakes::ExpectHas(Page(roofline::PlacedRun()), {"\"records\":[]", "\"roofs\":[]"});
}

// Returns the page after its scripts ran. Fails the test if the browser's console has a message.
std::string Render(const json& content, const std::string& address = "") {
  const TemporaryFolder folder;
  std::ofstream(folder / "page.html") << Page(content);
  const auto command =
      std::string(DLROOF_CHROMIUM) +
      " --headless=new --no-sandbox --disable-gpu --user-data-dir=" + folder / "profile" +
      " --virtual-time-budget=20000 --window-size=1280,2400 "
      "--enable-logging=stderr --v=0 --dump-dom 'file://" +
      folder / "page.html" + address + "' > " + folder / "dom" + " 2> " + folder / "log";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::string complaints;
  std::stringstream document, log;
  document << std::ifstream(folder / "dom").rdbuf();
  log << std::ifstream(folder / "log").rdbuf();
  for (std::string line; std::getline(log, line);)
    if (line.find("CONSOLE") != std::string::npos) complaints += line + "\n";
  EXPECT_EQ(complaints, "");
  return document.str();
}

// Returns the visible part of a document. Its scripts hold the words of every message.
std::string WithoutScripts(std::string document) {
  for (auto open = document.find("<script"); open != std::string::npos;
       open = document.find("<script", open))
    document.erase(open, document.find("</script>", open) - open);
  return document;
}

class PageInABrowser : public testing::Test {
 protected:
  void SetUp() override {
    NEED_PLOTLY();
    if (std::string(DLROOF_CHROMIUM).empty()) GTEST_SKIP() << "chromium is not installed";
  }
};

TEST_F(PageInABrowser, DrawsBothChartsAndEveryRow) {
  const auto page = Render(PageContent(fakes::SmallRun()));
  EXPECT_THAT(page, HasSubstr("data-drawn=\"yes\""));
  EXPECT_EQ(fakes::CountOf("<tr data-index=", page), 10);
  EXPECT_GE(fakes::CountOf("class=\"main-svg\"", page), 2);
  fakes::ExpectHas(page, {"7 benchmarks drawn, 3 without a point here.",
                          "Pale: noisy, the time is an estimate."});
  EXPECT_EQ(fakes::CountOf("above its roof (", page), 5);
  fakes::ExpectHas(page, {">~200 µs<", ">~95.0 %<", ">~compute<", ">160 GFLOP/s<"});
  // The hostile label is text, and did not run.
  fakes::ExpectHas(page, {"&lt;/script&gt;&lt;img src=x onerror=",
                          "<title>Example CPU, 2 cores · dlroof</title>"});
  fakes::ExpectLacks(page, {"<img"});
}

TEST_F(PageInABrowser, UnsupportedBenchmarksAreListedOnlyOnRequest) {
  record::RunFile file = fakes::SmallRun().file;
  const auto is_f16 = [](const record::Record& record) {
    return record.status == record::Status::kUnsupported;
  };
  record::Record other = *std::find_if(file.records.begin(), file.records.end(), is_f16);
  other.name += "/cold";
  file.records.push_back(other);
  const auto content = PageContent(roofline::PlaceRun(file));
  const auto usual = Render(content), asked = Render(content, "#status=unsupported"),
             linked = Render(content, "#selected=" + other.name);
  EXPECT_EQ(fakes::CountOf("<tr data-index=", usual), 10);
  fakes::ExpectHas(usual, {">f16: 2 benchmarks<", ">10 of 12 shown<"});
  EXPECT_EQ(fakes::CountOf("<tr data-index=", asked), 2);
  EXPECT_EQ(fakes::CountOf("<tr data-index=", linked), 12);
}

// Three sizes of the first benchmark, each counted on two levels and in two pipes: 15 ms in all.
roofline::PlacedRun SweptRun() {
  record::RunFile file = fakes::SmallRun().file;
  for (const int batch : {1, 2, 4}) {
    record::Record record = file.records[0];
    record.problem = "n" + std::to_string(batch) + "c512h56w56k512r3s3";
    record.name = "Conv2D/cpu/onednn/fwd/f32/" + record.problem;
    Work& work = record.work.begin()->second;
    work.flops = {{"bf16.matrix", 0.01 * 1600e9}, {"fp32.vector", 0.005 * 200e9}};
    work.bytes[Level::kL2] = 1e-3 * 400e9;
    file.records.push_back(record);
  }
  return roofline::PlaceRun(file);
}

TEST_F(PageInABrowser, ALinkShowsItsBenchmarkItsSweepAndEveryLevel) {
  auto run = SweptRun();
  const energy::Energy energy{.joules = 12.5, .domains = {{"package-0", 12.5}}, .seconds = 0.5};
  for (auto& record : run.file.records) record.energy = energy;
  const auto page = Render(
      PageContent(run, &run),
      "#sweep=batch&level=all&selected=Conv2D%2Fcpu%2Fonednn%2Ffwd%2Ff32%2Fn2c512h56w56k512r3s3");
  const auto shown = WithoutScripts(page);
  EXPECT_EQ(fakes::CountOf("<tr data-index=", shown), 3) << "the benchmarks on the line";
  fakes::ExpectHas(
      shown,
      {"3 benchmarks drawn.", "Bytes of L1, L2, L3, DRAM",
       "href=\"#selected=Conv2D%2Fcpu%2Fonednn%2Ffwd%2Ff32%2Fn2c512h56w56k512r3s3\"",
       "median time before", "energy of a call</span>12.5 J", "</span>25.0 W", "package-0 12.5 J",
       "bf16.matrix time at its own roof", "Arrows: from the older run file", "Ticks on a line",
       "<option value=\"batch\">batch</option>"});
  fakes::ExpectLacks(shown, {"NaN"});
}

TEST_F(PageInABrowser, TheTimeChartHasItsOtherAxesAndGuides) {
  auto run = PageContent(SweptRun());
  for (auto& record : run["records"])
    if (record.contains("time")) record["time"]["compute_roofs"] = {{"fp32.vector", "fp32.vector"}};
  run["census"] = json::parse(R"([{"set": "<b>fw", "kernels": 5, "zero_flop_kernels": 2,
    "launches": 8, "zero_flop_launches": 6, "zero_flop_launch_share": 0.75,
    "zero_flop_time_share": 0.25, "seconds": 4, "flops": 1e9, "flops_per_second": 2.5e8}, 7])");
  const auto shown = WithoutScripts(Render(run));
  fakes::ExpectHas(shown, {"DRAM bytes [B]", "FLOPs at the fp32.vector roof", " FLOP/byte</text>",
                           "&lt;b&gt;fw", ">2 of 5<", ">6 of 8<", ">75.0 %<", ">25.0 %<"});
}

TEST_F(PageInABrowser, AModelHasItsRowAndItsLayersAreButtons) {
  auto run = PageContent(fakes::SmallRun());
  const std::string layer = run["records"][0]["name"];
  run["models"] = json::parse(R"([{"suite": "net<b>", "op": "Conv2D", "direction": "fwd",
    "layers": {"measured": 2, "total": 3}, "calls": {"measured": 4, "total": 4}, "seconds": 0.25,
    "flops": 5e9, "flops_per_second": 2e10, "roof": {"layers": 1, "seconds": 0.1, "fraction": 0.5},
    "fix_first": [{"count": 3, "seconds": 0.2, "above_roof_seconds": 0.125, "share": 0.8},
                  {"name": "<img src=x>", "count": 1}]}, null, {"fix_first": 5}])");
  run["models"][0]["fix_first"][0]["name"] = layer;
  const auto page = Render(run);
  fakes::ExpectHas(page, {"net&lt;b&gt; Conv2D/", ">2 of 3<", ">4<", ">250 ms<", ">5.00 GFLOP<",
                          ">20.0 GFLOP/s<", ">50.0 % (1 layer)<",
                          " ×3: 80.0 % of the time, 125 ms of it above the roof",
                          "<section id=\"models-section\" aria-labelledby=\"models-title\">"});
  fakes::ExpectLacks(page, {"<img"});
  EXPECT_THAT(Render(PageContent(fakes::SmallRun())),
              HasSubstr("aria-labelledby=\"models-title\" hidden"));
}

TEST_F(PageInABrowser, CeilingsShowTheirValidationsCurvesAndMixes) {
  auto run = PageContent(fakes::CeilingsRun());
  run["records"][0]["name"] = "Conv2D/cpu/onednn/fwd/f32/x";
  auto& machine = run["machines"][0];
  machine["facts"]["<img src=x>"] = "<b>text</b>";
  machine["by_threads"]["2"]["mixes"]["l1.given"] = {{"per_second", 1e9}, {"given", true}};
  machine["by_threads"]["2"]["mixes"]["l1.<img src=x>"] = {{"per_second", 1e9}, {"how", "<b>"}};
  const auto page = Render(run);
  const auto shown = WithoutScripts(page);
  for (const char* text :
       {// validation: the numbers first, or the reason first if a ceiling is not validated
        "validated: </span>2.003× for twice the work · spread 0.400 % · 63.8 of 64 flop/cycle · "
        "99.0 % clean · scaling 1.00<",
        "caution\">specified, not measured here<",
        "not validated: </span>twice the work took 2.31 times the time, allowed is 2 within 2.0 %<",
        ">1, 2 and 7 iterations equal plain loops in all 256 elements<", ">Burst<", ">280 GFLOP/s<",
        // mixes, overheads, facts, what the sweep says
        "All 12 access mixes", ">dram.load.avx512.small-pages<",
        ">1.10 µs · an empty parallel region",
        ">not measured: in each repetition a thread waited for a CPU<", ">l1.&lt;img src=x&gt;<",
        "11 facts about this machine", ">&lt;b&gt;text&lt;/b&gt;<",
        "class=\"disagrees\">L3, 2 threads: the curve falls at 16.5 MiB",
        // charts: the sweep with its lines and caches, the knee
        "Bandwidth by working set", ">64 MiB<", ">L2 1 MiB<", ">2 threads</text>",
        "Thin line with dots: measured knee, ",
        // the second line below the burst
        ">sustained  280 GFLOP/s<", "Thin line named sustained: "})
    EXPECT_THAT(shown, HasSubstr(text));
  EXPECT_EQ(fakes::CountOf("id=\"sweep-", shown), 1);
  EXPECT_GE(fakes::CountOf("class=\"main-svg\"", shown), 3);
  fakes::ExpectLacks(shown, {"<img", "NaN"});
}

TEST_F(PageInABrowser, WithoutCurvesThereIsNoChartOfThem) {
  auto run = PageContent(fakes::SmallRun());
  run["machines"][0]["by_threads"]["2"]["sweep"] = json::parse("[[0, 1], [null, 2], 3]");
  run["machines"][0]["by_threads"]["1"]["mixes"] = 4;
  const auto shown = WithoutScripts(Render(run));
  fakes::ExpectLacks(shown,
                     {"class=\"sweep\"", "access mixes", "measured knee", "NaN", "undefined<"});
}

TEST_F(PageInABrowser, TrajectoriesAreDrawnWithTheirSentences) {
  const auto shown = WithoutScripts(
      Render(PageContent(fakes::RunOf({fakes::kMemoryOne, fakes::MemoryTwo(21, 200, 10)}))));
  fakes::ExpectHas(shown,
                   {"48 points are lost, 48 by bandwidth.",
                    "Bytes of DRAM. Arrows: to more threads. Roofs of each number of threads"});
  fakes::ExpectLacks(shown, {"NaN", "undefined<"});
}

TEST_F(PageInABrowser, AFileWithoutCeilingsHasATableWithRates) {
  auto file = fakes::SmallRun().file;
  file.machines.clear();
  const auto page = Render(PageContent(roofline::PlaceRun(file)));
  EXPECT_EQ(fakes::CountOf("<tr data-index=", page), 10);
  fakes::ExpectHas(page,
                   {"No ceilings in this file", ">160 GFLOP/s<", ">57.5<small>of DRAM</small>"});
}

// The roofs and places in a page's content.
TEST(WritePage, GeometryRatesAndRidgesComeWithTheData) {
  const auto content = PageContent(fakes::SmallRun());
  EXPECT_EQ(content["main_roofs"], 0);
  EXPECT_EQ(content["roofs"][0]["level"], "dram");
  EXPECT_EQ(content["roofs"][0]["used"], json({"bf16.matrix", "fp32.vector", "int8.matrix"}));
  EXPECT_DOUBLE_EQ(content["roofs"][0]["bytes"][3]["ridges"]["fp32.vector"].get<double>(), 10);
  EXPECT_EQ(content["records"][3]["binding"], 1) << "DRAM's roof is below L2's";
  EXPECT_FALSE(content["records"][6].contains("binding"));
  EXPECT_FALSE(content["records"][4]["classic"][0].contains("error_bar"));
  EXPECT_TRUE(content["records"][0]["classic"][0].contains("error_bar"));
  // 1.25 ms; compute 0.51380224 ms binds beside L2's 0.25 ms, DRAM's 1 ms binds in its own view.
  const auto& places = content["records"][3]["time"]["places"];
  EXPECT_DOUBLE_EQ(places["l2"][1].get<double>(), 1.25e-3);
  EXPECT_DOUBLE_EQ(places["dram"][0].get<double>(), 1.25e-3);
  // 16 of DRAM's 20 GB/s: fp32.vector's 200 GFLOP/s are reached at 12.5 FLOP/byte, not at 10.
  auto warm = fakes::SmallRun();
  fakes::TwoThreadsOf(warm).bytes.at(Level::kDram).sustained_per_second = 16e9;
  const auto sustained = PageContent(warm);
  const auto& dram = sustained["roofs"][0]["bytes"][3];
  EXPECT_DOUBLE_EQ(
      dram["sustained_start"][1].get<double>() / dram["sustained_start"][0].get<double>(), 16e9);
  EXPECT_DOUBLE_EQ(dram["sustained_ends"]["fp32.vector"].get<double>(), 12.5);
}

}  // namespace
}  // namespace dlroof::figure
