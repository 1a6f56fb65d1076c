#include "trainer_service/rpc/host_probe.h"

#include <optional>

#include "absl/functional/function_ref.h"
#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "trainer_service/rpc/host_calls.h"

namespace fgnn {
namespace {

constexpr int kPings = 5;
constexpr uint32_t kRateParts = 8;  // 4 MiB.
constexpr std::chrono::seconds kAnswersWithin{5};
// A slow link is measured by what came until then.
constexpr std::chrono::seconds kRateWithin{2};

// Asks for so many parts, and calls `take` with each message when it comes.
absl::Status AskProbe(const std::shared_ptr<grpc::Channel>& channel,
                      uint32_t num_parts, std::chrono::milliseconds within,
                      const std::function<bool()>& is_stopped,
                      absl::FunctionRef<void(const v1::ProbePart&)> take) {
  const auto stub = v1::ExchangeService::NewStub(channel);
  v1::AskProbeRequest request;
  request.set_num_parts(num_parts);
  return ReadStream<v1::ProbePart>(
      within,
      [&](grpc::ClientContext* context, grpc::CompletionQueue* events) {
        return stub->PrepareAsyncAskProbe(context, request, events);
      },
      is_stopped,
      [&](const v1::ProbePart& part) {
        take(part);
        return absl::OkStatus();
      });
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
