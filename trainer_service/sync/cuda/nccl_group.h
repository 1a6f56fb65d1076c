// A group of GPUs that exchanges arrays by NCCL, with deadlines.
#ifndef FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_GROUP_H_
#define FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_GROUP_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "shared/base/clock.h"
#include "shared/device/cuda/stream.h"
#include "trainer_service/sync/cuda/nccl_api.h"

namespace fgnn {

struct NcclGroupOptions {
  nccl::UniqueId id = {};  // Id of this group, the same for all members.
  uint32_t rank = 0;       // Rank of this member, [0, num_members).
  uint32_t num_members = 1;
  // Longest time that a call waits for the other members.
  std::chrono::milliseconds timeout{20'000};
  // Whether all members are still there. A call that waits asks now and then.
  std::function<bool()> goes_on;
};

// The members are the same for the whole life of the group. All of them make
// the same calls in the same order. One call at a time, with the same current
// device.
//
// Errors: Unavailable: goes_on() returned false. DeadlineExceeded: a member did
// not call in time. Internal: NCCL or the device failed. After any of them the
// group is of no use any more. No call waits longer than the options say, as
// what is under way is aborted.
class NcclGroup {
 public:
  // Returns once all members have joined.
  static absl::StatusOr<std::unique_ptr<NcclGroup>> Join(
      const nccl::Api& api, const NcclGroupOptions& options);
  // Leaves the group, and aborts what is under way. Calls of other members that
  // wait for this member wait until goes_on() or the time ends them.
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // Sends arrays of `count` floats of device memory from their owners to all.
  // Array i lies at arrays + i * count of each member; roots[i] is the rank of
  // the member that has it before the call. Waits for the work of `stream`.
  // Returns once all members have called: a member that has all arrays itself
  // would otherwise go on alone, and the others would take its next call for
  // this one. `word`: a float of device memory, which is changed.
  absl::Status Share(absl::Span<const uint32_t> roots, float* arrays,
                     uint64_t count, float* word, const CudaStream& stream);
  // Replaces an array of `count` floats by the sum of all members' arrays. The
  // order of the sum is NCCL's. Waits as Share().
  absl::Status Sum(float* array, uint64_t count, const CudaStream& stream);

 private:
  NcclGroup(const nccl::Api& api, NcclGroupOptions options)
      : api_(api), options_(std::move(options)) {}
  absl::Status Start();
  absl::Status Exchange(absl::string_view what,
                        absl::FunctionRef<nccl::Result()> call,
                        const CudaStream& stream);
  absl::Status Settle(absl::string_view what, nccl::Result result,
                      Deadline deadline);
  absl::Status Finish(absl::string_view what, const CudaStream& stream,
                      Deadline deadline);
  absl::Status CheckMembers(absl::string_view what, Deadline deadline) const;
  absl::Status Failed(absl::string_view what, nccl::Result result) const;
  void Abort();

  const nccl::Api api_;
  const NcclGroupOptions options_;
  nccl::Comm* comm_ = nullptr;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_SYNC_CUDA_NCCL_GROUP_H_
