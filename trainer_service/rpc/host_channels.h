// Connections to the exchanges of other hosts. The header needs neither gRPC
// nor protobuf.
#ifndef FGNN_TRAINER_SERVICE_RPC_HOST_CHANNELS_H_
#define FGNN_TRAINER_SERVICE_RPC_HOST_CHANNELS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "shared/executors/executor_messages.h"
#include "shared/rpc/certificates/host_certificate.h"
#include "shared/rpc/sockets/host_port.h"
#include "trainer_service/exchange/host_links.h"
#include "trainer_service/features/hosts/row_links.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace fgnn {

// Returns a channel that connects by TLS with the first call, and again after
// the connection was lost. Each end shows its certificate. Calls of a host that
// is not there fail at once, so they do not wait while gRPC connects: the
// threads of a server of this process have to do that work.
std::shared_ptr<grpc::Channel> MakeHostChannel(const HostPort& address,
                                               const HostCertificate& shown);

// Channels to the exchanges of a job's other hosts, by the index of the host.
using HostChannels = std::map<uint32_t, std::shared_ptr<grpc::Channel>>;

// Returns channels of their own from host `hosts.self` to each other one.
// InvalidArgument, naming the host: the address of its exchange is none.
absl::StatusOr<HostChannels> MakeHostChannels(const JobHosts& hosts,
                                              const HostCertificate& shown);

// Returns the links from host `hosts.self` to the others. Errors are those of
// MakeHostChannels().
absl::StatusOr<std::unique_ptr<HostLinks>> LinkHosts(
    const std::string& job_id, const JobHosts& hosts,
    const HostCertificate& shown);

// Returns the links over which the trainers of host `hosts.self` ask the others
// for rows of features, over connections of their own, so that gradients do not
// queue behind rows. Errors are those of MakeHostChannels().
absl::StatusOr<std::unique_ptr<RowLinks>> LinkRows(
    const std::string& job_id, const JobHosts& hosts,
    const HostCertificate& shown);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_RPC_HOST_CHANNELS_H_
