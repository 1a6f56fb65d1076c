// Submits a job and waits for its end: submit STATE_DIR DATASET
#include <grpcpp/grpcpp.h>

#include <iostream>

#include "fgnn/v1/job_service.grpc.pb.h"

namespace v1 = fgnn::v1;

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: submit STATE_DIR DATASET\n", 2;
  const std::string socket = std::string(argv[1]) + "/scheduler.sock";
  const auto service = v1::JobService::NewStub(grpc::CreateChannel(
      "unix:" + socket, grpc::InsecureChannelCredentials()));
  grpc::ClientContext submitting, watching;  // Every call needs a deadline.
  const auto now = std::chrono::system_clock::now();
  submitting.set_deadline(now + std::chrono::seconds(60));
  watching.set_deadline(now + std::chrono::minutes(59));
  v1::SubmitJobRequest request;
  // The other fields have defaults.
  request.mutable_spec()->set_dataset(argv[2]);
  request.mutable_spec()->mutable_training()->set_epochs(2);
  v1::SubmitJobResponse answer;
  auto status = service->SubmitJob(&submitting, request, &answer);
  v1::Job job = answer.job();
  if (status.ok()) {
    v1::WatchJobRequest watched;
    watched.set_job_id(job.job_id());
    const auto updates = service->WatchJob(&watching, watched);
    while (updates->Read(&job)) std::cout << job.progress().phase() << "\n";
    status = updates->Finish();
  }
  if (!status.ok()) return std::cerr << status.error_message() << "\n", 1;
  std::cout << v1::JobState_Name(job.state()) << " " << job.run_dir() << "\n";
  return job.state() == v1::JOB_STATE_COMPLETED ? 0 : 1;
}
