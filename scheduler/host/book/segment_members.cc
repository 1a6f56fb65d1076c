#include "scheduler/host/book/segment_members.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/types.h"

namespace fgnn {

void SegmentMembers::Open(JobSegment* segment) {
  const std::string& job_id = segment->job_id();
  table_->jobs()[job_id].segment = segment;
  for (auto& [name, daemon] : table_->daemons()) {
    if (daemon.wanted_by == job_id) daemon.attachment = {};
  }
}

uint32_t SegmentMembers::TakeOver(JobSegment* segment) {
  const std::string& job_id = segment->job_id();
  table_->jobs()[job_id].segment = segment;
  std::vector<OwnerIndex> living;
  for (auto& [name, daemon] : table_->daemons()) {
    DaemonAttachment& attachment = daemon.attachment;
    if (attachment.owner == kNoOwner || attachment.job_id != job_id) continue;
    attachment.answered = true;
    living.push_back(attachment.owner);
    segment->devices().SetExecutorOf(attachment.owner, daemon.number);
  }
  return segment->ReclaimAllBut(living);
}

void SegmentMembers::Close(const std::string& job_id) {
  HostedJob* const job = table_->FindJob(job_id);
  if (job != nullptr) job->segment = nullptr;
}

std::vector<std::string> SegmentMembers::open_jobs() const {
  std::vector<std::string> open;
  for (const auto& [id, job] : table_->jobs()) {
    if (job.segment != nullptr) open.push_back(id);
  }
  return open;
}

absl::StatusOr<int> SegmentMembers::SegmentFor(
    pid_t peer, const std::string& job_id) const {
  const JobSegment* const segment = table_->SegmentOf(job_id);
  if (segment == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("job ", job_id, " has no segment here"));
  }
  for (const auto& [name, daemon] : table_->daemons()) {
    if (daemon.process.has_value() && daemon.process->pid() == peer &&
        daemon.registered && daemon.attachment.job_id == job_id &&
        daemon.attachment.owner != kNoOwner) {
      return segment->fd();
    }
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "process ", peer, " is no daemon that job ", job_id, " is attached to"));
}

absl::StatusOr<UniqueFd> SegmentMembers::ScratchFor(pid_t peer,
                                                    const std::string& job_id,
                                                    uint64_t number) const {
  FGNN_RETURN_IF_ERROR(SegmentFor(peer, job_id).status());
  return table_->SegmentOf(job_id)->Scratch(number);
}

std::vector<DaemonAddress> SegmentMembers::FindAll(const std::string& job_id,
                                                   ExecutorRole role,
                                                   bool attached) const {
  std::vector<DaemonAddress> found;
  for (const auto& [name, daemon] : table_->daemons()) {
    if (daemon.wanted_by == job_id && daemon.registered &&
        daemon.placement.role == role &&
        (daemon.attachment.answered || !attached) && !table_->IsLost(daemon)) {
      found.push_back(daemon.address());
    }
  }
  return found;
}

bool SegmentMembers::IsIdle(const Daemon& daemon,
                            const std::string& job_id) const {
  return daemon.wanted_by == job_id && daemon.registered &&
         daemon.attachment.owner == kNoOwner && !table_->IsLost(daemon);
}

std::vector<std::string> SegmentMembers::Attachable(
    const std::string& job_id) const {
  std::vector<std::string> names;
  if (table_->SegmentOf(job_id) == nullptr) return names;
  for (const auto& [name, daemon] : table_->daemons()) {
    if (IsIdle(daemon, job_id)) names.push_back(name);
  }
  return names;
}

absl::StatusOr<AttachTicket> SegmentMembers::BeginAttach(
    const std::string& job_id, const std::string& name) {
  JobSegment* const segment = table_->SegmentOf(job_id);
  const auto place = table_->daemons().find(name);
  if (segment == nullptr || place == table_->daemons().end() ||
      !IsIdle(place->second, job_id)) {
    return absl::NotFoundError(
        absl::StrCat(name, " is not idle for job ", job_id));
  }
  Daemon& daemon = place->second;
  FGNN_ASSIGN_OR_RETURN(daemon.attachment.owner, segment->TakeOwner());
  daemon.attachment.job_id = job_id;
  segment->devices().SetExecutorOf(daemon.attachment.owner, daemon.number);
  return AttachTicket{daemon.address(), daemon.attachment.owner,
                      daemon.placement.role, daemon.number};
}

void SegmentMembers::EndAttach(const AttachTicket& ticket) {
  Daemon* const daemon = table_->Find(ticket.daemon);
  if (daemon != nullptr && daemon->attachment.owner == ticket.owner) {
    daemon->attachment.answered = true;
  }
}

std::vector<DaemonAddress> SegmentMembers::Attached(
    const std::string& job_id) const {
  std::vector<DaemonAddress> attached;
  for (const auto& [name, daemon] : table_->daemons()) {
    if (daemon.attachment.owner != kNoOwner &&
        daemon.attachment.job_id == job_id) {
      attached.push_back(daemon.address());
    }
  }
  return attached;
}

void SegmentMembers::EndDetach(const DaemonAddress& address) {
  Daemon* const daemon = table_->Find(address);
  if (daemon == nullptr || daemon->attachment.owner == kNoOwner) return;
  JobSegment* const segment = table_->SegmentOf(daemon->attachment.job_id);
  if (segment != nullptr) segment->ReleaseOwner(daemon->attachment.owner);
  daemon->attachment = {};
}

}  // namespace fgnn
