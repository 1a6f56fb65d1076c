// Which batches a trainer claims before it needs them.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_AHEAD_CHOICE_H_
#define FGNN_TRAINER_SERVICE_DAEMON_AHEAD_CHOICE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "shared/minibatch/batches_per_epoch.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Which batches may be claimed before the trainer asks for them: none, the
// batches of the open steps, or also the batches of the step after these.
struct AheadLimit {
  enum Batches { kNothing, kOpenSteps, kNextStep };
  Batches batches = kNextStep;
  // Number of trainers that train now. This trainer keeps no more than its
  // share of a step's batches waiting, so that other trainers have batches too.
  uint32_t num_trainers = 1;
};

// Decides; never claims. Thread-compatible: its owner has a lock.
class AheadChoice {
 public:
  // Borrows the segment.
  AheadChoice(const Segment& segment, AheadLimit limit)
      : plan_(segment.options()), shape_(segment.shape()), limit_(limit) {}

  // Sets the limit. Returns whether other batches may be claimed now.
  bool SetLimit(AheadLimit limit);
  // Number of trainers that train now.
  uint32_t num_trainers() const { return limit_.num_trainers; }
  // Whether any batch may be claimed.
  bool may_claim() const { return limit_.batches != AheadLimit::kNothing; }

  // Returns the batches from which to claim, step by step. If several steps may
  // be open, the last step is first. What is claimed waits while another batch
  // is trained; for a batch of the first step all other trainers could wait.
  // `limit`: GradientBoard::training_limit().
  std::vector<BatchRange> Ranges(const OpenSteps& open, StepNumber limit) const;
  // Keeps a batch that was claimed from Ranges(). Returns false if it is to be
  // given back: a batch of an open step could wait for the overflow block in
  // which it lies. No batch of its step is claimed until the step opens then.
  bool Keep(BatchSeq seq, bool in_overflow, const OpenSteps& open);
  // Forgets the batches that were kept for steps before this one.
  void ForgetBefore(StepNumber step);
  // Forgets all batches that were kept.
  void Forget() { kept_.clear(); }

 private:
  bool MayKeepMore(StepNumber step) const;

  const SegmentOptions& plan_;
  const JobShape& shape_;
  AheadLimit limit_;
  std::map<StepNumber, uint32_t> kept_;  // Number of batches kept, per step.
  // A step whose next batch lies in an overflow block.
  std::optional<StepNumber> overflowing_step_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_AHEAD_CHOICE_H_
