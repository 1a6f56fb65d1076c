#include "scheduler/host/book/daemon_views.h"

#include "scheduler/executors/job_devices.h"
#include "scheduler/executors/job_segment.h"
#include "scheduler/host/book/daemon.h"

namespace fgnn {
namespace {

// Returns the state of an attached daemon: it stands by while it is not its
// turn.
DaemonState StateAttached(const DaemonTable& table, const Daemon& daemon) {
  JobSegment* const segment = table.SegmentOf(daemon.attachment.job_id);
  if (segment == nullptr || !daemon.works_on_device()) {
    return DaemonState::kWorking;
  }
  const JobDevices& devices = segment->devices();
  if (daemon.number >= devices.size()) return DaemonState::kWorking;
  const DeviceWork own = daemon.placement.role == ExecutorRole::kSampler
                             ? DeviceWork::kSample
                             : DeviceWork::kTrain;
  return devices.table().working(daemon.number) == own ? DaemonState::kWorking
                                                       : DaemonState::kStandby;
}

ExecutorView ViewOf(const DaemonTable& table, const Daemon& daemon) {
  ExecutorView view;
  view.placement = daemon.placement;
  view.job_id = daemon.attachment.job_id;
  view.batches = daemon.figures.batches;
  view.evaluated_permille = daemon.figures.evaluated_permille;
  view.restarts = daemon.restarts.count;
  if (table.IsLost(daemon)) view.state = DaemonState::kLost;
  if (!daemon.process.has_value()) return view;
  view.pid = daemon.process->pid();
  view.resident_bytes = daemon.figures.resident_bytes;
  if (view.state == DaemonState::kLost) return view;
  view.state = !daemon.registered ? DaemonState::kStarting
               : daemon.attachment.owner != kNoOwner
                   ? StateAttached(table, daemon)
                   : DaemonState::kIdle;
  return view;
}

}  // namespace

std::vector<ExecutorView> AllViews(const DaemonTable& table) {
  std::vector<ExecutorView> views;
  for (const auto& [name, daemon] : table.daemons()) {
    views.push_back(ViewOf(table, daemon));
  }
  return views;
}

std::vector<ExecutorView> ViewsOf(const DaemonTable& table,
                                  const std::string& job_id) {
  std::vector<ExecutorView> views;
  for (const auto& [name, daemon] : table.daemons()) {
    if (daemon.wanted_by == job_id) views.push_back(ViewOf(table, daemon));
  }
  return views;
}

}  // namespace fgnn
