#include "scheduler/rpc/members/member_proto.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/rpc/job_messages.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/config/device_list.h"
#include "shared/config/job_hosts.h"
#include "shared/config/job_spec_proto.h"
#include "shared/rpc/job_hosts_proto.h"
#include "shared/rpc/sockets/host_port.h"

namespace fgnn {
namespace {

absl::StatusOr<DaemonState> StateOf(const std::string& word) {
  for (const DaemonState state :
       {DaemonState::kStarting, DaemonState::kIdle, DaemonState::kWorking,
        DaemonState::kStandby, DaemonState::kLost, DaemonState::kDead}) {
    if (word == NameOf(state)) return state;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", PrintableText(word), "' is no state of an executor"));
}

absl::StatusOr<ExecutorView> ViewOf(const v1::Executor& message) {
  ExecutorView view;
  view.placement.name = PrintableText(message.name());
  FGNN_ASSIGN_OR_RETURN(view.placement.role, ParseRole(message.role()));
  FGNN_ASSIGN_OR_RETURN(view.placement.device,
                        ParseDeviceName(message.device()));
  view.pid = message.pid();
  FGNN_ASSIGN_OR_RETURN(view.state, StateOf(message.state()));
  view.job_id = message.job_id();
  view.batches = message.batches();
  view.restarts = message.restarts();
  view.resident_bytes = static_cast<uint64_t>(message.resident_bytes());
  return view;
}

absl::StatusOr<MemberJobReport> JobOf(const v1::MemberJob& message) {
  MemberJobReport job = {
      .job_id = message.job_id(),
      .attempt = message.attempt(),
      .is_prepared = message.prepared(),
      .error = absl::Status(static_cast<absl::StatusCode>(message.error_code()),
                            message.error_message()),
      .findings = {.arithmetic = FromProto(message.arithmetic()),
                   .reaches = FromProto(message.reaches()),
                   .batches_per_second = message.batches_per_second()}};
  if (message.has_rows()) {
    FGNN_ASSIGN_OR_RETURN(job.findings.rows, FromProto(message.rows()));
  }
  job.executors.restarts = message.restarts();
  job.executors.clock_start = message.clock_start();
  for (const v1::Executor& executor : message.executors()) {
    FGNN_ASSIGN_OR_RETURN(job.executors.views.emplace_back(), ViewOf(executor));
  }
  return job;
}

}  // namespace

v1::ReportMemberRequest ToProto(const MemberReport& report) {
  v1::ReportMemberRequest message;
  const MemberFacts& facts = report.facts;
  message.set_name(facts.name);
  message.set_exchange(facts.exchange);
  message.set_version(facts.version);
  message.set_segment_layout_version(facts.segment_layout_version);
  for (const Device& device : facts.devices) message.add_devices(device.name);
  message.set_generation(facts.generation);
  message.set_revision(report.revision);
  message.set_leaves(report.leaves);
  if (report.log.has_value()) {
    v1::LogPart& log = *message.mutable_log();
    log.set_name(report.log->name);
    log.set_offset(report.log->offset);
    log.set_bytes(report.log->bytes);
  }
  if (!report.job.has_value()) return message;
  v1::MemberJob& job = *message.mutable_job();
  job.set_job_id(report.job->job_id);
  job.set_attempt(report.job->attempt);
  job.set_prepared(report.job->is_prepared);
  job.set_error_code(report.job->error.raw_code());
  job.set_error_message(std::string(report.job->error.message()));
  *job.mutable_arithmetic() = ToProto(report.job->findings.arithmetic);
  *job.mutable_reaches() = ToProto(report.job->findings.reaches);
  job.set_batches_per_second(report.job->findings.batches_per_second);
  if (const auto& rows = report.job->findings.rows; rows.has_value()) {
    *job.mutable_rows() = ToProto(*rows);
  }
  job.set_restarts(report.job->executors.restarts);
  job.set_clock_start(report.job->executors.clock_start);
  for (const ExecutorView& view : report.job->executors.views) {
    ToMessage(view, job.add_executors());
  }
  return message;
}

absl::StatusOr<MemberReport> FromProto(const v1::ReportMemberRequest& message) {
  FGNN_RETURN_IF_ERROR(ParseHostPort(message.exchange()).status());
  MemberReport report = {
      .facts = {.name = message.name(),
                .exchange = message.exchange(),
                .version = message.version(),
                .segment_layout_version = message.segment_layout_version(),
                .generation = message.generation()},
      .leaves = message.leaves(),
      .revision = message.revision()};
  FGNN_ASSIGN_OR_RETURN(
      report.facts.devices,
      DevicesOfNames({message.devices().begin(), message.devices().end()}));
  if (message.has_job()) {
    FGNN_ASSIGN_OR_RETURN(report.job, JobOf(message.job()));
  }
  if (message.has_log()) {
    report.log = LogPart{.name = message.log().name(),
                         .offset = message.log().offset(),
                         .bytes = message.log().bytes()};
  }
  return report;
}

v1::ReportMemberResponse ToProto(const MemberOrders& orders,
                                 uint64_t has_revision) {
  v1::ReportMemberResponse message;
  message.set_revision(orders.revision);
  if (orders.log_bytes.has_value()) message.set_log_bytes(*orders.log_bytes);
  if (!orders.job.has_value() || orders.revision == has_revision) {
    return message;
  }
  const MemberJobOrder& order = *orders.job;
  v1::MemberOrder& job = *message.mutable_job();
  job.set_job_id(order.job_id);
  *job.mutable_spec() = ToProto(order.spec);
  *job.mutable_hosts() = ToProto(order.hosts);
  job.set_dataset_content(order.dataset_content);
  job.set_first_version(order.first_version);
  for (const MemberOpening& opening : order.openings) {
    v1::MemberOpening& added = *job.add_openings();
    added.set_sampling_limit(opening.sampling_limit);
    added.set_first_step(opening.first_step);
    added.set_training_limit(opening.training_limit);
    added.set_rate_factor(opening.rate_factor);
  }
  if (!order.evaluation.has_value()) return message;
  v1::MemberEvaluation& evaluation = *job.mutable_evaluation();
  evaluation.set_number(order.evaluation->number);
  evaluation.set_version(order.evaluation->version);
  for (const std::string& split : order.evaluation->splits) {
    evaluation.add_splits(split);
  }
  return message;
}

absl::StatusOr<MemberOrders> FromProto(
    const v1::ReportMemberResponse& message) {
  MemberOrders orders = {.revision = message.revision()};
  if (message.has_log_bytes()) orders.log_bytes = message.log_bytes();
  if (!message.has_job()) return orders;
  const v1::MemberOrder& job = message.job();
  FGNN_ASSIGN_OR_RETURN(JobSpec spec, ReadSpec(job.spec()));
  orders.job = MemberJobOrder{.job_id = job.job_id(),
                              .spec = std::move(spec),
                              .hosts = FromProto(job.hosts()),
                              .dataset_content = job.dataset_content(),
                              .first_version = job.first_version()};
  const JobHosts& hosts = orders.job->hosts;
  const size_t num_hosts = HostSharesOf(orders.job->spec).size();
  if (hosts.self >= num_hosts || hosts.all.size() != num_hosts) {
    return absl::InvalidArgumentError(
        absl::StrCat("the head orders host ", hosts.self, " of ",
                     hosts.all.size(), ", of a job of ", num_hosts));
  }
  for (const v1::MemberOpening& opening : job.openings()) {
    orders.job->openings.push_back({.sampling_limit = opening.sampling_limit(),
                                    .first_step = opening.first_step(),
                                    .training_limit = opening.training_limit(),
                                    .rate_factor = opening.rate_factor()});
  }
  if (job.has_evaluation()) {
    const v1::MemberEvaluation& evaluation = job.evaluation();
    orders.job->evaluation = MemberEvaluation{
        .number = evaluation.number(),
        .version = evaluation.version(),
        .splits = {evaluation.splits().begin(), evaluation.splits().end()}};
  }
  return orders;
}

}  // namespace fgnn
