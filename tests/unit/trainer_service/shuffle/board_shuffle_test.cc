// Parts that exchange rows over a segment's message board.
#include "trainer_service/shuffle/board_shuffle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/message_board.h"
#include "shared/queue/segment.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "tests/unit/trainer_service/nn/small_model.h"
#include "tests/unit/trainer_service/nn/split_batch.h"
#include "trainer_service/nn/cpu/cpu_model.h"

namespace fgnn {
namespace {

constexpr uint32_t kParts = 3;
constexpr char kGivesUp[] = "the test gives up";

ModelOptions OptionsOf(const std::string& kind, Precision precision) {
  ModelOptions options = SmallModel();
  options.kind = kind;
  options.heads = 3;
  options.precision = precision;
  return options;
}

// Rows as a device has them: packed for the exchange, which adds nothing up.
class PackingShuffle final : public RowShuffle {
 public:
  PackingShuffle(const TaskView* task, RowShuffle* shuffle)
      : task_(*task), shuffle_(*shuffle) {}
  absl::Status Forward(uint32_t hop, const PartRows& rows,
                       ThreadTeam& /*team*/) override {
    const TaskSplit::Level& level = task_.split.levels[hop];
    auto* const all = static_cast<float*>(rows.rows);
    std::vector<float> out;
    for (const uint32_t row : level.send) {
      const float* const from = all + row * rows.columns;
      out.insert(out.end(), from, from + rows.columns);
    }
    return Exchange(hop, true,
                    {.out = out.data(),
                     .in = all + rows.own * rows.columns,
                     .row_bytes = rows.columns * sizeof(float)});
  }
  absl::Status Backward(uint32_t hop, const PartRows& gradient,
                        ThreadTeam& /*team*/) override {
    const TaskSplit::Level& level = task_.split.levels[hop];
    const uint64_t columns = gradient.columns;
    auto* const all = static_cast<float*>(gradient.rows);
    std::vector<float> in(level.send.size() * columns);
    FGNN_RETURN_IF_ERROR(Exchange(hop, false,
                                  {.out = all + gradient.own * columns,
                                   .in = in.data(),
                                   .row_bytes = columns * sizeof(float)}));
    for (size_t i = 0; i < in.size(); ++i) {
      all[level.send[i / columns] * columns + i % columns] += in[i];
    }
    return absl::OkStatus();
  }
  absl::Status Exchange(uint32_t hop, bool forward,
                        const PackedExchange& rows) override {
    return shuffle_.Exchange(hop, forward, rows);
  }

 private:
  const TaskView& task_;
  RowShuffle& shuffle_;
};

class BoardShuffleTest : public testing::Test {
 protected:
  void Start(const ModelOptions& model, bool shares_inputs = false) {
    RandomBatchOptions of_batch;
    of_batch.model = model;
    of_batch.num_seeds = 80;
    of_batch.largest_degree = 9;
    model_ = model;
    random_ = std::make_unique<RandomBatch>(of_batch);
    ThreadTeam team(1);
    weights_ = RandomWeights(*MakeCpuModel(model, &team).value(), 5);
    parts_ = SplitBatch(random_->batch(), kParts, [](uint32_t v) {
      return static_cast<uint32_t>(Mix64(v) % kParts);
    });
    SegmentOptions options;
    for (int hop = 0; hop < random_->task().num_hops; ++hop) {
      const uint64_t columns =
          std::max(uint64_t{model.hidden}, model.input_columns);
      options.message_bytes +=
          2 * MessageBytes(kParts, random_->task().hops[hop].num_sources,
                           columns * sizeof(float));
    }
    for (const auto& part : parts_) part->task.shares_inputs = shares_inputs;
    options.job_key = 1;
    options.num_slots = 2 * kParts;
    options.slot_bytes = 4096;
    options.num_overflow_blocks = kParts;
    options.overflow_bytes = 8192;
    options.batches_per_epoch = 4;
    options.epochs = 1;
    options.parts = kParts;
    options.num_messages = NumMessages(model.layers, shares_inputs);
    options.num_parameters = weights_.size();
    FGNN_ASSERT_OK_AND_ASSIGN(segment_, Segment::Create(options));
    board_ = std::make_unique<MessageBoard>(segment_.get());
  }

