// Serves rows of features to the trainers of other hosts: RowService of
// fgnn/v1/exchange.proto.
#ifndef FGNN_TRAINER_SERVICE_RPC_ROW_SERVICE_H_
#define FGNN_TRAINER_SERVICE_RPC_ROW_SERVICE_H_

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "trainer_service/exchange/board_seat.h"
#include "trainer_service/rpc/exchange_service.h"

namespace fgnn {

// Serves the rows of the job whose board is in the seat, which is borrowed.
// Each call holds a thread of the server until all its rows are sent, or the
// board goes. Without `check`, all may ask.
std::unique_ptr<grpc::Service> MakeRowService(BoardSeat* seat,
                                              CallerCheck check = nullptr);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_ROW_SERVICE_H_
