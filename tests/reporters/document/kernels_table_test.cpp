#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reporters/document/tables.h"
#include "reporters/record/kernels.h"
#include "reporters/text/text.h"
#include "tests/test_data.h"

namespace dlroof::document {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string Tables(const record::RunFile& file, const TableOptions& options = {}) {
  std::ostringstream out;
  WriteTables(roofline::PlaceRun(file), 0, out, options);
  return out.str();
}

record::RunFile Stored(const std::string& name) {
  std::ostringstream none;
  return record::ReadRunFile(fakes::TestData(name), none);
}

record::Record Kernel(const std::string& name, double seconds, double launches, double flops) {
  record::Record record{.name = name, .timed = "kernels"};
  record.repetitions = {{.seconds = seconds, .iterations = 1}};
  Work& work = record.work[Provenance::kMeasured];
  work.launches = launches;
  work.flops["fp32.vector"] = flops;
  work.bytes[Level::kDram] = 1e6;
  return record;
}

// 240 launches in 503 us are 2.09 us each.
TEST(WriteKernels, AProfilesTimesAreSumsOverLaunchesWithoutTheirCost) {
  const auto tables = Tables(Stored("h200_profile_resnet50.json"));
  EXPECT_THAT(tables,
              AllOf(HasSubstr("GPU kernels of python3: 503 µs of device time in 240 launches"),
                    HasSubstr("503 µs     100 %       240     2.09 µs"), Not(HasSubstr("overhead")),
                    Not(HasSubstr("879"))));
}

TEST(WriteKernels, NamesAreAtMost60ColumnsWideUnlessFullOnesAreWanted) {
  const auto file = Stored("h200_profile_resnet50.json");
  const std::string whole = "float16_copy_kernel_cuda(TensorIteratorBase &)";
  EXPECT_THAT(Tables(file), AllOf(HasSubstr("\nvectorized_elementwise_kernel<8, float16_cop"),
                                  Not(HasSubstr(whole))));
  EXPECT_THAT(Tables(file, {.full_names = true}), HasSubstr(whole));
}

// 3 of 4 ms, 1 of 4 ms: the longest first, with rates although there are no roofs.
TEST(WriteKernels, AreSortedByTimeWithTheirSharesAndRates) {
  record::RunFile file;
  file.records = {Kernel("app/void b(int)", 1e-3, 2, 0), Kernel("app/void a(int)", 3e-3, 10, 6e9)};
  const auto tables = Tables(file);
  EXPECT_THAT(tables, HasSubstr("GPU kernels of app: 4.00 ms of device time in 12 launches"));
  EXPECT_THAT(tables, HasSubstr("\na       3.00 ms    75.0 %        10      300 µs  2.00 TFLOP/s  "
                                "6000 DRAM\n"
                                "b       1.00 ms    25.0 %         2      500 µs\n"));
}

TEST(WriteKernels, OtherRecordsHaveTheirOwnTable) {
  record::RunFile file;
  file.records = {Kernel("app/void a(int)", 3e-3, 10, 6e9),
                  {.name = "x", .repetitions = {{.seconds = 0.5, .iterations = 1}}}};
  EXPECT_THAT(Tables(file), AllOf(HasSubstr("\nx          500 ms  n=1\n"), HasSubstr("\na   ")));
}

TEST(WriteKernels, NothingOfTheFileControlsTheTerminal) {
  record::RunFile file;
  file.records = {Kernel("\x1b[2J/void \x1b[2Ja(int)", 3e-3, 10, 6e9)};
  EXPECT_THAT(Tables(file) + Tables(file, {.full_names = true}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace dlroof::document
