#include "trainer_service/rpc/exchange_service.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/status.h"
#include "shared/rpc/build_server.h"
#include "shared/rpc/server.h"

namespace fgnn {
namespace {

// Floats of one message; its other fields need much less than the rest.
constexpr size_t kFloatsPerPart = kMaxMessageBytes / 2 / sizeof(float);

class ExchangeService final : public v1::ExchangeService::Service {
 public:
  explicit ExchangeService(ServedBoard board) : board_(std::move(board)) {}

  grpc::Status AskEntries(grpc::ServerContext* context,
                          const v1::AskEntriesRequest* request,
                          grpc::ServerWriter<v1::EntryPart>* writer) override {
    return ServeCall(*context,
                     [&] { return Answer(*context, *request, *writer); });
  }

 private:
  absl::Status Answer(const grpc::ServerContext& context,
                      const v1::AskEntriesRequest& request,
                      grpc::ServerWriter<v1::EntryPart>& writer) {
    if (request.job_id() != board_.job_id) {
      return absl::NotFoundError(
          absl::StrCat("job ", request.job_id(), " is not on this host"));
    }
    FGNN_RETURN_IF_ERROR(
        board_.versions->Tell(request.host(), request.version()));
    std::vector<BatchPart> tasks;
    for (const v1::BoardTask& task : request.tasks()) {
      tasks.push_back({BatchSeq(task.seq()), task.part()});
    }
    FGNN_ASSIGN_OR_RETURN(EntrySource source,
                          EntrySource::Make(board_.segment, std::move(tasks)));
    while (!source.is_over()) {
      FGNN_ASSIGN_OR_RETURN(const std::optional<BoardEntry> entry,
                            source.Next(DeadlineIn(kTick)));
      if (context.IsCancelled() ||
          (entry.has_value() && !Send(*entry, writer))) {
        return absl::CancelledError("the other host has gone");
      }
    }
    return absl::OkStatus();
  }

  // Returns false if the other host has gone.
  static bool Send(const BoardEntry& entry,
                   grpc::ServerWriter<v1::EntryPart>& writer) {
    const size_t size = entry.gradient.size();
    for (size_t begin = 0; begin < size; begin += kFloatsPerPart) {
      const size_t end = std::min(begin + kFloatsPerPart, size);
      v1::EntryPart part;
      part.mutable_task()->set_seq(entry.task.seq.value());
      part.mutable_task()->set_part(entry.task.part);
      part.set_floats(entry.gradient.data() + begin,
                      (end - begin) * sizeof(float));
      if (end == size) {
        part.set_record(&entry.record, sizeof(entry.record));
        part.set_gradient_crc(entry.gradient_crc);
        if (entry.weights_crc.has_value()) {
          part.set_weights_crc(*entry.weights_crc);
        }
      }
      if (!writer.Write(part)) return false;
    }
    return true;
  }

  const ServedBoard board_;
};

}  // namespace

std::shared_ptr<grpc::Service> MakeExchangeService(ServedBoard board) {
  return std::make_shared<ExchangeService>(std::move(board));
}

}  // namespace fgnn
