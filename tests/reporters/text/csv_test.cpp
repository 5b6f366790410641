#include "reporters/text/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "counters/base/error.h"

namespace dlroof {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"nodes", "rate", "label"};

std::string RefusedHeader(std::string_view header) {
  try {
    CsvColumns(ReadCsv(header, "x.csv").front(), kNames, 2, "x.csv");
  } catch (const BadInput& refusal) {
    return refusal.what();
  }
  return "accepted";
}

TEST(CsvColumns, AreFoundInAnyOrderAndMayLackWhatIsNotNeeded) {
  using Columns = std::vector<std::optional<std::size_t>>;
  const auto columns = [](std::string_view header) {
    return CsvColumns(ReadCsv(header, "x.csv").front(), kNames, 2, "x.csv");
  };
  EXPECT_EQ(columns("label,rate,nodes\n"), (Columns{2, 1, 0}));
  EXPECT_EQ(columns("nodes,rate\n"), (Columns{0, 1, std::nullopt}));
}

TEST(CsvColumns, RefuseWhatIsUnknownTwiceOrMissing) {
  EXPECT_EQ(RefusedHeader("nodes,speed\n"),
            "x.csv:1: column 7: 'speed': expected the columns nodes, rate and label, each once");
  EXPECT_EQ(RefusedHeader("nodes,nodes,rate\n"),
            "x.csv:1: column 7: 'nodes': expected the columns nodes, rate and label, each once");
  EXPECT_EQ(RefusedHeader("nodes,label\n"),
            "x.csv:1: column 1: expected the columns nodes and rate");
}

}  // namespace
}  // namespace dlroof
