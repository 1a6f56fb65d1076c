// Rows that the next batches of the trainer need again. They are kept from one
// batch until its next use, in place of rows that are needed last (Belady, IBM
// Systems Journal 1966). Which batches come next is known, since samplers work
// ahead of trainers.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_WINDOW_ROW_WINDOW_H_
#define FGNN_TRAINER_SERVICE_FEATURES_WINDOW_ROW_WINDOW_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/types.h"
#include "shared/device/memory.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/features/match/row_match.h"

namespace fgnn {

// Rows that a batch has loaded lie in its memory while the next batch is
// extracted, which copies them from there (RowMatch). They come here when their
// batch leaves that place.
struct LeavingRows {
  const RowMatch* match = nullptr;  // Which rows they are.
  const float* rows = nullptr;      // [rows of the batch, F].
};

// N vertices, F columns, R rows that are kept, as f32. No result of a job
// depends on which rows these are.
//
//   Expect(seq) …        the batches that come next, in their order
//   Pass(seq)            batch seq is extracted now
//   TryBegin()           false: another batch is being extracted with the rows
//     Find()             the batch's rows that are here
//     Keep()             rows of the batch before it, if they are needed
//     soonest
//   End()
//
// Expect(), Pass() and TryBegin(): any thread. The functions between TryBegin()
// and End(): the thread that has begun.
class RowWindow {
 public:
  // Most batches that may be expected at a time.
  static constexpr uint32_t kMostAhead = 16;

  // Returns how many of the rows that a trainer may cache give their memory to
  // its window.
  static uint64_t ShareOf(uint64_t cached_rows, uint64_t num_nodes);
  // Returns R, the number of rows for which so many bytes suffice; 0: there is
  // no room for one.
  static uint64_t RowsIn(uint64_t bytes, uint64_t num_nodes,
                         uint64_t num_columns);

  // ResourceExhausted, with need: no memory.
  static absl::StatusOr<std::unique_ptr<RowWindow>> Make(uint64_t num_rows,
                                                         uint64_t num_nodes,
                                                         uint64_t num_columns);

  // Notes that batch `seq` comes, and that it needs the rows of these misses.
  // Does nothing if the batch is expected already, or kMostAhead are.
  void Expect(BatchSeq seq, const BatchMisses& misses);
  // Notes that the batch is extracted: it needs no row later.
  void Pass(BatchSeq seq, const BatchMisses& misses);

  // Returns false if another thread has begun. Otherwise the rows stay until
  // Keep() of this thread.
  bool TryBegin() { return !is_begun_.exchange(true); }
  void End() { is_begun_ = false; }

  const float* rows() const { return rows_.get(); }  // [R, F]
  // Sets places[i], where it is kNotKept, to kInWindow plus the row of node i,
  // if the row is here. Returns how many are.
  uint64_t Find(absl::Span<const GlobalId> nodes, uint32_t* places) const;
  // Gives up the rows that the batch has now, since Find() found them for
  // `places`. Of the others, and of the leaving ones that the batch does not
  // have (`arriving`: its rows), keeps the R that are needed soonest. Copies
  // with `team`. Throws std::bad_alloc.
  absl::Status Keep(absl::Span<const uint32_t> places, const RowMatch& arriving,
                    const LeavingRows& leaving, ThreadTeam& team);

 private:
  using Uses = uint16_t;
  static_assert(8 * sizeof(Uses) == kMostAhead);
  // Number of batches before the next use of a row that no expected batch
  // needs.
  static constexpr uint32_t kNoUse = kMostAhead;

  // Which rows are kept: those of a lower distance than `last`, and
  // `num_of_last` of that distance.
  struct Choice {
    uint32_t last = 0;
    uint64_t num_of_last = 0;
    bool Takes(uint32_t distance);
  };
  // A leaving row that may be kept.
  struct Leaving {
    GlobalId node = 0;
    uint32_t row = 0;    // Row of its batch.
    uint32_t place = 0;  // Row here, once it has one.
  };

  RowWindow(uint64_t num_nodes, uint64_t num_columns, uint64_t num_rows);

  // Notes for each of the misses whether the batch of this number needs it.
  void SetUses(const BatchMisses& misses, uint32_t number, bool is_used)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns how many batches lie before the next one that needs the vertex.
  uint32_t DistanceOf(GlobalId node) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Choice Choose(const std::vector<Leaving>& leaving) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes places from rows that are needed late, and gives them to leaving
  // rows. Removes the others of these.
  void Replace(std::vector<Leaving>* leaving);
  // Takes its number from a batch that passes no more.
  void Forget(uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t num_nodes_;
  const uint64_t num_columns_;
  std::atomic<bool> is_begun_ = false;
  TableMemory<float> rows_;        // [R, F]
  std::vector<GlobalId> node_in_;  // [R] Vertex of the row, or kNoNode.
  RowMatch places_;                // Row of each vertex of node_in_.

  Mutex mutex_;
  // [N] Bit n: whether the expected batch of number n needs the vertex.
  TableMemory<Uses> uses_ ABSL_GUARDED_BY(mutex_);
  // The expected batches, by their numbers. Batches get the numbers in turns,
  // in the order in which they are expected.
  std::array<std::optional<BatchSeq>, kMostAhead> expected_
      ABSL_GUARDED_BY(mutex_);
  uint32_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  // Number of the expected batch that passed last.
  uint32_t passed_ ABSL_GUARDED_BY(mutex_) = kMostAhead - 1;
  BatchSeq last_passed_ ABSL_GUARDED_BY(mutex_);  // Largest one that passed.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_WINDOW_ROW_WINDOW_H_
