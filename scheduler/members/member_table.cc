#include "scheduler/members/member_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// A member whose call broke reports within that time, if it lives.
// With the head's next look, the head knows of one that was killed in a second.
constexpr std::chrono::milliseconds kCallsWithin{750};
// Time that a member keeps a job of an earlier scheduler.
constexpr std::chrono::seconds kKeepFor{60};
constexpr int kRevisionsOfStart = 32;  // Bits of the number of a revision.

// InvalidArgument: the member has not lent the device.
absl::Status CheckHas(const MemberFacts& facts, const Device& device) {
  ResourceSet lent;
  for (const Device& one : facts.devices) lent |= ResourcesOf(one);
  const ResourceSet lacks = ResourcesOf(device) & ~lent;
  if (lacks.none()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "devices: ", device.name, " needs ", NameFirst(lacks), ", but host ",
      facts.name, " has ", absl::StrJoin(NamesOf(facts.devices), ", ")));
}

}  // namespace

MemberTable::MemberTable(MemberTerms terms)
    : terms_(std::move(terms)),
      last_revision_(terms_.head.generation << kRevisionsOfStart) {}

void MemberTable::Begin(Member& member, const MemberReport& report) {
  LogInfo("host {} has joined: {}, exchange at {}", report.facts.name,
          absl::StrJoin(NamesOf(report.facts.devices), " "),
          report.facts.exchange);
  const std::vector<std::string>& interrupted = terms_.interrupted_jobs;
  const bool keeps = member.orders.revision == 0 && report.job.has_value() &&
                     std::find(interrupted.begin(), interrupted.end(),
                               report.job->job_id) != interrupted.end();
  // The run of a job that the member had knows by this that it has lost it.
  last_revision_ = std::max(last_revision_, report.revision);
  SetOrder(member, std::nullopt);
  if (!keeps) return;
  member.orders.revision = report.revision;
  member.keeps_until = terms_.clock() + kKeepFor;
}

absl::Status MemberTable::CheckFacts(const MemberFacts& facts) const {
  FGNN_RETURN_IF_ERROR(Annotate(CheckHostName(facts.name), "--host-name"));
  const MemberFacts& head = terms_.head;
  if (facts.version != head.version ||
      facts.segment_layout_version != head.segment_layout_version) {
    return absl::FailedPreconditionError(absl::StrCat(
        "host ", facts.name, " has FGNN ", facts.version,
        " with segment layout ", facts.segment_layout_version, ", the head ",
        head.version, " with ", head.segment_layout_version,
        "; install the same version on both"));
  }
  if (facts.name == head.name) {
    return absl::AlreadyExistsError(
        absl::StrCat("host name ", facts.name,
                     " is the head's own; give another one with --host-name"));
  }
  const auto same = members_.find(facts.name);
  if (same == members_.end() || IsLost(same->second) ||
      same->second.facts.exchange == facts.exchange) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat("host name ", facts.name, " is that of the member at ",
                   same->second.facts.exchange, ", this one is at ",
                   facts.exchange, "; give another one with --host-name"));
}

absl::StatusOr<MemberOrders> MemberTable::Report(const MemberReport& report,
                                                 Deadline deadline) {
  MutexLock lock(&mutex_);
  const MemberFacts& facts = report.facts;
  FGNN_RETURN_IF_ERROR(CheckFacts(facts));
  const auto [found, is_new] = members_.try_emplace(facts.name);
  Member& member = found->second;
  if (is_new || member.facts.generation != facts.generation ||
      member.facts.exchange != facts.exchange) {
    Begin(member, report);
  }
  if (member.keeps_until.has_value() && terms_.clock() >= *member.keeps_until) {
    SetOrder(member, std::nullopt);
  }
  member.facts = facts;
  member.heard = terms_.clock();
  member.report = report.job;
  member.has_left = report.leaves;
  if (report.leaves) {
    LogInfo("host {} leaves", facts.name);
    return member.orders;
  }
  changed_.WaitUntil(&lock, deadline, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return member.orders.revision != report.revision;
  });
  // Not heard again: a break may have been noted meanwhile.
  return member.orders;
}

void MemberTable::NoteBreak(const std::string& name) {
  const MutexLock lock(&mutex_);
  const auto found = members_.find(name);
  if (found == members_.end()) return;
  Deadline& heard = found->second.heard;
  heard = std::min(heard, terms_.clock() - terms_.lost_after + kCallsWithin);
}

std::vector<MemberView> MemberTable::Views() const {
  const MutexLock lock(&mutex_);
  std::vector<MemberView> views;
  for (const auto& [name, member] : members_) {
    views.push_back({.facts = member.facts,
                     .job_id = member.taken_by,
                     .is_lost = IsLost(member),
                     .has_left = member.has_left,
                     .silent_seconds = std::chrono::duration<double>(
                                           terms_.clock() - member.heard)
                                           .count()});
  }
  return views;
}

