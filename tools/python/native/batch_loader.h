// Threads that make batches ahead of a training loop, which takes them in
// order.
#ifndef FGNN_TOOLS_PYTHON_NATIVE_BATCH_LOADER_H_
#define FGNN_TOOLS_PYTHON_NATIVE_BATCH_LOADER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/thread.h"
#include "tools/python/native/job_batches.h"
#include "tools/python/native/loaded_batch.h"
#include "tools/python/native/rank_batches.h"

namespace fgnn {

struct BatchLoaderOptions {
  uint32_t num_threads = 1;  // At least 1.
  // Most batches that are made, or being made, and not taken yet. At least 1.
  uint32_t ahead = 1;
  uint32_t rank = 0;  // See RankBatches.
  uint32_t world = 1;
  bool drops_last = true;
};

//   thread 0   claims index 0, makes its batch ─┐
//   thread 1   claims index 1, makes its batch ─┼─► ready_: by index ─► Next()
//   thread 0   claims index 2, …               ─┘
//
// Thread-safe. After the end of an epoch, threads go on with the next one.
class BatchLoader {
 public:
  // InvalidArgument: the rank is not below the world, or an epoch has no step
  // for so many ranks. Other errors: those of JobBatches::NewSampler() and of
  // starting threads.
  static absl::StatusOr<std::unique_ptr<BatchLoader>> Start(
      std::unique_ptr<JobBatches> source, const BatchLoaderOptions& options);
  // Ends the threads once their batches are made.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  const JobBatches& source() const { return *source_; }
  const std::shared_ptr<BatchPool>& pool() const { return pool_; }

  // Goes to `begin`, the number of the next batch of all ranks. Forgets what
  // was made ahead, unless it is the next epoch's. Returns the number of
  // batches that this rank has of the epoch from there on. Errors: those of
  // JobBatches::CheckUnchanged().
  absl::StatusOr<uint64_t> Seek(BatchSeq begin);

  // Returns the next batch. DeadlineExceeded: it is not made by then.
  // OutOfRange: the rank has no batches. Errors of a thread are returned at the
  // place of their batch, and again until Seek().
  absl::StatusOr<std::unique_ptr<LoadedBatch>> Next(Deadline deadline);

 private:
  using Made = absl::StatusOr<std::unique_ptr<LoadedBatch>>;
  struct Claimed {
    uint64_t run = 0;    // Number of calls of Seek() before it.
    uint64_t index = 0;  // As in RankBatches.
    BatchSeq batch;
  };

  BatchLoader(std::unique_ptr<JobBatches> source,
              const BatchLoaderOptions& options);

  void Loop(const ThreadSampler& sampler);
  // Waits for a batch to make. Returns false if the thread has to end.
  bool Claim(Claimed* claimed);
  Made Make(const Claimed& claimed, const ThreadSampler& sampler);
  // Returns Cancelled if its batch is not needed any more.
  absl::Status CheckNeeded(const Claimed& claimed);

  const std::unique_ptr<JobBatches> source_;
  const BatchLoaderOptions options_;
  const std::shared_ptr<BatchPool> pool_;
  std::vector<ThreadSampler> samplers_;  // By thread.

  Mutex mutex_;
  CondVar changed_;
  bool stops_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t run_ ABSL_GUARDED_BY(mutex_) = 0;
  RankBatches own_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_claimed_ ABSL_GUARDED_BY(mutex_) = 0;  // An index.
  uint64_t next_taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Made> ready_ ABSL_GUARDED_BY(mutex_);  // By index.

  std::vector<Thread> threads_;  // Last: they end before the rest.
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_PYTHON_NATIVE_BATCH_LOADER_H_
