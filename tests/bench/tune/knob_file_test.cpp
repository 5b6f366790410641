#include "bench/tune/knob_file.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/fakes/refusal.h"

namespace dlroof::tune {
namespace {

// Eight CPUs on four cores; libomp.so.5 is here, OMP_PLACES is set.
KnobPlace Place() {
  return {8,
          4,
          [](const std::string& name) {
            return name == "libomp.so.5" ? std::optional("/lib/" + name) : std::nullopt;
          },
          [](const std::string& variable) { return variable == "OMP_PLACES"; },
          {"avx2", "avx512f", "avx512_vnni", "huge_pages_on_request"}};
}

Knobs Read(const std::string& text, bool may_change_results = false) {
  Knobs knobs;
  AddKnobs(text, "k.txt", Place(), may_change_results, knobs);
  return knobs;
}

TEST(KnobFile, ChoicesHaveThisMachinesNumbersArgumentsAndQuotedValues) {
  const auto knobs = Read(
      "# a comment\n"
      "\n"
      "knob threads | why\n"
      "  A={cpus} B={half}x{cores} | one  # a comment\n"
      "A={half} | two\n"
      "A={cores} | the same as two\n"
      "knob arguments | why\n"
      "--fast --size=\"{cores} by 2\" | three\n");
  ASSERT_EQ(knobs.coordinates.size(), 2U);
  EXPECT_EQ(knobs.coordinates[0],
            (tuning::Coordinate{
                "threads", "why", {{{{"A", "8"}, {"B", "4x4"}}, "one"}, {{{"A", "4"}}, "two"}}}));
  EXPECT_EQ(knobs.coordinates[1],
            (tuning::Coordinate{
                "arguments", "why", {{{{"--fast", ""}, {"--size", "4 by 2"}}, "three"}}}));
  EXPECT_TRUE(knobs.skipped.empty());
}

TEST(KnobFile, AKnobSaysOnWhichPartsOfAProgramItActs) {
  const auto knobs = Read(
      "knob a, acts on reorders and outside | why\n"
      "A=1 | one\n"
      "knob b | why\n"
      "B=1 | one\n"
      "knob c, changes results, acts on primitives | why\n"
      "C=1 | one\n",
      true);
  using Kind = programs::ProgramComponentKind;
  EXPECT_EQ(knobs.acts_on, (ActsOn{{"a", {Kind::kMoves, Kind::kOperator, Kind::kOutside}},
                                   {"c", {Kind::kRoof, Kind::kSlowdown, Kind::kNoRoof}}}));
  EXPECT_EQ(knobs.coordinates.size(), 3U);
}

TEST(KnobFile, AChoiceThatIsNotPossibleIsSkippedWithItsReason) {
  const auto knobs = Read(
      "knob a | why\n"
      "LD_PRELOAD={library:libomp.so.5} | here\n"
      "LD_PRELOAD={library:libjemalloc.so.2} | not here\n"
      "OMP_PLACES=cores | set\n"
      "knob b, changes results | why\n"
      "B=1 | not asked for\n");
  ASSERT_EQ(knobs.coordinates.size(), 1U);
  EXPECT_EQ(knobs.coordinates[0].choices,
            (std::vector<tuning::Choice>{{{{"LD_PRELOAD:a", "/lib/libomp.so.5"}}, "here"}}));
  EXPECT_EQ(knobs.skipped,
            (std::vector<std::string>{"a: libjemalloc.so.2 is not installed",
                                      "a: OMP_PLACES is set already",
                                      "b: it changes results (--allow-precision tries it)"}));
  EXPECT_EQ(Read("knob b, changes results | why\nB=1 | asked for\n", true).coordinates.size(), 1U);
}

TEST(KnobFile, AWrongLineIsRefusedWithItsPlace) {
  const std::map<std::string, std::string> refusals = {
      {"A=1 | why", "k.txt:1: expected 'knob NAME | REASON' before the first choice"},
      {"\nknob a", "k.txt:2: expected '| ' and a reason at the end of the line"},
      {"knob  | why", "k.txt:1: expected a name after 'knob'"},
      {"knob a | w\n\nA | why", "k.txt:3: 'A': expected VARIABLE=VALUE, --FLAG or --FLAG=VALUE"},
      {"knob a | w\n1A=2 | why",
       "k.txt:2: '1A=2': expected VARIABLE=VALUE, --FLAG or --FLAG=VALUE"},
      {"knob a | w\nA={cpu} | why",
       "k.txt:2: '{cpu}': expected {cpus}, {cores}, {half}, {threads}, {needs:FEATURE} or "
       "{library:NAME}"},
      {"knob a | w\nA={cpus | why", "k.txt:2: '{cpus': expected a '}'"},
      {"knob a | w\nA=\"b | why", "k.txt:2: expected a second '\"'"},
      {"knob a, slow | w",
       "k.txt:1: knob a: expected 'changes results' or 'acts on PART and PART' after a comma"},
      {"knob a, acts on reorders and all | w",
       "k.txt:1: knob a: 'all': expected primitives, reorders, creation or outside"},
      {"knob a | w\nA=1 | x\nknob a | w", "k.txt:3: knob a: there is one of this name already"},
      {"knob a | w\nA=1 | x\nknob b | w\nA=2 | x",
       "k.txt:4: A: knob a has it already; a variable belongs to one knob"}};
  for (const auto& [text, sentence] : refusals)
    EXPECT_EQ(fakes::RefusalOf([&] { Read(text); }), sentence) << text;
}

TEST(KnobFile, TheDefaultIsNoChoice) {
  const std::string text =
      "knob threads | why\n"
      "default T={threads} B=8\n"
      "T=1 | one\n"
      "T={cpus} | all\n"
      "B={cpus} | eight\n"
      "T=8 B=9 | differs in one\n";
  // Programs on eight CPUs of four cores may use four or eight threads: {threads} is not known.
  EXPECT_EQ(Read(text).coordinates.at(0).choices.size(), 4U);
  auto place = Place();
  place.cores = 8;
  Knobs knobs;
  AddKnobs(text, "k.txt", place, false, knobs);
  EXPECT_EQ(knobs.coordinates.at(0).choices,
            (std::vector<tuning::Choice>{{{{"T", "1"}}, "one"},
                                         {{{"B", "9"}, {"T", "8"}}, "differs in one"}}));
  EXPECT_TRUE(knobs.skipped.empty());
  EXPECT_EQ(fakes::RefusalOf([] { Read("default A=1\n"); }),
            "k.txt:1: expected 'knob NAME | REASON' before the first default");
  EXPECT_EQ(fakes::RefusalOf([] { Read("knob a | w\nA=1 | x\ndefault A=2\n"); }),
            "k.txt:3: expected the default before the choices of its knob");
}

TEST(KnobFile, AChoiceThatThisCpuMakesTheDefaultIsSkipped) {
  const auto knobs = Read(
      "knob isa | why\n"
      "A={needs:avx512f}AVX2 | narrower\n"
      "A={needs:amx_tile}AVX512_CORE | not narrower here\n");
  EXPECT_EQ(knobs.coordinates.at(0).choices,
            (std::vector<tuning::Choice>{{{{"A", "AVX2"}}, "narrower"}}));
  EXPECT_EQ(knobs.skipped, (std::vector<std::string>{"isa: it needs amx_tile, which is not here"}));
}

TEST(KnobFile, NoBuiltInChoiceIsTheDefaultOfTwoCoresWithoutAvx512) {
  KnobPlace place{2,
                  2,
                  [](const std::string&) { return std::nullopt; },
                  [](const std::string&) { return false; },
                  {"avx2"}};
  const auto knobs =
      KnobsOf({"allocator", "onednn", "openmp", "pytorch", "tensorflow"}, place, true);
  for (const auto& coordinate : knobs.coordinates)
    for (const auto& choice : coordinate.choices)
      for (const auto& [name, value] : choice.values) {
        if (name.find("NUM_THREADS") != name.npos || name.starts_with("TF_NUM_INT")) {
          EXPECT_EQ(value, "1") << name;
        }
        EXPECT_NE(name, "ONEDNN_MAX_CPU_ISA");
        EXPECT_NE(name, "ATEN_CPU_CAPABILITY");
        EXPECT_NE(name, "GLIBC_TUNABLES");
      }
}

TEST(KnobFile, AnyTextIsReadOrRefused) {
  const std::string whole = "knob a, changes results | w\nA={cpus} --b=\"{half} \" | why # c\n";
  std::mt19937 engine(5);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    auto text = whole;
    for (int change = 0; change < 3; ++change)
      text[engine() % text.size()] = "\n |={}\"#,-aA\xff"[engine() % 13];
    try {
      Read(text, true);
    } catch (const BadInput&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(KnobFile, AllBuiltInSetsAreReadTogether) {
  const auto knobs =
      KnobsOf({"allocator", "onednn", "openmp", "pytorch", "tensorflow"}, Place(), true);
  EXPECT_EQ(KnobSets(), "allocator, onednn, openmp, pytorch, tensorflow");
  EXPECT_GE(knobs.coordinates.size(), 15U);
  for (const auto& coordinate : knobs.coordinates) {
    EXPECT_FALSE(coordinate.reason.empty());
    for (const auto& choice : coordinate.choices) EXPECT_FALSE(choice.reason.empty());
  }
  EXPECT_EQ(fakes::RefusalOf([] { KnobsOf({"none"}, Place(), false); }),
            "--knobs none: neither a file nor one of allocator, onednn, openmp, pytorch, "
            "tensorflow");
}

}  // namespace
}  // namespace dlroof::tune
