#include "trainer_service/rpc/exchange_service.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/rpc/build_server.h"
#include "shared/rpc/server.h"
#include "trainer_service/exchange/entry_source.h"
#include "trainer_service/exchange/first_weights.h"
#include "trainer_service/rpc/host_probe.h"

namespace fgnn {
namespace {

// The other fields of a message need much less than the rest.
static_assert(kFloatsPerPart * sizeof(float) <= kMaxMessageBytes / 2);

// Returns the part as a message.
v1::EntryPart MessageOf(EntryPart part) {
  v1::EntryPart message;
  message.mutable_task()->set_seq(part.task.seq.value());
  message.mutable_task()->set_part(part.task.part);
  message.set_floats(std::move(part.floats));
  if (part.end.has_value()) {
    message.set_record(&part.end->record, sizeof(part.end->record));
    message.set_gradient_crc(part.end->gradient_crc);
    if (part.end->weights_crc.has_value()) {
      message.set_weights_crc(*part.end->weights_crc);
    }
  }
  return message;
}

class ExchangeService final : public v1::ExchangeService::Service {
 public:
  ExchangeService(BoardSeat* seat, CallerCheck check)
      : seat_(seat), check_(std::move(check)) {}

  grpc::Status AskEntries(grpc::ServerContext* context,
                          const v1::AskEntriesRequest* request,
                          grpc::ServerWriter<v1::EntryPart>* writer) override {
    return ServeCall(*context, [&]() -> absl::Status {
      if (check_ != nullptr) FGNN_RETURN_IF_ERROR(check_(*context));
      return seat_->Use(
          request->job_id(), request->attempt(),
          [context] { context->TryCancel(); },
          [&](const ServedBoard& board) {
            return Answer(board, *context, *request, *writer);
          });
    });
  }

  grpc::Status AskWeights(
      grpc::ServerContext* context, const v1::AskWeightsRequest* request,
      grpc::ServerWriter<v1::WeightsPart>* writer) override {
    return ServeCall(*context, [&]() -> absl::Status {
      if (check_ != nullptr) FGNN_RETURN_IF_ERROR(check_(*context));
      return seat_->Use(
          request->job_id(), request->attempt(),
          [context] { context->TryCancel(); },
          [&](const ServedBoard& board) -> absl::Status {
            FGNN_ASSIGN_OR_RETURN(
                const SentWeights sent,
                FindWeights(board.segment, request->version()));
            if (SendWeights(sent, *writer)) return absl::OkStatus();
            return GoneError();
          });
    });
  }

  grpc::Status AskProbe(grpc::ServerContext* context,
                        const v1::AskProbeRequest* request,
                        grpc::ServerWriter<v1::ProbePart>* writer) override {
    return ServeCall(*context, [&]() -> absl::Status {
      if (check_ != nullptr) FGNN_RETURN_IF_ERROR(check_(*context));
      return AnswerProbe(*request, *writer);
    });
  }

 private:
  static absl::Status AnswerProbe(const v1::AskProbeRequest& request,
                                  grpc::ServerWriter<v1::ProbePart>& writer) {
    if (request.num_parts() > kMostProbeParts) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_parts is ", request.num_parts(),
                       ", must be at most ", kMostProbeParts));
    }
    v1::ProbePart part;
    part.set_unix_microseconds(UnixMicroseconds());
    if (!writer.Write(part)) return GoneError();
    part.clear_unix_microseconds();
    part.mutable_filling()->resize(kProbePartBytes);
    for (uint32_t i = 0; i < request.num_parts(); ++i) {
      if (!writer.Write(part)) return GoneError();
    }
    return absl::OkStatus();
  }
  static absl::Status GoneError() {
    return absl::CancelledError(
        "the other host has gone, or the job is being detached");
  }
  // Returns false if the other host has gone.
  static bool SendWeights(const SentWeights& sent,
                          grpc::ServerWriter<v1::WeightsPart>& writer) {
    for (const absl::Span<const float> all :
         {sent.weights, sent.optimizer_state}) {
      for (size_t begin = 0; begin < all.size(); begin += kFloatsPerPart) {
        const absl::Span<const float> some = all.subspan(begin, kFloatsPerPart);
        v1::WeightsPart part;
        part.set_floats(some.data(), some.size() * sizeof(float));
        if (!writer.Write(part)) return false;
      }
    }
    v1::WeightsPart last;
    last.set_weights_crc(sent.crcs.weights);
    last.set_state_crc(sent.crcs.optimizer_state);
    return writer.Write(last);
  }
  static absl::Status Answer(const ServedBoard& board,
                             const grpc::ServerContext& context,
                             const v1::AskEntriesRequest& request,
                             grpc::ServerWriter<v1::EntryPart>& writer) {
    FGNN_RETURN_IF_ERROR(
        board.versions->Tell(request.host(), request.version()));
    std::vector<BatchPart> tasks;
    for (const v1::BoardTask& task : request.tasks()) {
      tasks.push_back({BatchSeq(task.seq()), task.part()});
    }
    FGNN_ASSIGN_OR_RETURN(EntrySource source,
                          EntrySource::Make(board.segment, std::move(tasks)));
    while (!source.is_over()) {
      FGNN_ASSIGN_OR_RETURN(std::optional<EntryPart> part,
                            source.Next(DeadlineIn(kTick)));
      if (context.IsCancelled() ||
          (part.has_value() && !writer.Write(MessageOf(*std::move(part))))) {
        return GoneError();
      }
    }
    return absl::OkStatus();
  }

  BoardSeat* const seat_;
  const CallerCheck check_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeExchangeService(BoardSeat* seat,
                                                   CallerCheck check) {
  return std::make_unique<ExchangeService>(seat, std::move(check));
}

}  // namespace fgnn
