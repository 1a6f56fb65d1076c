#include "trainer_service/rpc/grpc_chunk_links.h"

#include <grpcpp/channel.h>

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/status.h"
#include "trainer_service/rpc/host_calls.h"

namespace fgnn {
namespace {

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
  const auto stub = v1::ChunkService::NewStub(found->second);
  std::vector<float> floats;
  absl::Status taken;
  const absl::Status ended = ReadStream<v1::ChunkPart>(
      kLongestHostCall,
      [&](grpc::ClientContext* context, grpc::CompletionQueue* events) {
        return stub->PrepareAsyncAskChunks(context, request, events);
      },
      is_stopped,
      [&](const v1::ChunkPart& part) {
        return taken = take(PieceOf(part, floats));
      });
  if (is_stopped()) return absl::CancelledError("the evaluation is over");
  return taken.ok() ? LinkError(ended) : taken;
}

absl::StatusOr<std::unique_ptr<ChunkLinks>> LinkChunks(
    const std::string& job_id, const JobHosts& hosts,
    const HostCertificate& shown) {
  FGNN_ASSIGN_OR_RETURN(HostChannels channels, MakeHostChannels(hosts, shown));
  return std::make_unique<GrpcChunkLinks>(job_id, hosts.attempt,
                                          std::move(channels));
}

}  // namespace fgnn
