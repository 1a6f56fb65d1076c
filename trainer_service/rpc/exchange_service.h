// Serves what the other hosts of a job ask of this host's board:
// ExchangeService of fgnn/v1/exchange.proto.
#ifndef FGNN_TRAINER_SERVICE_RPC_EXCHANGE_SERVICE_H_
#define FGNN_TRAINER_SERVICE_RPC_EXCHANGE_SERVICE_H_

#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "trainer_service/exchange/board_seat.h"

namespace fgnn {

// Returns OK if a call's caller may ask.
using CallerCheck =
    std::function<absl::Status(const grpc::ServerContext& context)>;

// Serves the board that is in the seat, which is borrowed. Each call holds a
// thread of the server until all its entries are done, or until the board goes.
// Without `check`, all may ask.
std::unique_ptr<grpc::Service> MakeExchangeService(BoardSeat* seat,
                                                   CallerCheck check = nullptr);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_EXCHANGE_SERVICE_H_
