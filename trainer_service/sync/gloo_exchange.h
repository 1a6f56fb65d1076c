// The exchange of a step's gradients between trainers that share no memory.
// Trainers of one host use the gradient board for this. Each member computes
// some of the step's batches, and all members get all gradients. Each member
// then makes the same step with MakeOptimizerStep(). The gradients are gathered
// and then summed in batch order, and not reduced on the way. So the weights
// have the same bits as with the board. A StepExchange can be built on it.
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
  // File that all members can reach and by which they find each other. No other
  // group has used the file before.
  std::filesystem::path meeting_file;
  uint32_t rank = 0;  // Rank of this member, [0, num_members).
  uint32_t num_members = 1;
  // Address at which the other members reach this host. Empty: the address of
  // the host's name.
  std::string address;
  // Longest time that a call waits for the other members.
  std::chrono::milliseconds timeout{30'000};
  uint64_t num_parameters = 0;  // P.
  // Most batches of a step that one member computes, >= 1.
  uint32_t batches_per_member = 1;
};

// The gradients of one step, in batch order, as StepTensors has them.
struct StepGradients {
  std::vector<absl::Span<const float>> gradients;  // [P] each.
  std::vector<uint32_t> num_seeds;  // Number of seeds of each batch.
};

// A group that exchanges gradients by libtorch's c10d over gloo, which uses
// TCP. The members are the same for the whole life of the group. One call at a
// time. The process ignores SIGPIPE, as one with a SignalWaiter does: gloo
// writes to members that may be dead.
class GlooExchange {
 public:
  // Returns once all members have joined. InvalidArgument: an option is out of
  // range. DeadlineExceeded: a member did not join in time. Unavailable: a
  // member went away, or `address` is not an address of this host.
  static absl::StatusOr<std::unique_ptr<GlooExchange>> Join(
      const ExchangeOptions& options);
  // Leaves the group. Calls of other members that wait for this member fail.
  ~GlooExchange();
  GlooExchange(const GlooExchange&) = delete;
  GlooExchange& operator=(const GlooExchange&) = delete;

  // Sends `own` to the other members. Returns all gradients of the step, in the
  // order of ranks. So batches stay in their order if each rank has consecutive
  // ones. A member may have fewer batches than batches_per_member, or none. A
  // batch may have no seeds. The result is borrowed until the next call.
  //
  // All members make this call for every step. Unavailable: a member died.
  // DeadlineExceeded: a member did not call in time. After these errors all
  // calls return FailedPrecondition. The remaining members join a new group,
  // and make the step again from the weights that they all have.
  // InvalidArgument: sizes do not agree with the options.
  absl::StatusOr<StepGradients> AllGather(const StepGradients& own);

 private:
  struct Group;
  explicit GlooExchange(std::unique_ptr<Group> group);
  std::unique_ptr<Group> group_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_GLOO_EXCHANGE_H_
