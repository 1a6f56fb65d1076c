// How the parts of a batch exchange rows (GSplit, section 5: the shuffle of
// split parallelism). Each part computes the rows of its own vertices. Behind
// them lie remote rows, those of other parts' vertices that its edges need.
#ifndef FGNN_TRAINER_SERVICE_NN_ROW_SHUFFLE_H_
#define FGNN_TRAINER_SERVICE_NN_ROW_SHUFFLE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

class ThreadTeam;

// Rows that a device has copied to the host, and room for those that it gets.
// They lie without gaps, by the part that they go to or come from, parts
// ascending. Forwards `out` has the rows of TaskSplit::Level::send, and `in`
// gets the remote rows. Backwards `out` has the gradients of the remote rows,
// and `in` gets those of the rows of `send`. Borrowed.
struct PackedExchange {
  const void* out = nullptr;
  void* in = nullptr;
  uint64_t row_bytes = 0;
};

// Rows of the sources of a hop, at the place that a part has for them: its own
// rows, then the remote ones in the order of TaskView::split. Borrowed.
struct PartRows {
  void* rows = nullptr;  // [own + remote, columns] floats or Bfloat16s.
  Precision precision = Precision::kFloat32;
  uint64_t columns = 0;
  uint64_t own = 0;
  uint64_t remote = 0;
};

// All parts of a batch make the same calls in the same order, each on a thread
// or in a process of its own. `hop`: the hop whose sources the rows are.
// `team`: threads that may copy rows.
class RowShuffle {
 public:
  virtual ~RowShuffle() = default;

  // Fills the remote rows with those that the other parts have as own rows.
  virtual absl::Status Forward(uint32_t hop, const PartRows& rows,
                               ThreadTeam& team) = 0;
  // Adds to each own row what the other parts have at their remote rows for it,
  // in the order of the parts. Each sum is of f32, and rounded to the
  // precision. The remote rows are left as they are.
  virtual absl::Status Backward(uint32_t hop, const PartRows& gradient,
                                ThreadTeam& team) = 0;
  // Does the part of Forward(), or of Backward(), that the host has where rows
  // lie on a device: sends rows, and waits for others. Nothing is added up.
  virtual absl::Status Exchange(uint32_t hop, bool forward,
                                const PackedExchange& rows) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_ROW_SHUFFLE_H_
