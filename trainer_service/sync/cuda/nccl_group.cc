#include "trainer_service/sync/cuda/nccl_group.h"

#include <string>
#include <thread>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// NCCL has no wait with a deadline, so the group asks.
constexpr std::chrono::microseconds kPause{50};
// Time between two looks at who is there, while the device works.
constexpr std::chrono::milliseconds kLook{2};

}  // namespace

absl::StatusOr<std::unique_ptr<NcclGroup>> NcclGroup::Join(
    const nccl::Api& api, const NcclGroupOptions& options) {
  auto group = absl::WrapUnique(new NcclGroup(api, options));
  FGNN_RETURN_IF_ERROR(group->Start());
  return group;
}

NcclGroup::~NcclGroup() { Abort(); }

void NcclGroup::Abort() {
  if (comm_ != nullptr) api_.comm_abort(std::exchange(comm_, nullptr));
}

absl::Status NcclGroup::Failed(absl::string_view what,
                               nccl::Result result) const {
  const char* const last = api_.get_last_error(comm_);
  return absl::InternalError(absl::StrCat(
      "NCCL cannot ", what, ": ", api_.get_error_string(result),
      last == nullptr || *last == '\0' ? "" : absl::StrCat(" (", last, ")")));
}

absl::Status NcclGroup::CheckMembers(absl::string_view what,
                                     Deadline deadline) const {
  if (!options_.goes_on()) {
    return absl::UnavailableError(
        absl::StrCat("a trainer of the group is gone; NCCL cannot ", what));
  }
  if (MonotonicClock::now() < deadline) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("NCCL cannot ", what,
                   ": a trainer of the group did not "
                   "answer within ",
                   options_.timeout.count(), " ms"));
}

// Waits until a call that returned `result` is done.
absl::Status NcclGroup::Settle(absl::string_view what, nccl::Result result,
                               Deadline deadline) {
  while (result == nccl::kInProgress) {
    FGNN_RETURN_IF_ERROR(CheckMembers(what, deadline));
    std::this_thread::sleep_for(kPause);
    const nccl::Result asked = api_.comm_get_async_error(comm_, &result);
    if (asked != nccl::kSuccess) return Failed(what, asked);
  }
  return result == nccl::kSuccess ? absl::OkStatus() : Failed(what, result);
}

absl::Status NcclGroup::Start() {
  constexpr absl::string_view kWhat = "join the trainers' group";
  const Deadline deadline = DeadlineIn(options_.timeout);
  nccl::Config config;
  const nccl::Result result = api_.comm_init_rank_config(
      &comm_, static_cast<int>(options_.num_members), options_.id,
      static_cast<int>(options_.rank), &config);
  return Settle(kWhat, result, deadline);
}

// Waits for the stream's work.
absl::Status NcclGroup::Finish(absl::string_view what, const CudaStream& stream,
                               Deadline deadline) {
  FGNN_ASSIGN_OR_RETURN(CudaEvent done, CudaEvent::Make());
  FGNN_RETURN_IF_ERROR(done.Record(stream));
  while (true) {
    const absl::Status status = done.Wait(DeadlineIn(kLook));
    if (!absl::IsDeadlineExceeded(status)) return status;
    FGNN_RETURN_IF_ERROR(CheckMembers(what, deadline));
    nccl::Result result = nccl::kSuccess;
    const nccl::Result asked = api_.comm_get_async_error(comm_, &result);
    if (asked != nccl::kSuccess) return Failed(what, asked);
    if (result != nccl::kSuccess) return Failed(what, result);
  }
}

absl::Status NcclGroup::Exchange(absl::string_view what,
                                 absl::FunctionRef<nccl::Result()> call,
                                 const CudaStream& stream) {
  if (comm_ == nullptr) {
    return absl::InternalError("this group of trainers has failed before");
  }
  const Deadline deadline = DeadlineIn(options_.timeout);
  absl::Status status = Settle(what, call(), deadline);
  if (status.ok()) status = Finish(what, stream, deadline);
  // The stream's work ends then, whatever the other members do.
  if (!status.ok()) Abort();
  return status;
}

absl::Status NcclGroup::Share(absl::Span<const uint32_t> roots, float* arrays,
                              uint64_t count, float* word,
                              const CudaStream& stream) {
  const auto share = [&] {
    for (size_t i = 0; i < roots.size(); ++i) {
      float* const array = arrays + i * count;
      const nccl::Result result =
          api_.broadcast(array, array, count, nccl::kFloat32,
                         static_cast<int>(roots[i]), comm_, stream.get());
      if (result != nccl::kSuccess && result != nccl::kInProgress) {
        return result;
      }
    }
    return api_.all_reduce(word, word, 1, nccl::kFloat32, nccl::kSum, comm_,
                           stream.get());
  };
  return Exchange(
      "share gradients",
      [&] {
        nccl::Result result = api_.group_start();
        if (result != nccl::kSuccess) return result;
        result = share();
        const nccl::Result ended = api_.group_end();
        return result == nccl::kSuccess || result == nccl::kInProgress ? ended
                                                                       : result;
      },
      stream);
}

absl::Status NcclGroup::Sum(float* array, uint64_t count,
                            const CudaStream& stream) {
  return Exchange(
      "add gradients",
      [&] {
        return api_.all_reduce(array, array, count, nccl::kFloat32, nccl::kSum,
                               comm_, stream.get());
      },
      stream);
}

}  // namespace fgnn
