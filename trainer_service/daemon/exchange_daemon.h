// fgnn-trainer --role exchange: attaches to jobs over several hosts, and trades
// their gradients with the exchanges of the other hosts.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_EXCHANGE_DAEMON_H_
#define FGNN_TRAINER_SERVICE_DAEMON_EXCHANGE_DAEMON_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/rpc/certificates/host_certificate.h"
#include "shared/rpc/executor_daemon.h"
#include "shared/rpc/sockets/host_port.h"
#include "trainer_service/exchange/board_seat.h"
#include "trainer_service/exchange/chunk_seat.h"
#include "trainer_service/exchange/chunk_trade.h"
#include "trainer_service/exchange/exchange_job.h"
#include "trainer_service/features/hosts/served_rows.h"
#include "trainer_service/rpc/exchange_server.h"
#include "trainer_service/rpc/reach_calls.h"

namespace fgnn {

struct ExchangeOptions {
  std::string address;  // Where it listens: HOST:PORT.
  // Folder with host.pem, host.key and ca.pem of this host.
  std::filesystem::path tls_dir;
  // Opens the rows that it sends to other hosts.
  StoreOpener open_store = nullptr;
};

// Connects the parts of the daemon and holds no logic of its own.
class ExchangeDaemon : private JobStarter, private ReachCalls {
 public:
  // See ExecutorDaemon::Start(), ReadHostCertificate() and
  // ExchangeServer::Start(). InvalidArgument: no address, or no folder. `stop`
  // is borrowed until destruction.
  static absl::StatusOr<std::unique_ptr<ExchangeDaemon>> Start(
      const ExecutorDaemonOptions& options, const ExchangeOptions& exchange,
      const SignalWaiter* stop);
  ExchangeDaemon(const ExchangeDaemon&) = delete;
  ExchangeDaemon& operator=(const ExchangeDaemon&) = delete;

  // Returns once a stop was requested and all work under way has ended.
  absl::Status ServeUntilStopped() { return executor_.ServeUntilStopped(); }
  // Where it listens.
  const HostPort& address() const { return server_->address(); }

 private:
  ExchangeDaemon(const ExecutorDaemonOptions& options, HostCertificate shown,
                 StoreOpener open_store, const SignalWaiter* stop);

  absl::StatusOr<std::unique_ptr<ExecutorJob>> StartJob(
      const ExecutorJobStart& start) override;
  void AddMetrics(MetricPage& page) const override;
  absl::StatusOr<std::vector<HostReach>> ReadReach(
      const std::string& job_id) override;
  absl::Status TradeChunks(const std::string& job_id, uint64_t scratch,
                           const CallLimits& limits) override;

  const HostCertificate shown_;
  const StoreOpener open_store_;
  ExchangeTotals totals_;
  ChunkTotals chunk_totals_;
  BoardSeat seat_;
  ChunkSeat chunk_seat_;
  std::unique_ptr<ExchangeServer> server_;
  const std::shared_ptr<grpc::Service> service_ = MakeReachService(this);
  ExecutorDaemon executor_;  // Last: it calls the functions above.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_EXCHANGE_DAEMON_H_
