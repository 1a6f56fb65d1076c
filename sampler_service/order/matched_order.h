// The order in which a job with `sampling.order: matched` takes its batches.
//
//   number of a batch in its job    0  1  2  3 | 4  5  6  7 | 8  9   end of
//   batch of the epoch, as drawn    2  0  3  1 | 5  4  7  6 | 9  8   epoch
//                                    window 0  |  window 1  | window 2
//
// An epoch's drawn batches are cut into windows, of which the last one may be
// shorter. Within each, MatchedPath() orders them by the input nodes that they
// share. Queue, board, checkpoints and digests know the number in the job
// alone.
//
// The law. The order is a pure function of the job: of dataset, sampling and
// seed, which draw the batches, and of `sampling.window` and W. Who works, how
// many, and what is cached change nothing, for weights must not depend on it.
//
// A window does not look at the windows before it. A path from the batch that
// the window before ends with would chain each window to all before it in the
// epoch: a sampler that begins in the middle, after a death or a resume, would
// have to sample the whole epoch up to there. Such a path would gain one good
// neighbour a window and chain.
#ifndef FGNN_SAMPLER_SERVICE_ORDER_MATCHED_ORDER_H_
#define FGNN_SAMPLER_SERVICE_ORDER_MATCHED_ORDER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/order/order_gain.h"
#include "sampler_service/order/window_overlap.h"
#include "sampler_service/sampling/sampler.h"
#include "sampler_service/sampling/scratch_block.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/types.h"
#include "shared/minibatch/batches_per_epoch.h"

namespace fgnn {

struct MatchedOrderOptions {
  uint64_t batches_per_epoch = 1;  // At least 1.
  uint32_t window = 16;            // Batches of a window, [1, kMaxWindow].
  uint32_t chains = 1;             // Number of chains: the job's W, at least 1.
};

// Returns the batches of the window of this batch.
BatchRange WindowOf(BatchSeq seq, const MatchedOrderOptions& options);

// The first thread that asks for a batch of a window samples the window's
// batches up to their input nodes and finds the path. Others wait meanwhile, if
// they need this window or another new one. The last windows are kept.
// Thread-safe.
class MatchedOrder {
 public:
  // ResourceExhausted: no memory for two words per vertex.
  static absl::StatusOr<std::unique_ptr<MatchedOrder>> Create(
      const SamplerInput& input, const SamplerOptions& sampling,
      const MatchedOrderOptions& options);
  // Writes the gain of the last epoch to the log.
  ~MatchedOrder();
  MatchedOrder(const MatchedOrder&) = delete;
  MatchedOrder& operator=(const MatchedOrder&) = delete;

  // Returns the number by which batch `seq` of the job is drawn. `sampler` is
  // the calling thread's, of the same job. `check` is called between batches,
  // and every 100 ms while the thread waits. Errors: those of Sampler::Tally()
  // and of `check`, and Internal for what throws, for the thread that has them
  // alone.
  absl::StatusOr<BatchSeq> DrawnOf(BatchSeq seq, Sampler& sampler,
                                   absl::FunctionRef<absl::Status()> check);

 private:
  struct Window {
    BatchSeq begin;               // First of its batches.
    std::vector<uint32_t> order;  // Drawn batches of the window, by place.
  };
  // What the thread that orders a window needs.
  struct Workspace {
    WindowOverlap overlap;
    ScratchBlock block;
  };

  MatchedOrder(const MatchedOrderOptions& options,
               std::unique_ptr<Workspace> workspace)
      : options_(options), workspace_(std::move(workspace)) {}

  absl::StatusOr<Window> OrderWindow(const BatchRange& batches,
                                     Workspace& workspace, Sampler& sampler,
                                     absl::FunctionRef<absl::Status()> check,
                                     WindowGain* gain) const;
  const Window* Find(BatchSeq begin) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Keeps a window that was ordered, and writes the gain of an epoch to the log
  // once the next one begins.
  void Keep(Window window, const WindowGain& gain)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const MatchedOrderOptions options_;
  Mutex mutex_;
  CondVar changed_;  // A window is there, or the workspace is back.
  // Null: a thread orders a window with it.
  std::unique_ptr<Workspace> workspace_ ABSL_GUARDED_BY(mutex_);
  std::deque<Window> windows_ ABSL_GUARDED_BY(mutex_);  // Newest last.
  OrderGain gain_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_ORDER_MATCHED_ORDER_H_
