// The port on which an exchange serves the other hosts of its job. The header
// needs neither gRPC nor protobuf.
#ifndef FGNN_TRAINER_SERVICE_RPC_EXCHANGE_SERVER_H_
#define FGNN_TRAINER_SERVICE_RPC_EXCHANGE_SERVER_H_

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "shared/rpc/certificates/host_certificate.h"
#include "shared/rpc/sockets/host_port.h"
#include "trainer_service/exchange/board_seat.h"
#include "trainer_service/exchange/chunk_seat.h"

namespace fgnn {

// What is served. Both are borrowed.
struct ServedSeats {
  BoardSeat* board = nullptr;
  ChunkSeat* chunks = nullptr;
};

// Serves ExchangeService, ChunkService and RowService by TLS. A caller shows a
// certificate that an authority of `shown` has signed, with the role worker;
// others are refused and logged.
class ExchangeServer {
 public:
  // Listens at once. Serves what is in `seats`. `ca_file` has the authorities
  // of `shown`. AlreadyExists, naming the address: another process listens
  // there. InvalidArgument: the host has no address, or gRPC cannot read a
  // certificate.
  static absl::StatusOr<std::unique_ptr<ExchangeServer>> Start(
      const HostPort& address, const HostCertificate& shown,
      const std::filesystem::path& ca_file, const ServedSeats& seats);
  // Cancels all calls, and waits until they have ended.
  ~ExchangeServer();
  ExchangeServer(const ExchangeServer&) = delete;
  ExchangeServer& operator=(const ExchangeServer&) = delete;

  // The address of Start(); where its port was 0, with the port that it got.
  const HostPort& address() const;

 private:
  class Impl;
  explicit ExchangeServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_EXCHANGE_SERVER_H_
