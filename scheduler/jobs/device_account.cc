#include "scheduler/jobs/device_account.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shared/base/status.h"

namespace fgnn {
namespace {

// Seconds of each device that a start counts at once. Otherwise a user whose
// jobs fail at once would always go first. A user with many jobs would get all
// free devices.
constexpr double kLeastCharge = 0.1;
// Number of half-lives after which a share is negligible.
constexpr int kRememberedHalfLives = 10;

// Without devices of the service, a job counts as having one device.
double NumDevicesOf(const Job& job) {
  return static_cast<double>(std::max<size_t>(job.devices.size(), 1));
}

}  // namespace

double SecondsLeftOf(const Job& job, double uncounted) {
  if (job.options.time_limit_seconds == 0) return kNoLimit;
  return std::max(0.0,
                  job.options.time_limit_seconds - job.run_seconds - uncounted);
}

int64_t DeviceAccount::NowMs() const {
  return started_ms_ + std::chrono::duration_cast<std::chrono::milliseconds>(
                           clock_() - started_)
                           .count();
}

absl::Status DeviceAccount::Recover(JobStore& store) {
  const int64_t now_ms = NowMs();
  const auto remembered = std::chrono::duration_cast<std::chrono::milliseconds>(
      UserShares::kHalfLife * kRememberedHalfLives);
  FGNN_ASSIGN_OR_RETURN(const std::vector<JobUse> uses,
                        store.UseSince(now_ms - remembered.count()));
  for (const JobUse& use : uses) {
    // What ended later than now was stored by a clock that was wrong. Without
    // the limit nothing else would count beside it.
    shares_.Charge(use.user, use.device_seconds,
                   use.until_ms == 0 ? now_ms : std::min(now_ms, use.until_ms));
  }
  return absl::OkStatus();
}

void DeviceAccount::Begin(ActiveJob& active) {
  active.stay->uncharged.Restart();
  active.stay->prepaid = kLeastCharge * NumDevicesOf(active.job);
  shares_.Charge(active.job.user, active.stay->prepaid, NowMs());
}

void DeviceAccount::Charge(ActiveJob& active) {
  const double used = active.stay->uncharged.Restart();
  const double of_devices = used * NumDevicesOf(active.job);
  active.job.run_seconds += used;
  active.job.device_seconds += of_devices;
  const double paid = std::min(active.stay->prepaid, of_devices);
  active.stay->prepaid -= paid;
  shares_.Charge(active.job.user, of_devices - paid, NowMs());
}

}  // namespace fgnn
