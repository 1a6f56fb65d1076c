// JobService: what people and programs ask of the service.
#ifndef FGNN_SCHEDULER_RPC_JOB_SERVICE_H_
#define FGNN_SCHEDULER_RPC_JOB_SERVICE_H_

#include <atomic>
#include <string>

#include "fgnn/v1/job_service.grpc.pb.h"
#include "scheduler/host/daemon_host.h"
#include "scheduler/jobs/job_dataset.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/rpc/control_server.h"

namespace fgnn {

// Thread-safe.
class JobServiceAdapter final : public v1::JobService::Service {
 public:
  // Borrows `table` and `host`.
  JobServiceAdapter(ServiceFacts facts, JobTable* table, DaemonHost* host);

  grpc::Status SubmitJob(grpc::ServerContext* context,
                         const v1::SubmitJobRequest* request,
                         v1::SubmitJobResponse* response) override;
  grpc::Status GetJob(grpc::ServerContext* context,
                      const v1::GetJobRequest* request,
                      v1::Job* response) override;
  grpc::Status ListJobs(grpc::ServerContext* context,
                        const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override;
  grpc::Status WatchJob(grpc::ServerContext* context,
                        const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::Job>* writer) override;
  grpc::Status CancelJob(grpc::ServerContext* context,
                         const v1::CancelJobRequest* request,
                         v1::Job* response) override;
  grpc::Status PauseJob(grpc::ServerContext* context,
                        const v1::PauseJobRequest* request,
                        v1::Job* response) override;
  grpc::Status ContinueJob(grpc::ServerContext* context,
                           const v1::ContinueJobRequest* request,
                           v1::Job* response) override;
  grpc::Status GetMetrics(grpc::ServerContext* context,
                          const v1::GetMetricsRequest* request,
                          v1::GetMetricsResponse* response) override;
  grpc::Status GetService(grpc::ServerContext* context,
                          const v1::GetServiceRequest* request,
                          v1::ServiceInfo* response) override;
  grpc::Status Shutdown(grpc::ServerContext* context,
                        const v1::ShutdownRequest* request,
                        v1::ShutdownResponse* response) override;

 private:
  absl::Status Submit(const grpc::ServerContext& context,
                      const v1::SubmitJobRequest& request, v1::Job* response);
  absl::Status List(const v1::ListJobsRequest& request,
                    v1::ListJobsResponse* response);
  // A job that the caller may change. PermissionDenied: it is another user's.
  absl::StatusOr<Job> FindOwn(const grpc::ServerContext& context,
                              const std::string& job_id);
  absl::Status Pause(grpc::ServerContext& context, const std::string& job_id,
                     v1::Job* response);
  absl::Status Watch(grpc::ServerContext& context, const std::string& job_id,
                     grpc::ServerWriter<v1::Job>& writer);
  absl::Status Cancel(grpc::ServerContext& context, const std::string& job_id,
                      v1::Job* response);
  // A client is told of the job.
  void Tell(const Job& job, v1::Job* response);

  const ServiceFacts facts_;
  JobTable* const table_;
  DaemonHost* const host_;
  KnownDatasets datasets_;
  std::atomic<int> watchers_{0};
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_JOB_SERVICE_H_
