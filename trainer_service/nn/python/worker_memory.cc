#include "trainer_service/nn/python/worker_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/threads/futex.h"

namespace fgnn {
namespace {

constexpr uint64_t kRequests = 0;
constexpr uint64_t kAnswers = 4;
constexpr uint64_t kTextBytes = 8;
constexpr uint64_t kText = 4096;
constexpr uint64_t kMostTextBytes = 1 << 20;
constexpr uint64_t kPageBytes = 4096;

}  // namespace

absl::StatusOr<WorkerMemory> WorkerMemory::Make() {
  UniqueFd fd(::memfd_create("fgnn-worker", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoToStatus(errno, "make a worker's memory");
  // A file that shrinks under the trainer would end it by SIGBUS.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return ErrnoToStatus(errno, "seal a worker's memory");
  }
  WorkerMemory memory(std::move(fd));
  FGNN_RETURN_IF_ERROR(memory.Reserve(first_place()));
  return memory;
}

WorkerMemory::WorkerMemory(WorkerMemory&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      answers_seen_(other.answers_seen_) {}

WorkerMemory::~WorkerMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

uint64_t WorkerMemory::first_place() { return kText + kMostTextBytes; }

absl::Status WorkerMemory::Reserve(uint64_t end) {
  if (end <= size_) return absl::OkStatus();
  // Somewhat more, so that batches which get larger bit by bit do not each grow
  // it.
  const uint64_t wanted = std::max(end, size_ + size_ / 4);
  const uint64_t size = (wanted + kPageBytes - 1) / kPageBytes * kPageBytes;
  const std::string what = absl::StrCat("take ", size, " bytes for a worker");
  // Pages are taken now: a later write that finds none is a SIGBUS.
  if (const int error =
          ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(size))) {
    return ErrnoToStatus(error, what);
  }
  void* const data = data_ == nullptr
                         ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                  MAP_SHARED, fd_.get(), 0)
                         : ::mremap(data_, size_, size, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) return ErrnoToStatus(errno, what);
  data_ = static_cast<std::byte*>(data);
  size_ = size;
  return absl::OkStatus();
}

void WorkerMemory::Send(absl::string_view request) {
  std::copy(request.begin(), request.end(), at<char>(kText));
  *at<uint32_t>(kTextBytes) = static_cast<uint32_t>(request.size());
  answers_seen_ = ReadCounter(at<uint32_t>(kAnswers));
  AnnounceOn(at<uint32_t>(kRequests));
}

bool WorkerMemory::WaitForAnswer(Deadline deadline) {
  const uint32_t* const answers = at<uint32_t>(kAnswers);
  WaitOn(answers, answers_seen_, deadline);
  return ReadCounter(answers) != answers_seen_;
}

absl::StatusOr<std::string> WorkerMemory::answer() const {
  // The user's code can write anything here, and at any time.
  const auto bytes = std::atomic_ref<uint32_t>(
      *reinterpret_cast<uint32_t*>(data_ + kTextBytes));
  const uint64_t length = bytes.load(std::memory_order_relaxed);
  if (length > kMostTextBytes) {
    return absl::DataLossError("a worker's answer is damaged");
  }
  return std::string(reinterpret_cast<const char*>(data_ + kText), length);
}

}  // namespace fgnn
