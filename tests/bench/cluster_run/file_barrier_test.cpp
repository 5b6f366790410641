#include "bench/cluster_run/file_barrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "bench/cluster_run/node_folder.h"
#include "counters/base/files.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cluster_run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Time passes while a node sleeps. The others act at times of their own.
class FakeTime {
 public:
  BarrierClock Clock() {
    return {.seconds = [this] { return now_; },
            .date = [this] { return 1e9 + now_; },
            .sleep =
                [this](double seconds) {
                  now_ += seconds;
                  while (!later_.empty() && later_.begin()->first <= now_) {
                    later_.begin()->second();
                    later_.erase(later_.begin());
                  }
                },
            .stopped = [this] { return stopped_; }};
  }
  void At(double seconds, std::function<void()> action) {
    later_.emplace(seconds, std::move(action));
  }
  void Stop() { stopped_ = true; }

 private:
  double now_ = 0;
  bool stopped_ = false;
  std::multimap<double, std::function<void()>> later_;
};

class BarrierPointTest : public testing::Test {
 protected:
  std::filesystem::path Place() const { return folder_ / "meetings"; }
  FileBarrier Point(const std::vector<std::string>& others, double deadline_seconds = 60,
                    std::size_t finished = 0) {
    return {Place(), "n1", others, finished, deadline_seconds, time_.Clock()};
  }
  void Comes(const std::string& file) const { std::ofstream(Place() / file); }
  std::vector<std::string> OwnFiles() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(Place()))
      if (file.path().filename().string().starts_with("n1@"))
        names.push_back(file.path().filename().string());
    return names;
  }

  TemporaryFolder folder_;
  FakeTime time_;
};

TEST_F(BarrierPointTest, ANodeWaitsForTheLastOne) {
  auto point = Point({"n1", "n2", "n3"});
  time_.At(1, [&] { Comes("n2@4"); });
  time_.At(7, [&] { Comes("n3@4"); });
  const auto barrier = point.Meet(4, "conv");
  EXPECT_EQ(barrier.benchmark, "conv");
  EXPECT_EQ(barrier.with, 2);
  EXPECT_EQ(barrier.ahead, 0);
  EXPECT_NEAR(barrier.waited_seconds, 7, 0.01);
  EXPECT_NEAR(barrier.began_seconds, 1e9 + 7, 0.01);
  EXPECT_TRUE(barrier.late.empty());
  EXPECT_THAT(OwnFiles(), ElementsAre("n1@4"));
}

TEST_F(BarrierPointTest, WhoMissesTheDeadlineIsLeftOutForEver) {
  auto point = Point({"n2", "n3"}, 30);
  Comes("n2@0");
  Comes("n3@0");
  EXPECT_EQ(point.Meet(0, "a").with, 2);
  Comes("n2@1");
  const auto without = point.Meet(1, "b");
  EXPECT_THAT(without.late, ElementsAre("n3"));
  EXPECT_EQ(without.with, 1);
  EXPECT_NEAR(without.waited_seconds, 30, 0.01);
  Comes("n2@2");
  const auto next = point.Meet(2, "c");
  EXPECT_EQ(next.waited_seconds, 0);
  EXPECT_TRUE(next.late.empty());
  EXPECT_EQ(next.with, 1);
}

TEST_F(BarrierPointTest, NobodyWaitsForThoseThatAreAheadOrDone) {
  auto point = Point({"n2", "n3"});
  Comes("n2@9");
  Comes("n3@done");
  const auto barrier = point.Meet(3, "a");
  EXPECT_EQ(barrier.waited_seconds, 0);
  EXPECT_EQ(barrier.with, 0);
  EXPECT_EQ(barrier.ahead, 2);
}

TEST_F(BarrierPointTest, NodesThatWereWholeBeforeAreAhead) {
  auto point = Point({"n2"}, 60, 3);
  Comes("n2@0");
  const auto barrier = point.Meet(0, "a");
  EXPECT_EQ(barrier.with, 1);
  EXPECT_EQ(barrier.ahead, 3);
}

// n2 goes on as soon as n3 has come, before this node looks again.
TEST_F(BarrierPointTest, ANodeThatWentOnMeanwhileHadCome) {
  auto point = Point({"n2", "n3"});
  Comes("n2@3");
  time_.At(5, [&] {
    Comes("n2@4");
    Comes("n3@done");
  });
  const auto barrier = point.Meet(3, "a");
  EXPECT_EQ(barrier.with, 2);
  EXPECT_EQ(barrier.ahead, 0);
}

TEST_F(BarrierPointTest, ANodeThatMovesHasTwoFilesForAMoment) {
  auto point = Point({"n2"});
  Comes("n2@2");
  Comes("n2@3");
  EXPECT_EQ(point.Meet(3, "a").with, 1);
}

TEST_F(BarrierPointTest, ANewProcessOfANodeIsNotWhereTheOldOneWas) {
  std::filesystem::create_directories(Place());
  Comes("n1@17");
  Comes("n12@17");
  Comes("a note");
  auto point = Point({"n2"});
  EXPECT_TRUE(OwnFiles().empty());
  EXPECT_TRUE(std::filesystem::exists(Place() / "n12@17"));
  point.Leave();
  EXPECT_THAT(OwnFiles(), ElementsAre("n1@done"));
}

TEST_F(BarrierPointTest, AnInterruptEndsTheWait) {
  auto point = Point({"n2"});
  time_.At(2, [&] { time_.Stop(); });
  const auto barrier = point.Meet(0, "a");
  EXPECT_NEAR(barrier.waited_seconds, 2, 0.01);
  EXPECT_TRUE(barrier.late.empty());
}

TEST_F(BarrierPointTest, AFolderThatCannotBeMadeIsRefused) {
  std::ofstream(folder_ / "file");
  EXPECT_THAT(fakes::RefusalOf([&] {
                FileBarrier(std::filesystem::path(folder_ / "file") / "meetings", "n1", {"n2"}, 0,
                            1, time_.Clock());
              }),
              HasSubstr("cannot be created"));
}

TEST_F(BarrierPointTest, TheLastLineOfABenchmarkCountsAndHalfALineDoesNot) {
  const auto path = folder_ / "n1.meetings";
  std::ofstream(path) << R"({"benchmark":"a","with":1})"
                      << "\n"
                      << R"({"benchmark":"b","with":1})"
                      << "\n"
                      << R"({"benchmark":"a","with":2})"
                      << "\n"
                      << R"({"benchmark":"c","wi)";
  const auto barriers = ReadBarriers(path);
  ASSERT_EQ(barriers.size(), 2);
  EXPECT_EQ(barriers[0].at("with"), 2);
  EXPECT_EQ(barriers[1].at("benchmark"), "b");
  EXPECT_TRUE(ReadBarriers(folder_ / "none").empty());
}

}  // namespace
}  // namespace dlroof::cluster_run
