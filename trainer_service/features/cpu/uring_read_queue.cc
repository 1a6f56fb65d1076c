#include "trainer_service/features/cpu/uring_read_queue.h"

#include <liburing.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Longest wait in seconds. A disk that answers none of many reads for so long
// will never answer.
constexpr int64_t kLongestWaitSeconds = 60;

class UringReadQueue : public ReadQueue {
 public:
  UringReadQueue(int fd, uint32_t depth) : fd_(fd), ended_(depth) {}
  UringReadQueue(const UringReadQueue&) = delete;
  UringReadQueue& operator=(const UringReadQueue&) = delete;
  ~UringReadQueue() override {
    if (is_open_) ::io_uring_queue_exit(&ring_);
  }

  absl::Status Open() {
    const int error =
        ::io_uring_queue_init(static_cast<unsigned>(ended_.size()), &ring_, 0);
    if (error < 0) return RefusedRing(-error);
    is_open_ = true;
    return absl::OkStatus();
  }

  void Begin(uint32_t slot, uint64_t offset,
             absl::Span<std::byte> to) override {
    // There is always room: the ring has as many entries as there are slots.
    io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
    ::io_uring_prep_read(entry, fd_, to.data(),
                         static_cast<unsigned>(to.size()), offset);
    ::io_uring_sqe_set_data64(entry, slot);
  }

  absl::StatusOr<absl::Span<const EndedRead>> Take(bool wait) override {
    FGNN_RETURN_IF_ERROR(Submit(wait));
    size_t count = 0;
    io_uring_cqe* entry = nullptr;
    while (count < ended_.size() && ::io_uring_peek_cqe(&ring_, &entry) == 0) {
      ended_[count++] = {
          static_cast<uint32_t>(::io_uring_cqe_get_data64(entry)), entry->res};
      ::io_uring_cqe_seen(&ring_, entry);
    }
    return absl::MakeSpan(ended_).subspan(0, count);
  }

 private:
  absl::Status Submit(bool wait) {
    for (;;) {
      __kernel_timespec limit = {kLongestWaitSeconds, 0};
      io_uring_cqe* first = nullptr;
      const int done = wait ? ::io_uring_submit_and_wait_timeout(
                                  &ring_, &first, 1, &limit, nullptr)
                            : ::io_uring_submit(&ring_);
      if (done >= 0) return absl::OkStatus();
      if (done == -ETIME) {
        return absl::UnavailableError(absl::StrCat("no read was answered for ",
                                                   kLongestWaitSeconds, " s"));
      }
      if (done != -EINTR && done != -EAGAIN && done != -EBUSY) {
        return ErrnoToStatus(-done, "hand reads to io_uring");
      }
      // Reads that have ended make room.
      if (::io_uring_cq_ready(&ring_) > 0) return absl::OkStatus();
    }
  }

  const int fd_;
  std::vector<EndedRead> ended_;
  io_uring ring_ = {};
  bool is_open_ = false;
};

}  // namespace

absl::Status RefusedRing(int error) {
  if (error != ENOSYS && error != EPERM && error != EACCES) {
    return ErrnoToStatus(error, "set up io_uring");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "io_uring is refused (", std::strerror(error),
      "): allow it (sysctl kernel.io_uring_disabled=0; a container's seccomp "
      "profile), or keep features in memory"));
}

absl::StatusOr<std::unique_ptr<ReadQueue>> MakeUringReadQueue(int fd,
                                                              uint32_t depth) {
  auto queue = std::make_unique<UringReadQueue>(fd, depth);
  FGNN_RETURN_IF_ERROR(queue->Open());
  return queue;
}

}  // namespace fgnn
