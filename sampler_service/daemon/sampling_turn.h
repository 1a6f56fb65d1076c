// The turn of a device to sample, shared by the threads of its sampler: the
// first that finds sampling due takes it, and the last one's batch under way
// ends it.
#ifndef FGNN_SAMPLER_SERVICE_DAEMON_SAMPLING_TURN_H_
#define FGNN_SAMPLER_SERVICE_DAEMON_SAMPLING_TURN_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "shared/base/clock.h"
#include "shared/base/types.h"
#include "shared/queue/device_table.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Thread-safe.
class SamplingTurn {
 public:
  // Borrows the segment, which has this device.
  SamplingTurn(Segment* segment, OwnerIndex owner, uint32_t device,
               uint32_t num_threads);
  // No thread has a share any more.
  ~SamplingTurn();
  SamplingTurn(const SamplingTurn&) = delete;
  SamplingTurn& operator=(const SamplingTurn&) = delete;

  // A thread's part in the turn, for one batch. Move-only.
  class Share {
   public:
    Share(Share&& other) noexcept
        : turn_(std::exchange(other.turn_, nullptr)),
          made_(other.made_),
          yields_(other.yields_) {}
    Share& operator=(Share&&) = delete;
    ~Share() {
      if (turn_ != nullptr) turn_->End(made_, yields_);
    }
    // A batch was published.
    void Made() { made_ = true; }
    // None can be made before this device, or another one, has trained.
    void Yield() { yields_ = true; }

   private:
    friend class SamplingTurn;
    explicit Share(SamplingTurn* turn) : turn_(turn) {}
    SamplingTurn* turn_;
    bool made_ = false;
    bool yields_ = false;
  };

  // Asks NextWork(). nullopt: the device has something else to do, or nothing.
  std::optional<Share> Join();
  // Nobody joins any more.
  void Leave();

 private:
  void End(bool made, bool yields);
  // The following are called with mutex_ held.
  void EndIfIdle();
  void CountTime();

  DeviceTable table_;
  const uint32_t device_;
  const uint32_t num_threads_;
  std::mutex mutex_;
  // The following are guarded by mutex_.
  bool held_ = false;
  bool ending_ = false;  // Nobody joins until the turn has ended.
  bool has_left_ = false;
  bool yields_ = false;
  uint32_t under_way_ = 0;  // Shares.
  uint64_t made_ = 0;       // Batches of this turn.
  // Of the device's time for a batch: not told yet.
  Stopwatch watch_;
  double seconds_ = 0;  // Of turns before this one.
  uint32_t batches_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_DAEMON_SAMPLING_TURN_H_
