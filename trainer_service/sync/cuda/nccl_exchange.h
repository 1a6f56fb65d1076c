// The exchange of gradients between GPUs of one host, by NCCL.
#ifndef FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_EXCHANGE_H_
#define FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_EXCHANGE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"
#include "trainer_service/sync/board_exchange.h"
#include "trainer_service/sync/cuda/nccl_api.h"
#include "trainer_service/sync/cuda/nccl_member.h"
#include "trainer_service/sync/cuda/step_gradients.h"
#include "trainer_service/sync/exchange_factory.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {

struct NcclExchangeOptions {
  int device = 0;  // Number of the GPU.
  // Whether gradients are added in the order of the batches, with the bits of
  // the board. Otherwise NCCL adds them, in an order of its own.
  bool ordered = true;
  // Longest wait for the other trainers, in one call or until they are ready.
  std::chrono::milliseconds timeout{20'000};
};

// The trainers of a job are a group (shared/queue/meeting_table.h). Once all
// gradients of a step are on the board, each sends those that it has trained to
// the others' devices, from its own device if its back end has left them there.
// One of them leases the step, adds the gradients on its device, makes the step
// on the host and publishes it.
//
// The board keeps the gradients, so that no death and no error costs more than
// the group: a step whose gradients cannot be exchanged is made from the board,
// and the members that are left, or new ones, meet in another group. No call
// waits longer than `timeout`.
class NcclExchange final : public StepExchange {
 public:
  // Takes a place among the segment's members. Borrows the segment. Errors of
  // StepGradients::Make() and of NcclMember::Join().
  static absl::StatusOr<std::unique_ptr<NcclExchange>> Join(
      const nccl::Api& api, const NcclExchangeOptions& options,
      Segment* segment, OwnerIndex owner);
  // Leaves the group.
  ~NcclExchange() override;
  NcclExchange(const NcclExchange&) = delete;
  NcclExchange& operator=(const NcclExchange&) = delete;

  // Also returns false while the others are not ready. Internal: NCCL has
  // failed several times in a row, while all members were there.
  absl::StatusOr<bool> TryStep(Make make) override;
  // Returns places for gradients that go to the board, for the next step.
  DevicePlaceFinder DevicePlaces() override;

  // Number of steps whose gradients were exchanged.
  uint64_t num_exchanged() const { return num_exchanged_; }

 private:
  // Where the gradients of a step are to be added.
  enum class Place { kNotYet, kDevice, kBoard };

  NcclExchange(int device, Segment* segment, OwnerIndex owner,
               std::unique_ptr<NcclMember> member, StepGradients gradients);
  absl::StatusOr<Place> PlaceOf(StepNumber step);
  absl::StatusOr<bool> Exchange(StepNumber step, uint64_t group);
  absl::StatusOr<bool> MakeStep(StepNumber step, Place place, Make make);

  const int device_;
  const uint32_t parts_;  // Number of gradients of a batch.
  GradientBoard board_;
  BoardExchange on_board_;
  StepGradients gradients_;
  // Below the gradients, which its group may be sending when it is destroyed.
  const std::unique_ptr<NcclMember> member_;
  std::optional<StepNumber> exchanged_;  // The step that gradients_ has.
  std::optional<StepNumber> given_up_;   // The step that the board makes.
  uint64_t num_exchanged_ = 0;
};

// Exchanges of a program: by NCCL for jobs with training.sync nccl, else the
// board. `open`: see OpenNccl().
using NcclOpener = std::function<absl::StatusOr<nccl::Api>()>;
ExchangeFactory NcclExchangesWith(NcclOpener open, int device);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_EXCHANGE_H_
