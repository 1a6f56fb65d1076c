// The gradients of a step, exchanged by trainers that share no memory: what
// the gradient board is to those of one host. Each member computes some of the
// step's batches, all are given all gradients, and each makes the same step
// with MakeOptimizerStep(): gathered and then summed in batch order, not
// reduced on the way, so that weights have the bits that the board gives. A
// StepExchange can be made of it.
#ifndef FGNN_TRAINER_SERVICE_SYNC_GLOO_EXCHANGE_H_
#define FGNN_TRAINER_SERVICE_SYNC_GLOO_EXCHANGE_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fgnn {

struct ExchangeOptions {
  // A file that all members reach, by which they find each other. Of this group
  // alone: no group before it has used it.
  std::filesystem::path meeting_file;
  uint32_t rank = 0;  // This member's, [0, num_members).
  uint32_t num_members = 1;
  // This host's, as the others reach it. Empty: what its name stands for.
  std::string address;
  // The most that a call waits for the others.
  std::chrono::milliseconds timeout{30'000};
  uint64_t num_parameters = 0;  // P.
  // The most batches of a step that one member computes, >= 1.
  uint32_t batches_per_member = 1;
};

// The gradients of one step, in batch order, as StepTensors has them.
struct StepGradients {
  std::vector<absl::Span<const float>> gradients;  // [P] each.
  std::vector<uint32_t> num_seeds;                 // The seeds of each.
};

// By libtorch's c10d over gloo: TCP. Members are the same for its whole life.
// One call at a time.
class GlooExchange {
 public:
  // Returns once all members have come. InvalidArgument: an option is out of
  // range; DeadlineExceeded: some did not come in time; Unavailable: one went
  // away, or `address` is none of this host.
  static absl::StatusOr<std::unique_ptr<GlooExchange>> Join(
      const ExchangeOptions& options);
  // Calls of others that wait for this member fail.
  ~GlooExchange();
  GlooExchange(const GlooExchange&) = delete;
  GlooExchange& operator=(const GlooExchange&) = delete;

  // Gives `own` to the others; returns all gradients of the step, those of rank
  // 0 first: consecutive batches for each rank keep their order. A member may
  // have fewer batches than it could, or none; a batch may have no seeds.
  // Borrowed until the next call.
  //
  // All members call it for every step. Unavailable: a member died;
  // DeadlineExceeded: one did not call in time. The group is of no use then
  // (FailedPrecondition): those that are left join a new one, and make the step
  // again from the weights that they all have.
  // InvalidArgument: sizes are not those of the options.
  absl::StatusOr<StepGradients> AllGather(const StepGradients& own);

 private:
  struct Group;
  explicit GlooExchange(std::unique_ptr<Group> group);
  std::unique_ptr<Group> group_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_GLOO_EXCHANGE_H_
