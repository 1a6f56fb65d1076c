// Converts the hosts of a job, and what they found out about themselves, to
// messages and back.
#ifndef FGNN_SHARED_RPC_JOB_HOSTS_PROTO_H_
#define FGNN_SHARED_RPC_JOB_HOSTS_PROTO_H_

#include <vector>

#include "absl/status/statusor.h"
#include "fgnn/v1/executor.pb.h"
#include "shared/executors/executor_messages.h"
#include "shared/graph/host_rows.h"
#include "shared/measured/host_reach.h"
#include "shared/measured/profiles.h"

namespace fgnn {

v1::JobHosts ToProto(const JobHosts& hosts);
JobHosts FromProto(const v1::JobHosts& message);

v1::Arithmetic ToProto(const Arithmetic& arithmetic);
Arithmetic FromProto(const v1::Arithmetic& message);

v1::HostRows ToProto(const HostRows& rows);
// InvalidArgument: they are those of no owner.
absl::StatusOr<HostRows> FromProto(const v1::HostRows& message);

using HostReachMessages = google::protobuf::RepeatedPtrField<v1::HostReach>;
HostReachMessages ToProto(const std::vector<HostReach>& reaches);
std::vector<HostReach> FromProto(const HostReachMessages& messages);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_JOB_HOSTS_PROTO_H_
