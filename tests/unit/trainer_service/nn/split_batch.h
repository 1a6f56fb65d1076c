// A batch split into parts by the definition of task.h, slowly, and parts that
// exchange rows in one process.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_SPLIT_BATCH_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_SPLIT_BATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "shared/base/threads/mutex.h"
#include "shared/minibatch/task.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/row_shuffle.h"

namespace fgnn {

// A part of a batch. Owns what its task and its training batch borrow.
struct SplitPart {
  TaskView task;
  std::vector<std::vector<uint32_t>> arrays;
  std::vector<std::vector<float>> weights;
  std::vector<float> features;
  std::vector<int64_t> labels;
  std::vector<float> targets;
  TrainingBatch batch;
};

// Returns the parts of a whole batch. owner(v): the part of global id v.
// Features are dense. Borrows indptr of the batch.
std::vector<std::unique_ptr<SplitPart>> SplitBatch(
    const TrainingBatch& whole, uint32_t num_parts,
    const std::function<uint32_t(uint32_t v)>& owner);

// What the parts of a batch have sent each other.
class MemoryMessages {
 public:
  // Key of a message: hop, direction, sender, receiver.
  using Key = std::tuple<uint32_t, bool, uint32_t, uint32_t>;
  void Send(const Key& key, std::vector<float> rows);
  std::vector<float> WaitFor(const Key& key);

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<Key, std::vector<float>> messages_ ABSL_GUARDED_BY(mutex_);
};

// The shuffle of one part, by messages of floats.
class MemoryShuffle final : public RowShuffle {
 public:
  MemoryShuffle(const TaskView* task, MemoryMessages* messages)
      : task_(*task), messages_(messages) {}
  absl::Status Forward(uint32_t hop, const PartRows& rows,
                       ThreadTeam& team) override;
  absl::Status Backward(uint32_t hop, const PartRows& gradient,
                        ThreadTeam& team) override;
  // All parts of the batch exchange rows so, or none: messages are halves of
  // words.
  absl::Status Exchange(uint32_t hop, bool forward,
                        const PackedExchange& rows) override;

 private:
  // Returns how many rows part `from` sends to part `to`.
  uint32_t Count(uint32_t hop, uint32_t from, uint32_t to) const;

  const TaskView& task_;
  MemoryMessages* const messages_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_SPLIT_BATCH_H_
