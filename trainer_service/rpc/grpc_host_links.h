// The links to the other hosts of a job, by gRPC.
#ifndef FGNN_TRAINER_SERVICE_RPC_GRPC_HOST_LINKS_H_
#define FGNN_TRAINER_SERVICE_RPC_GRPC_HOST_LINKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trainer_service/exchange/host_links.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace fgnn {

// Thread-safe. Errors of a link are Unavailable, so that it is asked again:
// those of the connection, the end of a call before its entries, and a host
// that does not have the job yet.
class GrpcHostLinks final : public HostLinks {
 public:
  // `attempt`: see JobHosts. `self`: index of this host. `hosts`: channels to
  // the exchanges of the other hosts, by their indices.
  GrpcHostLinks(std::string job_id, uint64_t attempt, uint32_t self,
                std::map<uint32_t, std::shared_ptr<grpc::Channel>> hosts)
      : job_id_(std::move(job_id)),
        attempt_(attempt),
        self_(self),
        hosts_(std::move(hosts)) {}

  absl::StatusOr<std::unique_ptr<EntryStream>> Ask(
      uint32_t host, uint64_t version,
      const std::vector<BatchPart>& tasks) override;
  absl::Status CopyWeights(uint32_t host, uint64_t version,
                           TakeWeights take) override;
  absl::StatusOr<LinkQuality> Probe(
      uint32_t host, const std::function<bool()>& is_stopped) override;

 private:
  // Returns the channel to the host's exchange. NotFound: no such host.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelTo(uint32_t host) const;

  const std::string job_id_;
  const uint64_t attempt_;
  const uint32_t self_;
  const std::map<uint32_t, std::shared_ptr<grpc::Channel>> hosts_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_GRPC_HOST_LINKS_H_
