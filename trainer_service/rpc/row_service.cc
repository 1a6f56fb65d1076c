#include "trainer_service/rpc/row_service.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/status.h"
#include "shared/base/types.h"
#include "shared/rpc/job_hosts_proto.h"
#include "shared/rpc/server.h"
#include "trainer_service/features/hosts/served_rows.h"

namespace fgnn {
namespace {

// Bytes of the rows of one message; a larger row is a message of its own.
constexpr size_t kBytesPerPart = size_t{512} << 10;

// Returns the ids of the message, in memory that is aligned for them.
absl::StatusOr<std::vector<GlobalId>> NodesOf(const v1::AskRowsRequest& asked) {
  const std::string& bytes = asked.nodes();
  if (bytes.size() % sizeof(GlobalId) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "nodes has ", bytes.size(), " bytes, which are no global ids"));
  }
  std::vector<GlobalId> nodes(bytes.size() / sizeof(GlobalId));
  std::memcpy(nodes.data(), bytes.data(), bytes.size());
  return nodes;
}

absl::Status SendRows(const ServedRows& rows, absl::Span<const GlobalId> nodes,
                      grpc::ServerWriter<v1::RowsPart>& writer) {
  const size_t row_bytes = rows.row_bytes();
  const size_t per_part = std::max<size_t>(kBytesPerPart / row_bytes, 1);
  v1::RowsPart part;
  while (!nodes.empty()) {
    const absl::Span<const GlobalId> some = nodes.subspan(0, per_part);
    std::string& bytes = *part.mutable_rows();
    bytes.resize(some.size() * row_bytes);
    FGNN_RETURN_IF_ERROR(
        rows.CopyRows(some, reinterpret_cast<std::byte*>(bytes.data())));
    if (!writer.Write(part)) {
      return absl::CancelledError(
          "the other host has gone, or the job is being detached");
    }
    nodes.remove_prefix(some.size());
  }
  return absl::OkStatus();
}

class RowService final : public v1::RowService::Service {
 public:
  RowService(BoardSeat* seat, CallerCheck check)
      : seat_(seat), check_(std::move(check)) {}

  grpc::Status DescribeRows(grpc::ServerContext* context,
                            const v1::DescribeRowsRequest* request,
                            v1::DescribeRowsResponse* response) override {
    return Serve(*context, *request, [&](const ServedRows& rows) {
      const RowsOfHost has = rows.Describe();
      *response->mutable_rows() = ToProto(has.rows);
      response->set_type(std::string(NameOf(has.type)));
      response->set_columns(has.columns);
      return absl::OkStatus();
    });
  }

  grpc::Status AskRows(grpc::ServerContext* context,
                       const v1::AskRowsRequest* request,
                       grpc::ServerWriter<v1::RowsPart>* writer) override {
    return Serve(*context, *request,
                 [&](const ServedRows& rows) -> absl::Status {
                   FGNN_ASSIGN_OR_RETURN(const std::vector<GlobalId> nodes,
                                         NodesOf(*request));
                   return SendRows(rows, nodes, *writer);
                 });
  }

 private:
  template <typename Request, typename Use>
  grpc::Status Serve(grpc::ServerContext& context, const Request& request,
                     Use use) {
    return ServeCall(context, [&]() -> absl::Status {
      if (check_ != nullptr) FGNN_RETURN_IF_ERROR(check_(context));
      return seat_->Use(
          request.job_id(), request.attempt(),
          [&context] { context.TryCancel(); },
          [&](const ServedBoard& board) { return use(*board.rows); });
    });
  }

  BoardSeat* const seat_;
  const CallerCheck check_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeRowService(BoardSeat* seat,
                                              CallerCheck check) {
  return std::make_unique<RowService>(seat, std::move(check));
}

}  // namespace fgnn
