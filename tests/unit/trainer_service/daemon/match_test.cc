// Rows of the batch before: what a trainer copies of them, and that features
// and weights are the same without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "tools/dataset/generating/generate.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/backend/cpu/cpu_features.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/daemon/batch_source.h"
#include "trainer_service/daemon/job_trainer.h"
#include "trainer_service/sync/board_exchange.h"

namespace fgnn {
namespace {

constexpr OwnerIndex kMatchTrainer{2};
constexpr uint64_t kRankOrder = 5;
constexpr uint64_t kCachedRows = 40;
constexpr uint32_t kEpochBatches = 7;  // Of an epoch, and of a step.

JobSpec JobOn(const std::filesystem::path& data, const std::string& store,
              const std::string& match) {
  JobSpec spec = SmallJob(data);
  spec.model.kind = "gat";  // Takes copies, also of rows in memory.
  spec.features.store = store;
  spec.features.match = match;
  return spec;
}

class MatchTest : public testing::TestWithParam<FeatureType> {
 protected:
  void SetUp() override {
    RmatOptions options;
    options.common.out = folder_ / "data";
    options.common.feature_columns = kSmallColumns;
    options.common.feature_type = GetParam();
    options.common.num_classes = kSmallClasses;
    options.scale = 7;
    options.edge_factor = 2;
    FGNN_ASSERT_OK(GenerateRmat(options));
    Use(JobOn(folder_ / "data", "memory", "off"));
    expected_ = std::move(backend_);
    // The hottest vertices are among those of the made-up batches.
    const uint64_t num_nodes = expected_->dataset().num_nodes();
    for (uint32_t i = 0; i < num_nodes; ++i) {
      hottest_.push_back(static_cast<GlobalId>((i * 37 + 11) % num_nodes));
    }
    FGNN_ASSERT_OK(RankOrder::Save(expected_->dataset(), kRankOrder, hottest_));
    FGNN_ASSERT_OK_AND_ASSIGN(
        order_, RankOrder::Open(expected_->dataset(), kRankOrder));
  }

  void Use(const JobSpec& spec) {
    source_.reset();  // Its thread uses the back end.
    FGNN_ASSERT_OK_AND_ASSIGN(backend_, CpuBackend::OpenForJob(spec, 2));
  }

  // All batches of the epoch are sampled, and may be taken.
  void StartOver() {
    source_.reset();
    SegmentOptions options = SmallSegmentOptions("job");
    options.num_slots = kEpochBatches;
    options.batches_per_step = kEpochBatches;
    FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
    segment_->SetCachePlan({.rank_order_key = kRankOrder, .rows = plan_rows_});
    GlobalQueue(segment_.get(), kNoOwner)
        .OpenForSampling(BatchSeq(kEpochBatches));
    GlobalQueue sampler(segment_.get(), kSamplerOwner, 0);
    for (uint32_t i = 0; i < kEpochBatches; ++i) {
      ASSERT_TRUE(SampleNext(&sampler, options.job_key, &*order_));
    }
    GradientBoard board(segment_.get(), kMatchTrainer);
    std::optional<StepLease> lease = board.TryLease();
    ASSERT_TRUE(lease.has_value());
    FGNN_ASSERT_OK((*std::move(lease)).Publish());
    GradientBoard(segment_.get(), kNoOwner).OpenForTraining(StepNumber(1));
  }
  void MakeSource(uint32_t ahead, uint32_t num_trainers = 1) {
    source_.emplace(BatchSourceOptions{.owner = kMatchTrainer,
                                       .ahead = ahead,
                                       .limit = {.num_trainers = num_trainers}},
                    backend_.get(), segment_.get());
  }

  absl::Span<float> DenseOf(const ExtractedBatch& batch) {
    return static_cast<const CpuFeatures&>(*batch.features).dense();
  }
  std::set<GlobalId> MissesOf(const TaskView& task) {
    std::set<GlobalId> misses;
    for (const GlobalId node : task.input_nodes) {
      if (order_->ranks()[node] >= num_cached_) misses.insert(node);
    }
    return misses;
  }

