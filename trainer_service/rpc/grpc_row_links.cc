// RowLinks by gRPC: LinkRows() of host_channels.h.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"
#include "shared/rpc/build_server.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/job_hosts_proto.h"
#include "shared/rpc/status.h"
#include "trainer_service/rpc/host_calls.h"
#include "trainer_service/rpc/host_channels.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kDescribesWithin{10};
// Ids of one request. The other fields need much less than the rest.
constexpr size_t kMostNodes = (kMaxMessageBytes - 4096) / sizeof(GlobalId);

class GrpcRowLinks final : public RowLinks {
 public:
  GrpcRowLinks(std::string job_id, uint64_t attempt, HostChannels hosts)
      : job_id_(std::move(job_id)),
        attempt_(attempt),
        hosts_(std::move(hosts)) {}

  absl::StatusOr<RowsOfHost> Describe(
      uint32_t host, const std::function<bool()>& is_stopped) override {
    FGNN_ASSIGN_OR_RETURN(const auto stub, StubOf(host));
    v1::DescribeRowsRequest request;
    request.set_job_id(job_id_);
    request.set_attempt(attempt_);
    v1::DescribeRowsResponse response;
    FGNN_RETURN_IF_ERROR(LinkError(ReadAnswer<v1::DescribeRowsResponse>(
        kDescribesWithin,
        [&](grpc::ClientContext* context, grpc::CompletionQueue* events) {
          return stub->PrepareAsyncDescribeRows(context, request, events);
        },
        is_stopped, &response)));
    const std::optional<FeatureType> type = FeatureTypeOf(response.type());
    if (!type.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", response.type(), "' is no type of features"));
    }
    RowsOfHost rows;
    rows.type = *type;
    rows.columns = response.columns();
    FGNN_ASSIGN_OR_RETURN(rows.rows, FromProto(response.rows()));
    return rows;
  }

  absl::Status CopyRows(uint32_t host, absl::Span<const GlobalId> nodes,
                        TakeRows take,
                        const std::function<bool()>& is_stopped) override {
    FGNN_ASSIGN_OR_RETURN(const auto stub, StubOf(host));
    v1::AskRowsRequest request;
    request.set_job_id(job_id_);
    request.set_attempt(attempt_);
    while (!nodes.empty()) {
      const absl::Span<const GlobalId> some = nodes.subspan(0, kMostNodes);
      nodes.remove_prefix(some.size());
      request.set_nodes(some.data(), some.size() * sizeof(GlobalId));
      absl::Status taken;
      const absl::Status ended = ReadStream<v1::RowsPart>(
          kLongestHostCall,
          [&](grpc::ClientContext* context, grpc::CompletionQueue* events) {
            return stub->PrepareAsyncAskRows(context, request, events);
          },
          is_stopped,
          [&](const v1::RowsPart& part) {
            const std::string& rows = part.rows();
            return taken =
                       take({reinterpret_cast<const std::byte*>(rows.data()),
                             rows.size()});
          });
      FGNN_RETURN_IF_ERROR(taken);
      FGNN_RETURN_IF_ERROR(LinkError(ended));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::unique_ptr<v1::RowService::Stub>> StubOf(
      uint32_t host) const {
    const auto found = hosts_.find(host);
    if (found != hosts_.end()) return v1::RowService::NewStub(found->second);
    return absl::NotFoundError(
        absl::StrCat("the job has no host with index ", host));
  }

  const std::string job_id_;
  const uint64_t attempt_;
  const HostChannels hosts_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RowLinks>> LinkRows(
    const std::string& job_id, const JobHosts& hosts,
    const HostCertificate& shown) {
  FGNN_ASSIGN_OR_RETURN(HostChannels channels, MakeHostChannels(hosts, shown));
  return std::make_unique<GrpcRowLinks>(job_id, hosts.attempt,
                                        std::move(channels));
}

}  // namespace fgnn
