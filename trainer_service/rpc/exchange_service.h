// Serves what the other hosts of a job ask of this host's board:
// ExchangeService of fgnn/v1/exchange.proto.
#ifndef FGNN_TRAINER_SERVICE_RPC_EXCHANGE_SERVICE_H_
#define FGNN_TRAINER_SERVICE_RPC_EXCHANGE_SERVICE_H_

#include <memory>
#include <string>

#include "trainer_service/exchange/entry_source.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fgnn {

// A job's board, as other hosts see it. Borrowed.
struct ServedBoard {
  std::string job_id;
  Segment* segment = nullptr;
  OthersVersions* versions = nullptr;
};

// Each call holds a thread of the server until all its entries are done.
std::shared_ptr<grpc::Service> MakeExchangeService(ServedBoard board);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_EXCHANGE_SERVICE_H_
