#include "trainer_service/rpc/host_probe.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>

#include <optional>

#include "absl/functional/function_ref.h"
#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/status.h"

namespace fgnn {
namespace {

constexpr int kPings = 5;
constexpr uint32_t kRateParts = 8;  // 4 MiB.
constexpr std::chrono::seconds kAnswersWithin{5};
// A slow link is measured by what came until then.
constexpr std::chrono::seconds kRateWithin{2};

// Waits for the queue's next event. Returns whether it is a message, or the
// call's begin.
bool Await(grpc::CompletionQueue& events, grpc::ClientContext& context,
           const std::function<bool()>& is_stopped) {
  while (true) {
    void* tag = nullptr;
    bool ok = false;
    // The event always comes: the call has a deadline.
    const auto next =
        events.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kTick);
    if (next != grpc::CompletionQueue::TIMEOUT) return ok;
    if (is_stopped()) context.TryCancel();
  }
}

// Asks for so many parts, and calls `take` with each message when it comes.
absl::Status AskProbe(const std::shared_ptr<grpc::Channel>& channel,
                      uint32_t num_parts, std::chrono::milliseconds within,
                      const std::function<bool()>& is_stopped,
                      absl::FunctionRef<void(const v1::ProbePart&)> take) {
  const auto stub = v1::ExchangeService::NewStub(channel);
  v1::AskProbeRequest request;
  request.set_num_parts(num_parts);
  v1::ProbePart part;
  grpc::Status ended;
  grpc::ClientContext context;
  SetDeadline(context, within);
  grpc::CompletionQueue events;
  const auto reader = stub->PrepareAsyncAskProbe(&context, request, &events);
  reader->StartCall(nullptr);
  bool goes_on = Await(events, context, is_stopped);
  while (goes_on) {
    reader->Read(&part, nullptr);
    goes_on = Await(events, context, is_stopped);
    if (goes_on) take(part);
  }
  reader->Finish(&ended, nullptr);
  Await(events, context, is_stopped);
  events.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (events.Next(&tag, &ok)) {
  }
  return FromGrpc(ended);
}

// Asks for the other host's clock. Keeps the answer that came the soonest.
absl::Status Ping(const std::shared_ptr<grpc::Channel>& channel,
                  const std::function<bool()>& is_stopped,
                  std::optional<LinkQuality>& best) {
  const int64_t asked = UnixMicroseconds();
  const Stopwatch watch;
  return AskProbe(channel, /*num_parts=*/0, kAnswersWithin, is_stopped,
                  [&](const v1::ProbePart& part) {
                    const double seconds = watch.Seconds();
                    if (best.has_value() && best->round_trip_seconds <= seconds)
                      return;
                    const auto ahead =
                        static_cast<double>(part.unix_microseconds() - asked) *
                        1e-6;
                    best = {.round_trip_seconds = seconds,
                            .clock_offset_seconds = ahead - seconds / 2};
                  });
}

// Returns the bytes that come in a second; 0: none came in time.
absl::StatusOr<double> MeasureRate(
    const std::shared_ptr<grpc::Channel>& channel,
    const std::function<bool()>& is_stopped) {
  uint64_t bytes = 0;
  double seconds = 0;
  std::optional<Stopwatch> watch;
  const absl::Status asked =
      AskProbe(channel, kRateParts, kRateWithin, is_stopped,
               [&](const v1::ProbePart& part) {
                 // The time begins with the answer.
                 if (!watch.has_value()) watch.emplace();
                 bytes += part.filling().size();
                 seconds = watch->Seconds();
               });
  if (!absl::IsDeadlineExceeded(asked)) FGNN_RETURN_IF_ERROR(asked);
  return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

}  // namespace

absl::StatusOr<LinkQuality> ProbeHost(
    const std::shared_ptr<grpc::Channel>& channel,
    const std::function<bool()>& is_stopped) {
  std::optional<LinkQuality> best;
  for (int ping = 0; ping < kPings; ++ping) {
    FGNN_RETURN_IF_ERROR(Ping(channel, is_stopped, best));
  }
  if (!best.has_value()) return absl::InternalError("no clock came");
  FGNN_ASSIGN_OR_RETURN(best->bytes_per_second,
                        MeasureRate(channel, is_stopped));
  return *best;
}

}  // namespace fgnn
