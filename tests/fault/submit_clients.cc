// Submits jobs from several clients at once, each a user of its own where it
// runs as root, and says what became of it: a JSON line per job that was
// acknowledged. A client asks again under the same key until it is answered, as
// the service may be killed meanwhile. For the campaign's row many-jobs.
//
//   submit_clients STATE_DIR DATASET CLIENTS JOBS SEED
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fgnn/v1/job_service.grpc.pb.h"
#include "shared/base/clock.h"
#include "shared/base/philox.h"
#include "shared/base/threads/thread.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/channel.h"
#include "tests/fakes/user_connection.h"

namespace fgnn {
namespace {

using std::chrono::seconds;

constexpr seconds kCallTimeout{20};
constexpr seconds kPatience{240};
constexpr int kPriorities = 3;

struct Plan {
  std::string state_dir;
  std::string dataset;
  uint32_t clients = 1;
  uint32_t jobs = 1;
  uint32_t seed = 1;
};

v1::SubmitJobRequest RequestOf(const Plan& plan, uint32_t number) {
  v1::SubmitJobRequest request;
  v1::JobSpec& spec = *request.mutable_spec();
  spec.set_dataset(plan.dataset);
  spec.mutable_model()->set_layers(1);
  spec.mutable_model()->set_hidden(8);
  spec.mutable_sampling()->add_fanouts(2);
  spec.mutable_sampling()->set_batch_size(100);
  spec.mutable_training()->set_epochs(1);
  spec.mutable_training()->set_evaluate_every(0);
  spec.mutable_training()->set_checkpoint_every(0);
  spec.add_devices("cpu:0");
  request.set_digest(true);
  request.set_client_key(absl::StrCat("job ", number, " of ", plan.seed));
  request.set_name(absl::StrCat("number ", number));
  const PhiloxBlock draw = Philox4x32({number, 0, 0, 0}, {plan.seed, 0});
  request.set_priority(static_cast<int>(draw.words[0] % kPriorities) - 1);
  return request;
}

// A connection to the service, of a user of the client's own where that can be,
// or nullptr if no service is there until the deadline.
std::unique_ptr<v1::JobService::Stub> Connect(const Plan& plan, uint32_t client,
                                              Deadline deadline) {
  const auto path = SchedulerSocketPath(plan.state_dir);
  if (!WaitForServer(path, deadline).ok()) return nullptr;
  const auto channel = MayBeOtherUsers() ? ChannelOf(kSomeUser + client, path)
                                         : MakeChannel(path);
  return channel.ok() ? v1::JobService::NewStub(*channel) : nullptr;
}

// Whether all of this client's jobs were acknowledged.
bool SubmitShare(const Plan& plan, uint32_t client) {
  const Deadline end = DeadlineIn(kPatience);
  std::unique_ptr<v1::JobService::Stub> stub;
  for (uint32_t number = client; number < plan.jobs; number += plan.clients) {
    const v1::SubmitJobRequest request = RequestOf(plan, number);
    for (int attempt = 1;; ++attempt) {
      if (stub == nullptr) stub = Connect(plan, client, end);
      if (stub == nullptr) return false;
      grpc::ClientContext context;
      SetDeadline(context, kCallTimeout);
      const Stopwatch watch;
      v1::SubmitJobResponse response;
      const grpc::Status status = stub->SubmitJob(&context, request, &response);
      if (status.ok()) {
        absl::PrintF("{\"job\": \"%s\", \"attempts\": %d, \"ms\": %.3f}\n",
                     response.job().job_id(), attempt, 1e3 * watch.Seconds());
        break;
      }
      const bool again =
          status.error_code() == grpc::StatusCode::UNAVAILABLE ||
          status.error_code() == grpc::StatusCode::CANCELLED ||
          status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
      if (!again || MonotonicClock::now() > end) {
        absl::FPrintF(stderr, "job %d: %s\n", number, status.error_message());
        return false;
      }
      stub.reset();  // The connection ended with the service.
    }
  }
  return true;
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("submit_clients STATE_DIR DATASET CLIENTS JOBS SEED\n", stderr);
    return 2;
  }
  const auto number = [argv](int i) {
    return static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10));
  };
  const fgnn::Plan plan = {argv[1], argv[2], number(3), number(4), number(5)};
  std::unique_ptr<bool[]> done(new bool[plan.clients]());
  std::vector<fgnn::Thread> threads;
  for (uint32_t client = 0; client < plan.clients; ++client) {
    threads.emplace_back(absl::StrCat("client", client), [&, client] {
      done[client] = fgnn::SubmitShare(plan, client);
    });
  }
  for (fgnn::Thread& thread : threads) thread.Join();
  for (uint32_t client = 0; client < plan.clients; ++client) {
    if (!done[client]) return 1;
  }
  return 0;
}
