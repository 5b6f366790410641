#include "reporters/text/csv.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/fakes/refusal.h"

namespace dlroof::text {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"nodes", "rate", "label"};

using Found = std::vector<std::optional<std::size_t>>;

Found Columns(std::string_view header) {
  return CsvColumns(ReadCsv(header, "x.csv").front(), kNames, 2, "x.csv");
}

std::string Refused(std::string_view header) {
  return fakes::RefusalOf([&] { Columns(header); });
}

TEST(CsvColumns, FindsColumnsInAnyOrderAndOptionalOnesMayLack) {
  EXPECT_EQ(Columns("label,rate,nodes\n"), (Found{2, 1, 0}));
  EXPECT_EQ(Columns("nodes,rate\n"), (Found{0, 1, std::nullopt}));
}

TEST(CsvColumns, RefusesUnknownRepeatedAndMissingColumns) {
  EXPECT_EQ(Refused("nodes,speed\n"),
            "x.csv:1: column 7: 'speed': expected the columns nodes, rate and label, each once");
  EXPECT_EQ(Refused("nodes,nodes,rate\n"),
            "x.csv:1: column 7: 'nodes': expected the columns nodes, rate and label, each once");
  EXPECT_EQ(Refused("nodes,label\n"), "x.csv:1: column 1: expected the columns nodes and rate");
}

}  // namespace
}  // namespace dlroof::text
