#include "sampler_service/job/online_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "sampler_service/sampling/scratch_block.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/sampler_service/daemon/small_job.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

class OnlineCountsTest : public testing::Test {
 protected:
  OnlineCountsTest()
      : sampling_(
            OpenJobSampling(job_.spec(), {.job_key = job_.job_key()}).value()),
        sampler_(
            sampling_.factory(sampling_.input(), sampling_.options).value()),
        num_batches_(job_.batches_per_epoch()) {}

  std::unique_ptr<OnlineCounts> NewCounts() const {
    return OnlineCounts::Make(sampling_.dataset.num_nodes(), num_batches_)
        .value();
  }
  void Add(OnlineCounts& counts, BatchSeq seq) {
    ScratchBlock block(
        MaxTaskBytesOf(sampling_.dataset.graph(), sampling_.options));
    FGNN_ASSERT_OK(block.Sample(*sampler_, seq));
    counts.Add(seq, block.bytes());
  }
  CountOptions Counting() const {
    return {.batches = {BatchSeq(0), BatchSeq(num_batches_)},
            .num_threads = 2,
            .factory = sampling_.factory,
            .check = nullptr};
  }
  std::vector<uint32_t> Expected() const {
    return CountInputNodes(sampling_.input(), sampling_.options, Counting())
        .value();
  }
  // A sampler whose threads have counted these.
  fs::path Write(std::vector<std::unique_ptr<OnlineCounts>> of_threads) {
    const fs::path path =
        folder_ / std::to_string(std::exchange(files_, files_ + 1));
    EXPECT_THAT(WriteCounts(of_threads, path), IsOk());
    return path;
  }

  SmallJob job_;
  const JobSampling sampling_;
  const std::unique_ptr<Sampler> sampler_;
  const uint64_t num_batches_;
  TempFolder folder_;
  int files_ = 0;
};

TEST_F(OnlineCountsTest, AddUpToTheCountsOfTheseEpochs) {
  std::vector<fs::path> files;
  for (int sampler = 0; sampler < 2; ++sampler) {
    std::vector<std::unique_ptr<OnlineCounts>> of_threads;
    for (uint64_t thread = 0; thread < 2; ++thread) {
      of_threads.push_back(NewCounts());
      // An epoch more than is counted.
      for (uint64_t seq = 2 * static_cast<uint64_t>(sampler) + thread;
           seq < job_.num_batches(); seq += 4) {
        Add(*of_threads.back(), BatchSeq(seq));
      }
    }
    files.push_back(Write(std::move(of_threads)));
  }
  CountOptions counting = Counting();
  // Nothing is sampled again.
  counting.check = [] { return absl::InternalError("sampled"); };
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> counts,
                            SumOfCounts(files, sampling_, counting));
  EXPECT_EQ(counts, Expected());
}

TEST_F(OnlineCountsTest, AreExactWhateverWasLostOrMadeTwice) {
  const auto counts_of = [this](const std::vector<uint64_t>& batches) {
    auto counts = NewCounts();
    for (const uint64_t seq : batches) Add(*counts, BatchSeq(seq));
    return counts;
  };
  ASSERT_GE(num_batches_, 8U);
  // Batch 1 twice on one thread, 2 on two threads of a sampler and again on
  // another sampler, 4 twice, 0, 3 and all from 6 on nowhere.
  std::vector<std::unique_ptr<OnlineCounts>> one;
  one.push_back(counts_of({1, 1, 2, 4}));
  one.push_back(counts_of({2, 5}));
  std::vector<std::unique_ptr<OnlineCounts>> two;
  two.push_back(counts_of({2, 4}));
  const std::vector<fs::path> files = {Write(std::move(one)),
                                       Write(std::move(two))};
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<uint32_t> counts,
                            SumOfCounts(files, sampling_, Counting()));
  EXPECT_EQ(counts, Expected());
}

TEST_F(OnlineCountsTest, DistrustsTheFile) {
  std::vector<std::unique_ptr<OnlineCounts>> of_threads;
  of_threads.push_back(NewCounts());
  const fs::path path = Write(std::move(of_threads));
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_THAT(SumOfCounts({{path}}, sampling_, Counting()),
              DataLoss(path.string()));
}

}  // namespace
}  // namespace fgnn
