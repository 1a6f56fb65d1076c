// JobService: the calls of clients to the service.
#ifndef FGNN_SCHEDULER_RPC_JOB_SERVICE_H_
#define FGNN_SCHEDULER_RPC_JOB_SERVICE_H_

#include <atomic>
#include <string>

#include "fgnn/v1/job_service.grpc.pb.h"
#include "scheduler/files/access/file_user.h"
#include "scheduler/files/job_dataset.h"
#include "scheduler/host/daemon_host.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/rpc/audit/audit_log.h"
#include "scheduler/rpc/caller.h"
#include "scheduler/rpc/control_server.h"
#include "scheduler/rpc/job_watchers.h"
#include "scheduler/rpc/submit_request.h"

namespace fgnn {

// Objects that the services of all users share. All are borrowed.
struct JobServiceParts {
  const ServiceFacts* facts;
  JobTable* table;
  DaemonHost* host;
  KnownDatasets* datasets;
  JobWatchers* watchers;
  AuditLog* audit;
};

// The service for one user. Thread-safe.
class JobServiceAdapter final
    : public v1::JobService::WithCallbackMethod_WatchJob<
          v1::JobService::Service> {
 public:
  JobServiceAdapter(const JobServiceParts& parts, Caller caller);

  grpc::Status SubmitJob(grpc::ServerContext* context,
                         const v1::SubmitJobRequest* request,
                         v1::SubmitJobResponse* response) override;
  grpc::Status GetJob(grpc::ServerContext* context,
                      const v1::GetJobRequest* request,
                      v1::Job* response) override;
  grpc::Status ListJobs(grpc::ServerContext* context,
                        const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override;
  grpc::ServerWriteReactor<v1::Job>* WatchJob(
      grpc::CallbackServerContext* context,
      const v1::WatchJobRequest* request) override;
  grpc::Status CancelJob(grpc::ServerContext* context,
                         const v1::CancelJobRequest* request,
                         v1::Job* response) override;
  grpc::Status PauseJob(grpc::ServerContext* context,
                        const v1::PauseJobRequest* request,
                        v1::Job* response) override;
  grpc::Status ContinueJob(grpc::ServerContext* context,
                           const v1::ContinueJobRequest* request,
                           v1::Job* response) override;
  grpc::Status DeleteJob(grpc::ServerContext* context,
                         const v1::DeleteJobRequest* request,
                         v1::DeleteJobResponse* response) override;
  grpc::Status GetMetrics(grpc::ServerContext* context,
                          const v1::GetMetricsRequest* request,
                          v1::GetMetricsResponse* response) override;
  grpc::Status GetService(grpc::ServerContext* context,
                          const v1::GetServiceRequest* request,
                          v1::ServiceInfo* response) override;
  grpc::Status KeepRunning(grpc::ServerContext* context,
                           const v1::KeepRunningRequest* request,
                           v1::KeepRunningResponse* response) override;
  grpc::Status Shutdown(grpc::ServerContext* context,
                        const v1::ShutdownRequest* request,
                        v1::ShutdownResponse* response) override;

 private:
  // A call that waits for a job, and holds a thread of the server meanwhile.
  class Wait;

  absl::Status Submit(const grpc::ServerContext& context,
                      const v1::SubmitJobRequest& request,
                      v1::SubmitJobResponse* response);
  absl::Status List(const v1::ListJobsRequest& request,
                    v1::ListJobsResponse* response);
  // Returns a job that the caller may change. PermissionDenied: the job is
  // another user's.
  absl::StatusOr<Job> FindOwn(const std::string& job_id);
  // Returns OK if the caller may end the service. PermissionDenied: jobs of
  // other users have not ended.
  absl::Status CheckMayShutDown();
  absl::Status Pause(grpc::ServerContext& context, const std::string& job_id,
                     v1::Job* response);
  absl::Status Cancel(grpc::ServerContext& context, const std::string& job_id,
                      v1::Job* response);
  // Fills in the response, and notes that a client knows of the job's end.
  void Tell(const Job& job, v1::Job* response);

  const ServiceFacts& facts_;
  JobTable* const table_;
  DaemonHost* const host_;
  KnownDatasets* const datasets_;
  JobWatchers* const watchers_;
  AuditLog* const audit_;
  const Caller caller_;
  std::atomic<int> num_waits_{0};
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_JOB_SERVICE_H_
