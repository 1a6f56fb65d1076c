// Blocks whose destinations are also neighbours of themselves, and the division
// of their lists into tasks.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_SELF_LOOPS_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_SELF_LOOPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/minibatch/task.h"
#include "trainer_service/compute/scratch.h"

namespace fgnn {

// Owns the lists of the last block. Not thread-safe.
class SelfLoops {
 public:
  // Returns the block with each destination before its neighbours. An edge to
  // itself that was drawn stays beside it. Valid until the next call.
  // InvalidArgument: the block has 2^32 edges or more. std::bad_alloc.
  absl::StatusOr<BlockView> Add(const BlockView& block);

 private:
  Scratch<uint32_t> indptr_;
  Scratch<uint32_t> indices_;
};

// Cuts lists into tasks of about as many entries. Returns the first list of
// each, whose numbers are multiples of kDropoutTile, and the end.
std::vector<int64_t> CutByEntries(const uint32_t* indptr, int64_t num_lists);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_MESSAGES_SELF_LOOPS_H_
