#include "trainer_service/rpc/grpc_chunk_links.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/status.h"
#include "trainer_service/rpc/host_channels.h"

namespace fgnn {
namespace {

// A call that takes longer is made again.
constexpr std::chrono::minutes kLongestCall{10};

// Returns the error of a call that has ended. The host is asked again if it may
// give another answer.
absl::Status ErrorOf(const grpc::Status& ended) {
  const absl::Status status = FromGrpc(ended);
  const bool stays =
      absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status) ||
      absl::IsUnauthenticated(status) || absl::IsUnimplemented(status);
  return stays || status.ok() ? status
                              : absl::UnavailableError(status.message());
}

// Returns the piece, which is borrowed. `floats` are a copy in memory that is
// aligned for them.
ChunkPiece PieceOf(const v1::ChunkPart& part, std::vector<float>& floats) {
  floats.resize(part.floats().size() / sizeof(float));
  std::memcpy(floats.data(), part.floats().data(),
              floats.size() * sizeof(float));
  ChunkPiece piece = {.place = {.loop = part.loop(), .chunk = part.chunk()},
                      .floats = floats};
  if (part.has_crc()) piece.crc = part.crc();
  return piece;
}

// One call. A message is read once the one before was taken.
class Copy {
 public:
  Copy(const std::shared_ptr<grpc::Channel>& channel,
       const std::function<bool()>* is_stopped)
      : stub_(v1::ChunkService::NewStub(channel)), is_stopped_(*is_stopped) {
    SetDeadline(context_, kLongestCall);
  }
  ~Copy() {
    events_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (events_.Next(&tag, &ok)) {
    }
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  absl::Status Run(const v1::AskChunksRequest& request, TakePiece take) {
    const auto reader =
        stub_->PrepareAsyncAskChunks(&context_, request, &events_);
    reader->StartCall(nullptr);
    bool goes_on = Await();
    absl::Status taken;
    while (goes_on) {
      reader->Read(&part_, nullptr);
      goes_on = Await();
      if (!goes_on || !taken.ok()) continue;  // The call ends soon.
      taken = take(PieceOf(part_, floats_));
      if (!taken.ok()) context_.TryCancel();
    }
    grpc::Status ended;
    reader->Finish(&ended, nullptr);
    Await();
    if (is_cancelled_) return absl::CancelledError("the evaluation is over");
    return taken.ok() ? ErrorOf(ended) : taken;
  }

 private:
  // Waits for the next event. Returns whether it is a message, or the call's
  // begin.
  bool Await() {
    while (true) {
      void* tag = nullptr;
      bool ok = false;
      // The event always comes: the call has a deadline.
      const auto next = events_.AsyncNext(
          &tag, &ok, std::chrono::system_clock::now() + kTick);
      if (next != grpc::CompletionQueue::TIMEOUT) return ok;
      if (is_cancelled_ || !is_stopped_()) continue;
      is_cancelled_ = true;
      context_.TryCancel();
    }
  }

  const std::unique_ptr<v1::ChunkService::Stub> stub_;
  const std::function<bool()>& is_stopped_;
  grpc::ClientContext context_;
  grpc::CompletionQueue events_;
  v1::ChunkPart part_;
  std::vector<float> floats_;
  bool is_cancelled_ = false;
};

}  // namespace

absl::Status GrpcChunkLinks::CopyChunks(
    uint32_t host, uint64_t evaluation, const ChunkPlace& first, TakePiece take,
    const std::function<bool()>& is_stopped) {
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) {
    return absl::NotFoundError(
        absl::StrCat("the job has no host with index ", host));
  }
  v1::AskChunksRequest request;
  request.set_job_id(job_id_);
  request.set_attempt(attempt_);
  request.set_evaluation(evaluation);
  request.set_loop(first.loop);
  request.set_chunk(first.chunk);
  return Copy(found->second, &is_stopped).Run(request, take);
}

absl::StatusOr<std::unique_ptr<ChunkLinks>> LinkChunks(
    const std::string& job_id, const JobHosts& hosts,
    const HostCertificate& shown) {
  FGNN_ASSIGN_OR_RETURN(HostChannels channels, MakeHostChannels(hosts, shown));
  return std::make_unique<GrpcChunkLinks>(job_id, hosts.attempt,
                                          std::move(channels));
}

}  // namespace fgnn
