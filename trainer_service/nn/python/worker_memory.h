// The memory that a trainer and a worker share: a memfd, which the worker has
// as a descriptor. `fgnn.worker` of tools/python knows the same places:
//
//   0     requests, u32: rises with each request; the worker waits on it
//   4     answers, u32: rises with each answer; the trainer waits on it
//   8     length of the text, u32
//   4096  the text, up to 1 MiB: the request, then its answer, in JSON
//   then  arrays, at the places that the request names
//
// A request belongs to the worker until its answer comes. The memory grows, and
// never shrinks while a worker lives.
#ifndef FGNN_TRAINER_SERVICE_NN_PYTHON_WORKER_MEMORY_H_
#define FGNN_TRAINER_SERVICE_NN_PYTHON_WORKER_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

inline constexpr uint32_t kWorkerLayout = 1;  // Version of the above.

// For the trainer's process. One caller at a time.
class WorkerMemory {
 public:
  // ResourceExhausted: there is no memory.
  static absl::StatusOr<WorkerMemory> Make();
  WorkerMemory(WorkerMemory&& other) noexcept;
  WorkerMemory& operator=(WorkerMemory&&) = delete;
  ~WorkerMemory();

  int fd() const { return fd_.get(); }
  // Returns the place of the first array.
  static uint64_t first_place();
  // Makes room for arrays up to this place. Pointers to arrays end.
  // ResourceExhausted: there is no memory.
  absl::Status Reserve(uint64_t end);
  template <typename Number>
  Number* at(uint64_t place) {
    return reinterpret_cast<Number*>(data_ + place);
  }

  // Hands the request over. It is at most 1 MiB.
  void Send(absl::string_view request);
  // Waits until the answer is there, a deadline or 100 ms have passed. Returns
  // whether it is there.
  bool WaitForAnswer(Deadline deadline);
  // Returns the answer, once it is there. DataLoss: the worker has written what
  // is none.
  absl::StatusOr<std::string> answer() const;

 private:
  explicit WorkerMemory(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
  uint32_t answers_seen_ = 0;
};

// Places of arrays, one behind the other.
class ArrayPlaces {
 public:
  // The arrays begin behind `end`.
  explicit ArrayPlaces(uint64_t end) : end_(end) {}

  // Returns the place of an array of so many bytes.
  uint64_t Add(uint64_t bytes) {
    constexpr uint64_t kAlignment = 64;
    const uint64_t place = (end_ + kAlignment - 1) / kAlignment * kAlignment;
    end_ = place + bytes;
    return place;
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t end_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_PYTHON_WORKER_MEMORY_H_
