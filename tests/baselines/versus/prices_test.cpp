#include "baselines/versus/prices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::cluster {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Prices OneKind(const std::string& kind) {
  return ParsePrices(fmt::format(R"({{"currency": "USD", "kinds": [{}]}})", kind), "p.json");
}

std::string Refusal(const std::string& text) {
  return fakes::RefusalOf([&] { ParsePrices(text, "p.json"); });
}

TEST(ParsePrices, PerNodeHourIsTakenAsItIs) {
  const auto prices = OneKind(R"({"match": {"name": "EPYC"}, "per_node_hour": 1.2, "devices": 8})");
  EXPECT_EQ(prices.currency, "USD");
  EXPECT_DOUBLE_EQ(prices.kinds.at(0).per_node_hour, 1.2);
  EXPECT_EQ(prices.kinds.at(0).devices, 8);
}

// 87600 / (5 x 8760 h x 0.5) = 4 an hour; 2000 W x 1.5 = 3 kW, at 0.2 a kWh 0.6 an hour.
TEST(ParsePrices, CapitalIsSpreadOverHoursOfUseAndEnergyIsAdded) {
  const std::string capital =
      R"("match": {"fingerprint": "ab"}, "capital": 87600, "years": 5, "utilisation": 0.5)";
  EXPECT_DOUBLE_EQ(OneKind("{" + capital + "}").kinds.at(0).per_node_hour, 4);
  const auto prices = OneKind("{" + capital + R"(, "watts": 2000, "pue": 1.5, "per_kwh": 0.2})");
  EXPECT_DOUBLE_EQ(prices.kinds.at(0).per_node_hour, 4.6);
}

TEST(ParsePrices, WattsAreKeptWhateverThePriceIs) {
  const std::string rent = R"("match": {"name": "x"}, "per_node_hour": 2)";
  EXPECT_FALSE(OneKind("{" + rent + "}").kinds.at(0).watts);
  EXPECT_EQ(OneKind("{" + rent + R"(, "watts": 700})").kinds.at(0).watts, 700);
  EXPECT_EQ(OneKind("{" + rent + R"(, "watts": 700})").kinds.at(0).per_node_hour, 2);
  EXPECT_EQ(OneKind(R"({"match": {"name": "x"}, "capital": 1, "years": 5, "utilisation": 1,
                        "watts": 900, "pue": 1, "per_kwh": 1})")
                .kinds.at(0)
                .watts,
            900);
  EXPECT_THAT(Refusal(R"({"currency": "USD", "kinds": [{"match": {"name": "x"},
                          "per_node_hour": 2, "watts": -1}]})"),
              HasSubstr("'watts': expected a number above 0"));
}

TEST(ParsePrices, WithoutCurrencyTheLineIsNamed) {
  EXPECT_THAT(Refusal(R"({"kinds": []})"), StartsWith("p.json:1: expected 'currency'"));
  EXPECT_THAT(Refusal("{\"currency\": \"\",\n\"kinds\": []}"),
              StartsWith("p.json:1:2: 'currency': expected a text"));
}

TEST(ParsePrices, EveryFaultNamesItsPlaceInTheList) {
  const auto second = [](const std::string& kind) {
    return Refusal(
        fmt::format("{{\"currency\": \"EUR\", \"kinds\": [\n{{\"match\": {{\"name\": "
                    "\"a\"}}, \"per_node_hour\": 1}},\n{}]}}",
                    kind));
  };
  EXPECT_THAT(second(R"({"match": {"name": "b"}, "per_node_hour": -1})"),
              StartsWith("p.json:3:26: 'per_node_hour': expected a number above 0"));
  EXPECT_THAT(second(R"({"match": {"name": "b"}, "per_hour": 1})"),
              StartsWith("p.json:3:26: unknown key 'per_hour'"));
  EXPECT_THAT(second(R"({"match": {"name": "b"}})"),
              HasSubstr("expected one of 'per_node_hour' and 'capital'"));
  EXPECT_THAT(second(R"({"match": {}, "per_node_hour": 1})"),
              HasSubstr("expected 'name' or 'fingerprint'"));
  EXPECT_THAT(second(R"({"match": {"name": "b"}, "capital": 5, "years": 3})"),
              HasSubstr("expected 'utilisation'"));
  EXPECT_THAT(second(R"({"match": {"name": "b"}, "capital": 5, "years": 3, "utilisation": 1.5})"),
              HasSubstr("'utilisation': expected a number above 0, at most 1"));
  EXPECT_THAT(second(R"({"match": {"name": "b"}, "per_node_hour": 5, "pue": 3})"),
              HasSubstr("'pue' belongs to 'capital'"));
  EXPECT_THAT(second(R"({"match": {"name": "b"}, "per_node_hour": 5, "devices": 1.5})"),
              HasSubstr("'devices': expected a whole number"));
  EXPECT_THAT(second("7"), HasSubstr("expected an object"));
}

TEST(PriceOf, TakesTheFirstKindThatMatchesInEverything) {
  const auto prices = ParsePrices(
      R"({"currency": "USD", "kinds": [
        {"match": {"name": "EPYC", "fingerprint": "01"}, "per_node_hour": 1},
        {"match": {"name": "EPYC"}, "per_node_hour": 2}]})",
      "p.json");
  const auto price = [&](const std::string& name, const std::string& fingerprint) {
    const auto* kind = PriceOf(prices, {.name = name, .fingerprint = fingerprint});
    return kind == nullptr ? 0 : kind->per_node_hour;
  };
  EXPECT_EQ(price("AMD EPYC 9", "01"), 1);
  EXPECT_EQ(price("AMD EPYC 9", "02"), 2);
  EXPECT_EQ(price("Xeon", "01"), 0);
}

}  // namespace
}  // namespace dlroof::cluster