  // Computes a part. Its trainer gives up when it waits for message `gives_up`.
  absl::StatusOr<std::vector<float>> Compute(uint32_t part, int threads,
                                             int64_t gives_up = -1) {
    ThreadTeam team(threads);
    const auto model = MakeCpuModel(model_, &team).value();
    GradientBoard changes(segment_.get(),
                          OwnerIndex{static_cast<uint16_t>(1 + part)});
    BoardShuffle shuffle(
        &parts_[part]->task, model_, board_.get(),
        [&](uint32_t message, uint32_t of) -> absl::Status {
          if (message == gives_up) return absl::AbortedError(kGivesUp);
          const Deadline deadline = DeadlineIn(std::chrono::minutes(1));
          while (MonotonicClock::now() < deadline) {
            const uint32_t seen = changes.changes();
            if (board_->IsThere(BatchSeq(0), message, of)) {
              return absl::OkStatus();
            }
            FGNN_RETURN_IF_ERROR(changes.WaitForChange(seen, deadline));
          }
          return absl::DeadlineExceededError("a message never came");
        });
    // Features may be changed in place, by dropout.
    std::vector<float> features = parts_[part]->features;
    TrainingBatch batch = parts_[part]->batch;
    batch.features = absl::MakeSpan(features);
    PackingShuffle packing(&parts_[part]->task, &shuffle);
    batch.shuffle = &shuffle;
    if (packs_(part)) batch.shuffle = &packing;
    FGNN_RETURN_IF_ERROR(FetchInputs(batch, team));
    std::vector<float> gradient(weights_.size(), 1e30F);
    FGNN_RETURN_IF_ERROR(
        model->Gradient(weights_, batch, absl::MakeSpan(gradient)).status());
    return gradient;
  }

  // Fetches the features of remote vertices, which the part itself lacks.
  absl::Status FetchInputs(const TrainingBatch& batch, ThreadTeam& team) {
    const TaskView& task = *batch.task;
    if (!task.shares_inputs) return absl::OkStatus();
    const uint64_t columns = model_.input_columns;
    const uint64_t own = task.num_loaded_nodes();
    std::fill(batch.features.begin() + static_cast<int64_t>(own * columns),
              batch.features.end(), std::nanf(""));
    return batch.shuffle->Forward(model_.layers - 1,
                                  {.rows = batch.features.data(),
                                   .columns = columns,
                                   .own = own,
                                   .remote = task.input_nodes.size() - own},
                                  team);
  }

