// The role slice of a device to sample, which the threads of its sampler share.
// The first thread that finds sampling due takes the slice. It ends with the
// last batch under way.
#ifndef FGNN_SAMPLER_SERVICE_DAEMON_SAMPLING_SLICE_H_
#define FGNN_SAMPLER_SERVICE_DAEMON_SAMPLING_SLICE_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/types.h"
#include "shared/queue/device_table.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Thread-safe.
class SamplingSlice {
 public:
  // Borrows the segment, which has this device.
  SamplingSlice(Segment* segment, OwnerIndex owner, uint32_t device,
                uint32_t num_threads);
  // Precondition: no thread has a share.
  ~SamplingSlice();
  SamplingSlice(const SamplingSlice&) = delete;
  SamplingSlice& operator=(const SamplingSlice&) = delete;

  // The part of a thread in the slice, for one batch. Move-only.
  class Share {
   public:
    Share(Share&& other) noexcept
        : slice_(std::exchange(other.slice_, nullptr)),
          made_(other.made_),
          yields_(other.yields_) {}
    Share& operator=(Share&&) = delete;
    ~Share() {
      if (slice_ != nullptr) slice_->End(made_, yields_);
    }
    // Notes that the thread has published a batch.
    void Made() { made_ = true; }
    // Notes that no batch can be made before this device or another one has
    // trained. The slice ends.
    void Yield() { yields_ = true; }

   private:
    friend class SamplingSlice;
    explicit Share(SamplingSlice* slice) : slice_(slice) {}
    SamplingSlice* slice_;
    bool made_ = false;
    bool yields_ = false;
  };

  // Asks NextWork() and joins the slice. Returns nullopt if the device has
  // other work, or none.
  std::optional<Share> Join();
  // Ends the slice after the batches under way. No thread joins from now on.
  void Leave();

 private:
  void End(bool made, bool yields);
  void EndIfIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountTime() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  DeviceTable table_;
  const uint32_t device_;
  const uint32_t num_threads_;
  const double parts_;  // Number of tasks of a batch.
  Mutex mutex_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether no thread joins until the slice has ended.
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_left_ ABSL_GUARDED_BY(mutex_) = false;
  bool yields_ ABSL_GUARDED_BY(mutex_) = false;
  // Number of shares.
  uint32_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  // Number of batches of this slice.
  uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
  // Time and number of batches that AddSampleTime() has not got yet.
  Stopwatch watch_ ABSL_GUARDED_BY(mutex_);
  // Seconds of slices before this slice.
  double seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t batches_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_DAEMON_SAMPLING_SLICE_H_
