// The links over which results of evaluations come from the other hosts of a
// job, by gRPC. The header needs neither gRPC nor protobuf.
#ifndef FGNN_TRAINER_SERVICE_RPC_GRPC_CHUNK_LINKS_H_
#define FGNN_TRAINER_SERVICE_RPC_GRPC_CHUNK_LINKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "shared/executors/executor_messages.h"
#include "shared/rpc/certificates/host_certificate.h"
#include "trainer_service/exchange/chunk_links.h"
#include "trainer_service/rpc/host_channels.h"

namespace fgnn {

// Thread-safe. Errors of a link are Unavailable, so that it is asked again:
// those of the connection, the end of a call before its chunks, and a host that
// does not have the evaluation yet.
class GrpcChunkLinks final : public ChunkLinks {
 public:
  // `attempt`: see JobHosts. `hosts`: channels to the exchanges of the other
  // hosts, by their indices.
  GrpcChunkLinks(std::string job_id, uint64_t attempt, HostChannels hosts)
      : job_id_(std::move(job_id)),
        attempt_(attempt),
        hosts_(std::move(hosts)) {}

  absl::Status CopyChunks(uint32_t host, uint64_t evaluation,
                          const ChunkPlace& first, TakePiece take,
                          const std::function<bool()>& is_stopped) override;

 private:
  const std::string job_id_;
  const uint64_t attempt_;
  const HostChannels hosts_;
};

// Returns the links from host `hosts.self` to the others, over connections of
// their own, so that gradients do not queue behind results. InvalidArgument,
// naming the host: the address of its exchange is none.
absl::StatusOr<std::unique_ptr<ChunkLinks>> LinkChunks(
    const std::string& job_id, const JobHosts& hosts,
    const HostCertificate& shown);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_GRPC_CHUNK_LINKS_H_