  // Computes all parts but `without`, at once.
  std::vector<std::vector<float>> ComputeAll(uint32_t without = kParts) {
    std::vector<std::vector<float>> gradients(kParts);
    std::vector<std::thread> threads;
    for (uint32_t p = 0; p < kParts; ++p) {
      if (p == without) continue;
      threads.emplace_back([this, p, &gradients] {
        absl::StatusOr<std::vector<float>> gradient =
            Compute(p, static_cast<int>(1 + p % 2));
        EXPECT_THAT(gradient, IsOk());
        if (gradient.ok()) gradients[p] = *std::move(gradient);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return gradients;
  }

  // Returns the gradients by messages that no board has.
  std::vector<std::vector<float>> Expected() {
    std::vector<std::vector<float>> gradients(kParts);
    MemoryMessages messages;
    std::vector<std::thread> threads;
    for (uint32_t p = 0; p < kParts; ++p) {
      threads.emplace_back([&, p] {
        ThreadTeam team(1);
        const auto model = MakeCpuModel(model_, &team).value();
        MemoryShuffle shuffle(&parts_[p]->task, &messages);
        std::vector<float> features = parts_[p]->features;
        TrainingBatch batch = parts_[p]->batch;
        batch.features = absl::MakeSpan(features);
        batch.shuffle = &shuffle;
        gradients[p] = GradientOf(*model, weights_, batch).gradient;
      });
    }
    for (std::thread& thread : threads) thread.join();
    return gradients;
  }

  ModelOptions model_;
  // Whether a part packs its rows, as a device does.
  std::function<bool(uint32_t part)> packs_ = [](uint32_t) { return false; };
  std::unique_ptr<RandomBatch> random_;
  std::vector<float> weights_;
  std::vector<std::unique_ptr<SplitPart>> parts_;
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<MessageBoard> board_;
};

TEST_F(BoardShuffleTest, PartsHaveTheBitsOfThoseThatExchangeRowsElsewhere) {
  for (const std::string kind : {"graphsage", "gcn", "gat"}) {
    SCOPED_TRACE(kind);
    ASSERT_NO_FATAL_FAILURE(Start(OptionsOf(kind, Precision::kFloat32)));
    EXPECT_EQ(ComputeAll(), Expected());
  }
}

TEST_F(BoardShuffleTest, PackedRowsMakeTheSameMessages) {
  const ModelOptions model = OptionsOf("graphsage", Precision::kFloat32);
  ASSERT_NO_FATAL_FAILURE(Start(model));
  const auto expected = Expected();
  for (const uint32_t first : {0U, 1U}) {
    ASSERT_NO_FATAL_FAILURE(Start(model, /*shares_inputs=*/true));
    packs_ = [first](uint32_t part) { return part >= first; };
    EXPECT_EQ(ComputeAll(), expected) << "parts from " << first << " on pack";
  }
}

TEST_F(BoardShuffleTest, FeaturesOfOtherPartsComeOverTheBoardToo) {
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBfloat16}) {
    ModelOptions model = OptionsOf("graphsage", precision);
    model.input_dropout = 0.5;
    ASSERT_NO_FATAL_FAILURE(Start(model));
    const auto expected = ComputeAll();
    ASSERT_NO_FATAL_FAILURE(Start(model, /*shares_inputs=*/true));
    EXPECT_LT(parts_[0]->task.num_loaded_nodes(),
              parts_[0]->task.input_nodes.size());
    EXPECT_EQ(ComputeAll(), expected);
    const auto last = static_cast<uint32_t>(NumMessages(model.layers, true));
    EXPECT_TRUE(board_->IsThere(BatchSeq(0), last - 1, 0));
  }
}

TEST_F(BoardShuffleTest, RowsOfBfloat16AreRoundedAfterEachSum) {
  ASSERT_NO_FATAL_FAILURE(Start(OptionsOf("graphsage", Precision::kBfloat16)));
  const auto gradients = ComputeAll();
  const auto expected = Expected();
  for (uint32_t p = 0; p < kParts; ++p) {
    double worst = 0;
    double scale = 0;
    for (size_t i = 0; i < expected[p].size(); ++i) {
      scale = std::max(scale, std::abs(double{expected[p][i]}));
      worst = std::max(
          worst, std::abs(double{gradients[p][i]} - double{expected[p][i]}));
    }
    EXPECT_GT(scale, 0);
    EXPECT_LE(worst, 4e-3 * scale);
  }
}

// A trainer gives its part back while it waits, at each message. Another one
// does the part again, and sends no message twice.
TEST_F(BoardShuffleTest, APartThatIsGivenBackIsDoneAgainWithTheSameBits) {
  const ModelOptions model = OptionsOf("graphsage", Precision::kFloat32);
  ASSERT_NO_FATAL_FAILURE(Start(model));
  const auto expected = Expected();
  const auto inputs = static_cast<int64_t>(NumMessages(model.layers, false));
  for (int64_t message = 0; message <= inputs; ++message) {
    SCOPED_TRACE(message);
    ASSERT_NO_FATAL_FAILURE(Start(model, /*shares_inputs=*/true));
    std::vector<std::vector<float>> gradients;
    std::thread others([&] { gradients = ComputeAll(/*without=*/0); });
    // The part waits for that message unless it is there already.
    const absl::StatusOr<std::vector<float>> first = Compute(0, 1, message);
    if (!first.ok()) {
      EXPECT_THAT(first, StatusIs(absl::StatusCode::kAborted, kGivesUp));
      // What it has published first stays.
      EXPECT_TRUE(
          board_->IsThere(BatchSeq(0), static_cast<uint32_t>(inputs), 0));
    }
    const absl::StatusOr<std::vector<float>> again = Compute(0, 2);
    others.join();
    ASSERT_THAT(again, IsOk());
    gradients[0] = *again;
    EXPECT_EQ(gradients, expected);
  }
}

}  // namespace
}  // namespace fgnn
