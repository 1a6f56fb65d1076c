// A host whose trainers make an evaluation over hosts, of made-up results.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_TRADING_HOST_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_TRADING_HOST_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "shared/base/files/unique_fd.h"
#include "shared/executors/chunk_division.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/exchange/exchanges_of_a_job.h"
#include "trainer_service/chunks/chunk_board.h"
#include "trainer_service/exchange/chunk_seat.h"

namespace fgnn {

inline constexpr uint64_t kEvaluation = 77;
// The loop with one chunk, of so many rows that they go in several messages.
inline constexpr uint32_t kOneChunkLoop = 0;
inline constexpr uint64_t kManyRows = 300'000;
inline constexpr uint64_t kRowsOfAChunk = 3;
inline constexpr uint32_t kColumns = 5;
// Of the second loop.
inline constexpr uint32_t kChunks = 12;

inline UniqueFd MemoryOf(const ChunkDivision& division) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_THAT(WriteChunkDivision(fd.get(), division), IsOk());
  return fd;
}

inline ChunkDivision DivisionOf(uint32_t num_hosts, uint32_t self) {
  ChunkDivision division = {
      .evaluation = kEvaluation, .num_hosts = num_hosts, .self = self};
  for (uint32_t host = 0; host < num_hosts; ++host) {
    division.trainers[host] = static_cast<uint16_t>(host + 1);
  }
  return division;
}

// A number that names loop, chunk and place.
inline float ValueOf(uint32_t loop, uint32_t chunk, size_t i) {
  return static_cast<float>((loop * 100 + chunk) * 100 + i);
}

// A host with two loops: one of a large chunk, and one of kChunks chunks.
class TradingHost {
 public:
  TradingHost(uint32_t num_hosts, uint32_t self)
      : memory_(MemoryOf(DivisionOf(num_hosts, self))), board_(Map()) {}

  std::unique_ptr<ChunkBoard> Map() const {
    return ChunkBoard::Open(Duplicate(memory_.get())).value();
  }
  ChunkBoard& board() { return *board_; }
  const std::shared_ptr<ServedChunks>& served() const { return served_; }

  static LoopShape ShapeOf(const ChunkDivision& division, uint32_t loop) {
    if (loop == kOneChunkLoop) {
      return {.starts = {0, kManyRows},
              .ends = std::vector<uint32_t>(division.num_hosts, 1),
              .columns = 1};
    }
    std::vector<uint64_t> starts;
    std::vector<uint64_t> work;
    for (uint32_t chunk = 0; chunk <= kChunks; ++chunk) {
      starts.push_back(chunk * kRowsOfAChunk);
      work.push_back(chunk);
    }
    return {.starts = starts,
            .ends = EndsOfHosts(division, work),
            .columns = kColumns};
  }

  // Says where the loop's results lie.
  void Publish(uint32_t loop) {
    const LoopShape shape = ShapeOf(board_->division(), loop);
    const uint64_t offset = end_;
    end_ += (LoopBytes(shape) + 4095) / 4096 * 4096;
    ASSERT_EQ(::ftruncate(memory_.get(), static_cast<off_t>(end_)), 0);
    FGNN_ASSERT_OK(board_->Publish(loop, 2, shape, offset));
  }
  // Does what trainers do in a loop, but for the wait.
  void Compute(uint32_t loop) {
    Publish(loop);
    while (const auto taken = board_->TakeOwn(loop, 2)) {
      for (uint32_t chunk = taken->first; chunk < taken->end; ++chunk) {
        const absl::Span<float> rows = board_->Rows(loop, chunk);
        for (size_t i = 0; i < rows.size(); ++i) {
          rows[i] = ValueOf(loop, chunk, i);
        }
      }
      board_->NoteHere(loop, taken->first, taken->end);
    }
  }
  void ComputeAll() {
    Compute(0);
    Compute(1);
  }

  // Returns how many chunks of all loops are here with the right rows.
  int NumRight() {
    int right = 0;
    for (const uint32_t loop : {0U, 1U}) {
      const LoopShape* const shape = board_->Find(loop).value();
      for (uint32_t chunk = 0; chunk < shape->num_chunks(); ++chunk) {
        if (!board_->IsHere(loop, chunk)) continue;
        const absl::Span<float> rows = board_->Rows(loop, chunk);
        bool is_right = true;
        for (size_t i = 0; i < rows.size(); ++i) {
          is_right = is_right && rows[i] == ValueOf(loop, chunk, i);
        }
        right += is_right ? 1 : 0;
      }
    }
    return right;
  }

 private:
  const UniqueFd memory_;
  const std::unique_ptr<ChunkBoard> board_;
  const std::shared_ptr<ServedChunks> served_ =
      std::make_shared<ServedChunks>(kJob, 0, Map());
  uint64_t end_ = 2 * ChunkBoard::kPageBytes;
};
inline constexpr int kAllChunks = 1 + static_cast<int>(kChunks);

// Returns a check that is OK for long enough, so that a test that hangs fails.
inline std::function<absl::Status()> UntilFarDeadline() {
  return [end = FarDeadline()]() -> absl::Status {
    if (MonotonicClock::now() < end) return absl::OkStatus();
    return absl::DeadlineExceededError("it hangs");
  };
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_TRADING_HOST_H_
