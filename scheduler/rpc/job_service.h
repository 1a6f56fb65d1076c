// JobService: the calls of clients to the service.
#ifndef FGNN_SCHEDULER_RPC_JOB_SERVICE_H_
#define FGNN_SCHEDULER_RPC_JOB_SERVICE_H_

#include <memory>
#include <string>

#include "fgnn/v1/job_service.grpc.pb.h"
#include "scheduler/files/job_dataset.h"
#include "scheduler/host/daemon_host.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/rpc/audit/audit_log.h"
#include "scheduler/rpc/callers/caller.h"
#include "scheduler/rpc/callers/callers.h"
#include "scheduler/rpc/callers/user_calls.h"
#include "scheduler/rpc/callers/user_counts.h"
#include "scheduler/rpc/control_server.h"

namespace fgnn {

// Objects that the services of all servers share. All are borrowed.
struct JobServiceParts {
  const ServiceFacts* facts;
  JobTable* table;
  DaemonHost* host;
  KnownDatasets* datasets;
  AuditLog* audit;
};

// The calls of one server. Handlers read their requests themselves, so that a
// call is looked at first. WatchJob is in watch_service.h. Thread-safe.
class JobServiceAdapter final
    : public v1::JobService::WithGenericMethod_WatchJob<
          v1::JobService::StreamedUnaryService> {
 public:
  JobServiceAdapter(const JobServiceParts& parts,
                    std::shared_ptr<Callers> callers);

  grpc::Status StreamedSubmitJob(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::SubmitJobRequest, v1::SubmitJobResponse>*
          stream) override;
  grpc::Status StreamedGetJob(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::GetJobRequest, v1::Job>* stream) override;
  grpc::Status StreamedListJobs(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::ListJobsRequest, v1::ListJobsResponse>*
          stream) override;
  grpc::Status StreamedCancelJob(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::CancelJobRequest, v1::Job>* stream)
      override;
  grpc::Status StreamedPauseJob(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::PauseJobRequest, v1::Job>* stream) override;
  grpc::Status StreamedContinueJob(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::ContinueJobRequest, v1::Job>* stream)
      override;
  grpc::Status StreamedDeleteJob(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::DeleteJobRequest, v1::DeleteJobResponse>*
          stream) override;
  grpc::Status StreamedGetMetrics(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::GetMetricsRequest, v1::GetMetricsResponse>*
          stream) override;
  grpc::Status StreamedGetService(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::GetServiceRequest, v1::ServiceInfo>* stream)
      override;
  grpc::Status StreamedKeepRunning(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::KeepRunningRequest,
                                v1::KeepRunningResponse>* stream) override;
  grpc::Status StreamedShutdown(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::ShutdownRequest, v1::ShutdownResponse>*
          stream) override;

 private:
  template <typename Request>
  using JobCall = UserCall<Request, v1::Job>;

  absl::Status Submit(
      const UserCall<v1::SubmitJobRequest, v1::SubmitJobResponse>& call);
  absl::Status List(const v1::ListJobsRequest& request,
                    v1::ListJobsResponse* response);
  // Returns a job that the caller may change. PermissionDenied: the job is
  // another user's.
  absl::StatusOr<Job> FindOwn(const Caller& caller, const std::string& job_id);
  // Returns OK if the caller may end the service. PermissionDenied: jobs of
  // other users have not ended.
  absl::Status CheckMayShutDown(const Caller& caller);
  // Both wait for a job, and hold a thread of the server meanwhile.
  // ResourceExhausted: too many calls of the user wait already.
  absl::Status Pause(const JobCall<v1::PauseJobRequest>& call);
  absl::Status Cancel(const JobCall<v1::CancelJobRequest>& call);
  absl::StatusOr<std::unique_ptr<UserCounts::Place>> TakeWait(
      const Caller& caller);
  // Fills in the response, and notes that a client knows of the job's end.
  void Tell(const Job& job, v1::Job* response);

  const ServiceFacts& facts_;
  JobTable* const table_;
  DaemonHost* const host_;
  KnownDatasets* const datasets_;
  const UserCalls calls_;
  UserCounts waits_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_JOB_SERVICE_H_
