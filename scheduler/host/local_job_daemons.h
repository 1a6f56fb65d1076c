// The daemons that a job has on this scheduler's own host.
#ifndef FGNN_SCHEDULER_HOST_LOCAL_JOB_DAEMONS_H_
#define FGNN_SCHEDULER_HOST_LOCAL_JOB_DAEMONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/executors/job_daemons.h"
#include "scheduler/host/daemon_placer.h"
#include "scheduler/host/daemon_stopper.h"
#include "scheduler/host/host_state.h"

namespace fgnn {

// Each function but terms() takes the state's mutex.
class LocalJobDaemons final : public JobDaemons {
 public:
  // Borrows the pointers. DaemonHost::DaemonsOf() makes these objects.
  LocalJobDaemons(std::string job_id, HostState* state, DaemonStopper* stopper,
                  DaemonPlacer* placer);
  ~LocalJobDaemons() override;

  const HostTerms& terms() const override { return terms_; }
  bool WaitForSurvivors(Deadline deadline) override;
  std::optional<ReturnedMemory> TakeReturned() override;

  absl::Status Want(const std::vector<ExecutorPlacement>& placements,
                    uint32_t restarts,
                    const std::vector<uint32_t>& lost) override;
  void Leave() override;
  absl::Status Failure() const override;
  std::vector<std::string> Unregistered(Deadline deadline) const override;
  bool LoseUnregistered(const std::string& why) override;
  uint32_t restarts() const override;
  std::vector<ExecutorView> Views() const override;
  MemoryUse MeasureMemory() override;

  void OpenSegment(JobSegment* segment) override;
  void TakeOverSegment(JobSegment* segment) override;
  void CloseSegment() override;

  std::vector<DaemonAddress> Find(ExecutorRole role,
                                  bool attached) const override;
  std::vector<std::string> Attachable() const override;
  absl::StatusOr<AttachTicket> BeginAttach(const std::string& name) override;
  void EndAttach(const AttachTicket& ticket) override;
  std::vector<DaemonAddress> Attached() const override;
  void EndDetach(const DaemonAddress& daemon) override;
  bool WaitUntilDetached(Deadline deadline) const override;
  void Kill(const DaemonAddress& daemon, const std::string& why) override;
  bool WaitUntilGone(const DaemonAddress& daemon,
                     Deadline deadline) const override;

 private:
  const std::string job_id_;
  const HostTerms terms_;
  HostState* const state_;
  DaemonStopper* const stopper_;
  DaemonPlacer* const placer_;
  bool has_daemons_ = false;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_LOCAL_JOB_DAEMONS_H_
