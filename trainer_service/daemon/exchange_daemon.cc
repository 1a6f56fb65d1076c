#include "trainer_service/daemon/exchange_daemon.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/device/device.h"
#include "trainer_service/exchange/chunk_trade.h"
#include "trainer_service/rpc/grpc_chunk_links.h"
#include "trainer_service/rpc/host_channels.h"

namespace fgnn {

absl::StatusOr<std::unique_ptr<ExchangeDaemon>> ExchangeDaemon::Start(
    const ExecutorDaemonOptions& options, const ExchangeOptions& exchange,
    const SignalWaiter* stop) {
  if (exchange.address.empty() || exchange.tls_dir.empty()) {
    return absl::InvalidArgumentError(
        "an exchange needs --exchange HOST:PORT and --tls-dir DIR; the "
        "scheduler of its host starts it with them");
  }
  FGNN_ASSIGN_OR_RETURN(const HostPort address,
                        ParseHostPort(exchange.address));
  FGNN_ASSIGN_OR_RETURN(HostCertificate shown,
                        ReadHostCertificate(exchange.tls_dir));
  // Threads of the server inherit the cores. Without a device, the executor
  // refuses to start.
  if (!options.device.name.empty()) {
    FGNN_RETURN_IF_ERROR(PinThisThread(options.device));
  }
  auto daemon = absl::WrapUnique(
      new ExchangeDaemon(options, std::move(shown), exchange.open_store, stop));
  FGNN_ASSIGN_OR_RETURN(
      daemon->server_,
      ExchangeServer::Start(
          address, daemon->shown_, exchange.tls_dir / "ca.pem",
          {.board = &daemon->seat_, .chunks = &daemon->chunk_seat_}));
  FGNN_RETURN_IF_ERROR(daemon->executor_.Start({daemon->service_.get()}));
  return daemon;
}

ExchangeDaemon::ExchangeDaemon(const ExecutorDaemonOptions& options,
                               HostCertificate shown, StoreOpener open_store,
                               const SignalWaiter* stop)
    : shown_(std::move(shown)),
      open_store_(std::move(open_store)),
      executor_(options, "exchange", this, stop) {}

absl::StatusOr<std::unique_ptr<ExecutorJob>> ExchangeDaemon::StartJob(
    const ExecutorJobStart& start) {
  const AttachJobRequest& attachment = start.attachment;
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<HostLinks> links,
                        LinkHosts(attachment.job_id, attachment.hosts, shown_));
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<ServedRows> rows,
      ServedRows::Open(start.spec, open_store_, &totals_.rows));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<Segment> segment, start.segment());
  return ExchangeJob::Start({.job_id = attachment.job_id,
                             .owner = attachment.owner,
                             .hosts = attachment.hosts,
                             .rows = std::move(rows),
                             .totals = &totals_,
                             .on_failure = start.on_failure},
                            std::move(links), std::move(segment), &seat_);
}

absl::StatusOr<std::vector<HostReach>> ExchangeDaemon::ReadReach(
    const std::string& job_id) {
  std::vector<HostReach> reaches;
  FGNN_RETURN_IF_ERROR(executor_.WithJob(job_id, [&](ExecutorJob& job) {
    // StartJob() makes no other kind of job.
    reaches = static_cast<ExchangeJob&>(job).reaches();
    return absl::OkStatus();
  }));
  return reaches;
}

absl::Status ExchangeDaemon::TradeChunks(const std::string& job_id,
                                         uint64_t scratch,
                                         const CallLimits& limits) {
  FGNN_ASSIGN_OR_RETURN(UniqueFd memory,
                        executor_.RequestScratch(job_id, scratch));
  return executor_.WithJob(job_id, [&](ExecutorJob& job) -> absl::Status {
    // StartJob() makes no other kind of job.
    const auto& exchange = static_cast<const ExchangeJob&>(job);
    const JobHosts& hosts = exchange.hosts();
    FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<ChunkLinks> links,
                          LinkChunks(job_id, hosts, shown_));
    FGNN_ASSIGN_OR_RETURN(std::unique_ptr<ChunkBoard> board,
                          ChunkBoard::Open(std::move(memory)));
    return fgnn::TradeChunks(
        std::make_shared<ServedChunks>(job_id, hosts.attempt, std::move(board)),
        &chunk_seat_, links.get(), &chunk_totals_, [&]() -> absl::Status {
          if (!exchange.is_stopped()) return limits.Check();
          return absl::UnavailableError(
              absl::StrCat("job ", job_id, " is being detached"));
        });
  });
}

void ExchangeDaemon::AddMetrics(MetricPage& page) const {
  page.AddCounter("fgnn_exchange_entries_total",
                  "Gradients that this exchange got from other hosts.",
                  static_cast<double>(totals_.entries));
  page.AddCounter("fgnn_exchange_breaks_total",
                  "Links to other hosts that broke, and gradients that came "
                  "damaged.",
                  static_cast<double>(totals_.breaks));
  page.AddCounter("fgnn_exchange_rows_total",
                  "Rows of features that this exchange sent to other hosts.",
                  static_cast<double>(totals_.rows.rows));
  page.AddCounter("fgnn_exchange_row_bytes_total", "Bytes of these rows.",
                  static_cast<double>(totals_.rows.bytes));
  page.AddCounter("fgnn_exchange_chunks_total",
                  "Results of evaluations that this exchange got from other "
                  "hosts, chunk by chunk.",
                  static_cast<double>(chunk_totals_.chunks));
  page.AddCounter("fgnn_exchange_chunk_bytes_total", "Bytes of these results.",
                  static_cast<double>(chunk_totals_.bytes));
}

}  // namespace fgnn