  // Takes and checks batches until the last one is taken. Returns how many
  // rows they matched. `change` changes the features of a batch that is taken.
  template <typename Change>
  uint64_t TakeAll(Change change, uint32_t batches = kEpochBatches) {
    uint64_t matched = 0;
    std::set<GlobalId> before;
    order_is_kept_ = true;
    num_expected_ = 0;
    BatchSeq last(0);
    const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
    for (uint32_t taken = 0; taken < batches;) {
      if (MonotonicClock::now() > deadline) {
        ADD_FAILURE() << "took " << taken << " batches";
        break;
      }
      auto batch = source_->Next();
      EXPECT_THAT(batch, IsOk());
      if (!batch.ok()) break;
      if (!batch->has_value()) continue;
      ExtractedBatch& one = **batch;
      ExpectRows(one);
      order_is_kept_ = order_is_kept_ && (taken == 0 || one.slot.seq() > last);
      last = one.slot.seq();
      const std::set<GlobalId> misses = MissesOf(one.task);
      for (const GlobalId node : misses) num_expected_ += before.count(node);
      before = misses;
      EXPECT_EQ(one.rows.num_cached,
                one.task.input_nodes.size() - misses.size());
      matched += one.rows.num_matched;
      change(DenseOf(one));
      EXPECT_THAT(std::move(one.slot).Release(), IsOk());
      source_->GiveBack(std::move(one.features));
      ++taken;
    }
    return matched;
  }
  uint64_t TakeAll() {
    return TakeAll([](absl::Span<float>) {});
  }
  void ExpectRows(const ExtractedBatch& batch) {
    std::vector<float> rows(batch.task.input_nodes.size() * kSmallColumns);
    FGNN_ASSERT_OK(expected_->host().features().CopyRows(batch.task.input_nodes,
                                                         rows.data()));
    const absl::Span<const float> dense = DenseOf(batch);
    ASSERT_EQ(dense.size(), rows.size());
    EXPECT_EQ(
        0, std::memcmp(dense.data(), rows.data(), rows.size() * sizeof(float)))
        << "batch " << batch.slot.seq().value();
  }

  const TempFolder folder_;
  std::unique_ptr<CpuBackend> expected_;
  std::unique_ptr<CpuBackend> backend_;
  std::vector<GlobalId> hottest_;
  std::optional<RankOrder> order_;
  std::unique_ptr<Segment> segment_;
  std::optional<BatchSource> source_;
  uint64_t plan_rows_ = kCachedRows;   // Rows of the segment's cache plan.
  uint64_t num_cached_ = kCachedRows;  // Number of the hottest that are cached.
  // Of TakeAll(): whether batches came in their order; how many misses were
  // misses of the batch before.
  bool order_is_kept_ = false;
  uint64_t num_expected_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Types, MatchTest,
                         testing::Values(FeatureType::kFloat32,
                                         FeatureType::kFloat16,
                                         FeatureType::kBfloat16));

TEST_P(MatchTest, FeaturesAreTheSameAndRowsOfTheBatchBeforeAreCopied) {
  for (const char* const store : {"disk", "memory"}) {
    for (const char* const match : {"on", "off"}) {
      Use(JobOn(folder_ / "data", store, match));
      for (const uint32_t ahead : {0U, 1U, 2U, 3U}) {
        SCOPED_TRACE(absl::StrCat(store, " ", match, " ahead ", ahead));
        StartOver();
        MakeSource(ahead);
        const uint64_t matched = TakeAll();
        EXPECT_TRUE(order_is_kept_);
        EXPECT_GT(num_expected_, 0U);
        EXPECT_EQ(matched, match == std::string("on") ? num_expected_ : 0);
      }
    }
  }
}

TEST_P(MatchTest, ByItselfWhereFeaturesAreOnTheDisk) {
  for (const char* const store : {"disk", "memory"}) {
    Use(JobOn(folder_ / "data", store, "auto"));
    StartOver();
    MakeSource(/*ahead=*/1);
    EXPECT_EQ(TakeAll() > 0, store == std::string("disk"));
  }
}

// All batches of the epoch are in the queue, so the trainer sees all of them.
TEST_P(MatchTest, AWindowKeepsRowsForLaterBatches) {
  for (const char* const store : {"disk", "memory"}) {
    Use(JobOn(folder_ / "data", store, "window"));
    plan_rows_ = 2 * num_cached_;  // The window has the other half.
    for (const uint32_t ahead : {0U, 1U, 3U}) {
      SCOPED_TRACE(absl::StrCat(store, " ahead ", ahead));
      StartOver();
      MakeSource(ahead);
      const uint64_t matched = TakeAll();
      EXPECT_TRUE(order_is_kept_);
      EXPECT_GT(matched, num_expected_);
    }
  }
  // Beside other trainers it looks at no batch that these could have.
  StartOver();
  MakeSource(/*ahead=*/1, /*num_trainers=*/2);
  EXPECT_EQ(TakeAll(), num_expected_);
  EXPECT_GT(num_expected_, 0U);
}

// The rows of a batch stay what they were while the batch lies in a buffer that
// is trained, or was given back.
TEST_P(MatchTest, BatchesThatAreGivenBackMayBeMatchedWith) {
  Use(JobOn(folder_ / "data", "disk", "on"));
  StartOver();
  MakeSource(/*ahead=*/3);
  TakeAll([](absl::Span<float>) {}, 1);
  source_->LimitAhead({.batches = AheadLimit::kNothing});
  const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
  while (!source_->GiveBackAhead()) {
    ASSERT_LT(MonotonicClock::now(), deadline);
    std::this_thread::yield();
  }
  source_->LimitAhead({});
  TakeAll([](absl::Span<float>) {}, kEpochBatches - 1);
  EXPECT_TRUE(order_is_kept_);
}

TEST_P(MatchTest, RowsThatDropoutChangesAreNotCopied) {
  JobSpec spec = JobOn(folder_ / "data", "disk", "auto");
  spec.model.input_dropout = 0.5;
  Use(spec);
  for (const uint32_t ahead : {0U, 1U, 3U}) {
    StartOver();
    MakeSource(ahead);
    const uint64_t matched = TakeAll([](absl::Span<float> features) {
      for (float& feature : features) feature = -1;
    });
    EXPECT_EQ(matched, 0U);
  }
}

// A job of one trainer, with and without.
class MatchedJobTest : public testing::Test {
 protected:
  MatchedJobTest() { WriteSmallDataset(folder_ / "data"); }

