// Converts the hosts of a job to a message and back. The scheduler tells them
// to an exchange and to members.
#ifndef FGNN_SHARED_RPC_JOB_HOSTS_PROTO_H_
#define FGNN_SHARED_RPC_JOB_HOSTS_PROTO_H_

#include "fgnn/v1/executor.pb.h"
#include "shared/executors/executor_messages.h"

namespace fgnn {

v1::JobHosts ToProto(const JobHosts& hosts);
JobHosts FromProto(const v1::JobHosts& message);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_JOB_HOSTS_PROTO_H_