std::string MemberTable::Names() const {
  if (members_.empty()) return "none";
  return absl::StrJoin(members_, ", ", [](std::string* out, const auto& one) {
    absl::StrAppend(out, one.first);
  });
}

absl::Status MemberTable::CheckHosts(const std::vector<Device>& devices) const {
  const MutexLock lock(&mutex_);
  for (const Device& device : devices) {
    if (!device.host.empty() && terms_.head.exchange.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "devices: ", device.name,
          " is of another host, but the service trades no gradients; start it "
          "with --exchange, or leave that device out"));
    }
    if (device.host.empty()) continue;
    if (device.host == terms_.head.name) {
      return absl::InvalidArgumentError(absl::StrCat(
          "devices: ", device.name, " is of the head's own host; write ",
          OnItsHost(device).name));
    }
    const auto found = members_.find(device.host);
    if (found != members_.end()) {
      FGNN_RETURN_IF_ERROR(CheckHas(found->second.facts, device));
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("devices: ", device.name, " is of host ", device.host,
                     ", which has not joined; hosts that have: ", Names()));
  }
  return absl::OkStatus();
}

absl::Status MemberTable::Take(const std::string& job_id,
                               const std::vector<std::string>& names) {
  const MutexLock lock(&mutex_);
  for (const std::string& name : names) {
    const auto found = members_.find(name);
    if (found == members_.end()) {
      return absl::NotFoundError(
          absl::StrCat("host ", name, " has not joined"));
    }
    if (IsLost(found->second)) {
      return absl::NotFoundError(absl::StrCat("host ", name, " is silent"));
    }
    const std::string& holder = found->second.taken_by;
    if (!holder.empty() && holder != job_id) {
      return absl::UnavailableError(
          absl::StrCat("host ", name, " has job ", holder));
    }
  }
  for (const std::string& name : names) {
    Member& member = members_[name];
    member.taken_by = job_id;
    if (member.keeps_until.has_value()) member.keeps_until = Deadline::max();
  }
  return absl::OkStatus();
}

MemberFacts MemberTable::FactsOf(const std::string& name) const {
  const MutexLock lock(&mutex_);
  const auto found = members_.find(name);
  return found == members_.end() ? MemberFacts() : found->second.facts;
}

void MemberTable::SetOrder(Member& member,
                           std::optional<MemberJobOrder> order) {
  member.orders = {.revision = ++last_revision_, .job = std::move(order)};
  member.keeps_until.reset();
  changed_.NotifyAll();
}

void MemberTable::Order(const std::string& name, MemberJobOrder order) {
  const MutexLock lock(&mutex_);
  const auto found = members_.find(name);
  if (found != members_.end()) SetOrder(found->second, std::move(order));
}

absl::StatusOr<std::optional<MemberJobReport>> MemberTable::ReportOf(
    const std::string& name, const std::string& job_id,
    uint64_t attempt) const {
  const MutexLock lock(&mutex_);
  const auto found = members_.find(name);
  if (found == members_.end() || IsLost(found->second)) {
    return absl::UnavailableError(
        absl::StrCat("host ", name, " has gone, or is silent"));
  }
  const std::optional<MemberJobOrder>& order = found->second.orders.job;
  if (!order.has_value() || order->attempt() != attempt) {
    return absl::UnavailableError(
        absl::StrCat("host ", name, " has started again"));
  }
  const std::optional<MemberJobReport>& report = found->second.report;
  if (!report.has_value() || report->job_id != job_id ||
      report->attempt != attempt) {
    return std::nullopt;
  }
  return report;
}

std::optional<uint64_t> MemberTable::AttemptOf(
    const std::string& name, const std::string& job_id) const {
  const MutexLock lock(&mutex_);
  const auto found = members_.find(name);
  if (found == members_.end() || !found->second.report.has_value() ||
      found->second.report->job_id != job_id) {
    return std::nullopt;
  }
  // A member that is not to keep the job any more still has it for a moment.
  const Member& member = found->second;
  const bool is_ordered =
      member.orders.job.has_value() && member.orders.job->job_id == job_id;
  if (!is_ordered && !member.keeps_until.has_value()) return std::nullopt;
  return member.report->attempt;
}

void MemberTable::Leave(const std::string& job_id) {
  const MutexLock lock(&mutex_);
  for (auto& [name, member] : members_) {
    const bool was_left_with_it = member.keeps_until.has_value() &&
                                  member.report.has_value() &&
                                  member.report->job_id == job_id;
    if (member.taken_by != job_id && !was_left_with_it) continue;
    member.taken_by.clear();
    SetOrder(member, std::nullopt);
  }
}

}  // namespace fgnn
