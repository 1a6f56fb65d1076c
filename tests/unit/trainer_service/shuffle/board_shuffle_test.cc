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
#include "trainer_service/compute/numbers.h"
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
    const uint64_t row_bytes = RowBytes(rows);
    auto* const all = static_cast<std::byte*>(rows.rows);
    std::vector<std::byte> out;
    for (const uint32_t row : task_.split.levels[hop].send) {
      const std::byte* const from = all + row * row_bytes;
      out.insert(out.end(), from, from + row_bytes);
    }
    return Exchange(hop, true,
                    {.out = out.data(),
                     .in = all + rows.own * row_bytes,
                     .row_bytes = row_bytes});
  }
  absl::Status Backward(uint32_t hop, const PartRows& gradient,
                        ThreadTeam& /*team*/) override {
    const absl::Span<const uint32_t> send = task_.split.levels[hop].send;
    const uint64_t row_bytes = RowBytes(gradient);
    auto* const all = static_cast<std::byte*>(gradient.rows);
    std::vector<std::byte> in(send.size() * row_bytes);
    FGNN_RETURN_IF_ERROR(Exchange(hop, false,
                                  {.out = all + gradient.own * row_bytes,
                                   .in = in.data(),
                                   .row_bytes = row_bytes}));
    for (size_t i = 0; i < send.size(); ++i) {
      std::byte* const to = all + send[i] * row_bytes;
      const std::byte* const from = in.data() + i * row_bytes;
      for (uint64_t c = 0; c < gradient.columns; ++c) {
        if (gradient.precision == Precision::kBfloat16) {
          Bfloat16& sum = reinterpret_cast<Bfloat16*>(to)[c];
          sum = RoundToBfloat16(
              Widen(sum) + Widen(reinterpret_cast<const Bfloat16*>(from)[c]));
        } else {
          reinterpret_cast<float*>(to)[c] +=
              reinterpret_cast<const float*>(from)[c];
        }
      }
    }
    return absl::OkStatus();
  }
  absl::Status Exchange(uint32_t hop, bool forward,
                        const PackedExchange& rows) override {
    return shuffle_.Exchange(hop, forward, rows);
  }

 private:
  static uint64_t RowBytes(const PartRows& rows) {
    return rows.columns * (rows.precision == Precision::kBfloat16
                               ? sizeof(Bfloat16)
                               : sizeof(float));
  }

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
    for (const auto& part : parts_) part->task.shares_inputs = shares_inputs;
    SegmentOptions options;
    options.message_bytes = PlannedBytes(random_->task(), shares_inputs);
    EXPECT_LE(MessagePlaces(parts_[0]->task, model).total_bytes(),
              options.message_bytes);
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

  // What the scheduler plans for a batch of these sources.
  uint64_t PlannedBytes(const TaskView& whole, bool shares_inputs) const {
    const uint64_t number = model_.precision == Precision::kBfloat16 ? 2 : 4;
    const auto bytes_of = [&](uint32_t hop, uint64_t row_bytes) {
      return MessageBytes(kParts, whole.hops[hop].num_sources, row_bytes);
    };
    uint64_t bytes = 0;
    for (uint32_t hop = 0; hop + 1 < model_.layers; ++hop) {
      bytes += 2 * bytes_of(hop, model_.hidden * number);
    }
    if (!shares_inputs) return bytes;
    return bytes +
           bytes_of(model_.layers - 1, model_.input_columns * sizeof(float));
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
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBfloat16}) {
    const ModelOptions model = OptionsOf("graphsage", precision);
    packs_ = [](uint32_t) { return false; };
    ASSERT_NO_FATAL_FAILURE(Start(model));
    const auto expected = ComputeAll();
    for (const uint32_t first : {0U, 1U}) {
      ASSERT_NO_FATAL_FAILURE(Start(model, /*shares_inputs=*/true));
      packs_ = [first](uint32_t part) { return part >= first; };
      EXPECT_EQ(ComputeAll(), expected) << "parts from " << first << " on pack";
    }
  }
}

// A GPU may send features as bf16, which take half.
TEST_F(BoardShuffleTest, BytesAreThoseOfTheRowsThatWereSent) {
  const ModelOptions model = OptionsOf("graphsage", Precision::kBfloat16);
  ASSERT_NO_FATAL_FAILURE(Start(model, /*shares_inputs=*/true));
  const TaskView& task = parts_[0]->task;
  const uint64_t row_bytes = model.input_columns * sizeof(Bfloat16);
  const TaskSplit::Level& level = task.split.levels[model.layers - 1];
  const std::vector<std::byte> out(level.send.size() * row_bytes);
  std::vector<std::byte> in(level.remote_nodes.size() * row_bytes);
  // In a second visit the rows are there, and count all the same.
  for (int visit = 0; visit < 2; ++visit) {
    BoardShuffle shuffle(&task, model, board_.get(), [](uint32_t, uint32_t) {
      return absl::AbortedError(kGivesUp);
    });
    EXPECT_EQ(shuffle.message_bytes(), 0U);
    EXPECT_THAT(
        shuffle.Exchange(
            model.layers - 1, /*forward=*/true,
            {.out = out.data(), .in = in.data(), .row_bytes = row_bytes}),
        StatusIs(absl::StatusCode::kAborted, kGivesUp));
    EXPECT_EQ(shuffle.message_bytes(), out.size());
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
