// One inference that several processes make together, in memory that they all
// map:
//
//   first page   of each loop, chunks taken and chunks done; a futex
//   behind it    arrays, as they were reserved
//
// All of them run the same loops over the same chunks; each computes those that
// it takes. A loop has ended once all of its chunks are done, and what was
// written in it is then seen by all. So it does not matter who computes what.
//
// A process that dies, or gives up, with a chunk in its hands leaves the loop
// unfinished for ever: whoever asked for the inference ends the others (their
// `check`) and has it made anew in other memory.
#ifndef FGNN_TRAINER_SERVICE_INFER_SHARED_INFERENCE_H_
#define FGNN_TRAINER_SERVICE_INFER_SHARED_INFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/unique_fd.h"
#include "trainer_service/compute/aligned_buffer.h"

namespace fgnn {

// TakeChunk() and ChunkDone(): any thread. The rest: one thread.
class SharedInference {
 public:
  // `memory`: a memfd that can only grow; empty, or as another process of the
  // same inference left it. InvalidArgument: it could shrink.
  static absl::StatusOr<std::unique_ptr<SharedInference>> Open(UniqueFd memory);
  ~SharedInference();
  SharedInference(const SharedInference&) = delete;
  SharedInference& operator=(const SharedInference&) = delete;

  // An array at a page's boundary, zeros until somebody writes to it. All
  // processes reserve the same sizes in the same order. Pages are taken when
  // they are touched. Stays until this is destroyed.
  absl::StatusOr<absl::Span<std::byte>> Reserve(uint64_t bytes);
  // How much the memory would grow by that: nothing if another process has
  // reserved it before.
  uint64_t Growth(uint64_t bytes) const;

  // A chunk of [0, num_chunks) that nobody has taken; nullopt: none is left.
  // Loops are numbered from 0, in [0, kMostLoops).
  static constexpr uint32_t kMostLoops = 60;
  std::optional<int64_t> TakeChunk(uint32_t loop, int64_t num_chunks);
  void ChunkDone(uint32_t loop, int64_t num_chunks);
  // Returns once all chunks are done. `check` is asked ten times a second or
  // more often; an error of it ends the wait.
  absl::Status WaitForLoop(uint32_t loop, int64_t num_chunks,
                           const std::function<absl::Status()>& check);

 private:
  struct Header;

  explicit SharedInference(UniqueFd memory) : memory_(std::move(memory)) {}
  uint64_t FileBytes() const;

  const UniqueFd memory_;
  std::vector<absl::Span<std::byte>> mapped_;
  uint64_t reserved_bytes_ = 0;
  Header* header_ = nullptr;
};

// Memory of `count` words, reserved in `shared`, or the caller's own where that
// is null. Errors of Reserve().
absl::StatusOr<void*> ReserveWords(SharedInference* shared, size_t count,
                                   AlignedBuffer* own);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_SHARED_INFERENCE_H_
