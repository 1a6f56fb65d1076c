#include "trainer_service/rpc/chunk_service.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/crc32c.h"
#include "shared/base/status.h"
#include "shared/rpc/server.h"
#include "trainer_service/exchange/entry_source.h"

namespace fgnn {
namespace {

// Returns false if the other host has gone.
bool SendChunk(ChunkPlace place, absl::Span<const float> rows,
               grpc::ServerWriter<v1::ChunkPart>& writer) {
  v1::ChunkPart part;
  part.set_loop(place.loop);
  part.set_chunk(place.chunk);
  const uint32_t crc =
      ExtendCrc32c(0, rows.data(), rows.size() * sizeof(float));
  for (size_t begin = 0; begin < rows.size(); begin += kFloatsPerPart) {
    const absl::Span<const float> some = rows.subspan(begin, kFloatsPerPart);
    part.set_floats(some.data(), some.size() * sizeof(float));
    if (begin + some.size() == rows.size()) part.set_crc(crc);
    if (!writer.Write(part)) return false;
  }
  return true;
}

class ChunkService final : public v1::ChunkService::Service {
 public:
  ChunkService(ChunkSeat* seat, CallerCheck check)
      : seat_(seat), check_(std::move(check)) {}

  grpc::Status AskChunks(grpc::ServerContext* context,
                         const v1::AskChunksRequest* request,
                         grpc::ServerWriter<v1::ChunkPart>* writer) override {
    return ServeCall(*context, [&]() -> absl::Status {
      if (check_ != nullptr) FGNN_RETURN_IF_ERROR(check_(*context));
      FGNN_ASSIGN_OR_RETURN(const std::shared_ptr<ServedChunks> chunks,
                            seat_->Find(request->job_id(), request->attempt(),
                                        request->evaluation()));
      return SendChunks(
          *chunks, {.loop = request->loop(), .chunk = request->chunk()},
          [context] { return context->IsCancelled(); },
          [writer](ChunkPlace place, absl::Span<const float> rows) {
            return SendChunk(place, rows, *writer)
                       ? absl::OkStatus()
                       : absl::CancelledError("the other host has gone");
          });
    });
  }

 private:
  ChunkSeat* const seat_;
  const CallerCheck check_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeChunkService(ChunkSeat* seat,
                                                CallerCheck check) {
  return std::make_unique<ChunkService>(seat, std::move(check));
}

}  // namespace fgnn