  // Returns the last weights. Fills in the records of the last epoch.
  std::vector<float> Train(const std::string& match, uint32_t ahead) {
    const JobSpec spec = [&] {
      JobSpec job = SmallJob(folder_ / "data");
      job.features.store = "disk";
      job.features.match = match;
      job.features.ahead = ahead;
      return job;
    }();
    const SegmentOptions options = SmallSegmentOptions("job");
    const std::unique_ptr<Segment> segment = Segment::Create(options).value();
    const std::unique_ptr<CpuBackend> backend =
        CpuBackend::OpenForJob(spec, 2).value();
    GlobalQueue sampler(segment.get(), kSamplerOwner, 0);
    GradientBoard board(segment.get(), kNoOwner);
    GlobalQueue(segment.get(), kNoOwner).OpenForSampling(BatchSeq(14));
    board.OpenForTraining(StepNumber(6));
    BoardExchange steps(segment.get(), kMatchTrainer);
    JobTrainer trainer(spec, backend.get(), &steps, segment.get(),
                       kMatchTrainer);
    const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
    while (board.version().value_or(0) < 6) {
      if (MonotonicClock::now() > deadline) {
        ADD_FAILURE() << "version " << board.version().value_or(0);
        return {};
      }
      SampleNext(&sampler, options.job_key);
      const absl::StatusOr<bool> worked = trainer.DoNext();
      EXPECT_THAT(worked, IsOk());
      if (!worked.ok()) return {};
    }
    records_.clear();
    for (BatchSeq seq(7); seq < BatchSeq(14); ++seq) {
      records_.push_back(board.record({seq}).value_or(BatchRecord()));
    }
    const absl::Span<const float> weights = board.weights(6);
    return {weights.begin(), weights.end()};
  }

  // The input nodes of a batch, as its made-up task has them.
  static std::set<GlobalId> NodesOf(uint64_t seq) {
    Scratch<std::byte> memory;
    constexpr size_t kBytes = 1 << 14;
    const absl::Span<std::byte> block = {memory.Reserve(kBytes), kBytes};
    const uint64_t key = SmallSegmentOptions("job").job_key;
    EXPECT_THAT(WriteMadeUpTask(block, key, BatchSeq(seq)), IsOk());
    const absl::Span<const GlobalId> nodes =
        ReadTask(block, key).value().input_nodes;
    return {nodes.begin(), nodes.end()};
  }

  const TempFolder folder_;
  std::vector<BatchRecord> records_;
};

TEST_F(MatchedJobTest, LoadsWhatItsBatchBeforeDidNotHaveToTheRow) {
  const std::vector<float> expected = Train("off", 0);
  for (const BatchRecord& record : records_) EXPECT_EQ(record.num_matched, 0U);
  for (const uint32_t ahead : {0U, 1U, 3U}) {
    SCOPED_TRACE(ahead);
    const std::vector<float> weights = Train("on", ahead);
    ASSERT_EQ(weights.size(), expected.size());
    EXPECT_EQ(0, std::memcmp(weights.data(), expected.data(),
                             weights.size() * sizeof(float)));
    uint32_t all = 0;
    for (uint64_t seq = 7; seq < 14; ++seq) {
      const BatchRecord& record = records_[seq - 7];
      ASSERT_EQ(record.seq_plus_one, seq + 1);
      const std::set<GlobalId> before = NodesOf(seq - 1);
      uint32_t kept = 0;
      for (const GlobalId node : NodesOf(seq)) {
        kept += static_cast<uint32_t>(before.count(node));
      }
      EXPECT_EQ(record.num_matched, kept) << seq;
      all += kept;
    }
    EXPECT_GT(all, 0U);
  }
}

}  // namespace
}  // namespace fgnn
