// Serves the results of evaluations that this host computes: ChunkService of
// fgnn/v1/exchange.proto.
#ifndef FGNN_TRAINER_SERVICE_RPC_CHUNK_SERVICE_H_
#define FGNN_TRAINER_SERVICE_RPC_CHUNK_SERVICE_H_

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "trainer_service/exchange/chunk_seat.h"
#include "trainer_service/rpc/exchange_service.h"

namespace fgnn {

// Serves the results that are in the seat, which is borrowed. Each call holds a
// thread of the server until all its chunks are sent, or the results go.
// Without `check`, all may ask.
std::unique_ptr<grpc::Service> MakeChunkService(ChunkSeat* seat,
                                                CallerCheck check = nullptr);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_CHUNK_SERVICE_H_
