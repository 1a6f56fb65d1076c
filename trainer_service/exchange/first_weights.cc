#include "trainer_service/exchange/first_weights.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/queue/gradient_board.h"
#include "trainer_service/exchange/entry_source.h"

namespace fgnn {
namespace {

// Writes the parts that come into the buffers of a lease, one after the other.
class WeightsWriter {
 public:
  explicit WeightsWriter(StepLease lease) : lease_(std::move(lease)) {}

  absl::Status Write(const WeightsPart& part) {
    const absl::Span<float> weights = lease_.new_weights();
    absl::Span<const float> left = part.floats;
    while (!left.empty()) {
      const absl::Span<float> to =
          written_ < weights.size()
              ? weights.subspan(written_)
              : lease_.new_optimizer_state().subspan(written_ - weights.size());
      if (to.empty()) {
        return absl::InvalidArgumentError(
            "the other host has more weights than this one");
      }
      const size_t count = std::min(left.size(), to.size());
      std::copy_n(left.begin(), count, to.begin());
      left.remove_prefix(count);
      written_ += count;
    }
    return absl::OkStatus();
  }

  // Publishes what was written, if it is whole.
  absl::Status Publish(const WeightsPart::Crcs& crcs) && {
    const absl::Span<float> weights = lease_.new_weights();
    const absl::Span<float> state = lease_.new_optimizer_state();
    if (written_ != weights.size() + state.size()) {
      return absl::InvalidArgumentError(
          "the other host has fewer weights than this one");
    }
    if (CrcOf(weights) != crcs.weights ||
        CrcOf(state) != crcs.optimizer_state) {
      return absl::UnavailableError("the weights came damaged");
    }
    return std::move(lease_).Publish();
  }

 private:
  StepLease lease_;
  size_t written_ = 0;
};

}  // namespace

absl::StatusOr<SentWeights> FindWeights(Segment* segment, uint64_t version) {
  const GradientBoard board(segment, kNoOwner);
  const std::optional<uint64_t> newest = board.version();
  if (!newest.has_value() || *newest < version) {
    return absl::UnavailableError(
        absl::StrCat("version ", version, " is not here yet"));
  }
  SentWeights sent;
  if (*newest == version) {
    sent.weights = board.weights(version);
    sent.optimizer_state = board.optimizer_state(version);
    sent.crcs = {.weights = CrcOf(sent.weights),
                 .optimizer_state = CrcOf(sent.optimizer_state)};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (board.version() == version) return sent;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "version ", version, " of the weights is not here any more, but ",
      board.version().value_or(0)));
}

bool NeedsFirstWeights(Segment* segment) {
  return segment->options().first_version > 0 &&
         !GradientBoard(segment, kNoOwner).version().has_value();
}

absl::Status FetchFirstWeights(Segment* segment, OwnerIndex owner,
                               HostLinks* links, uint32_t host,
                               const std::function<bool()>& is_stopped) {
  GradientBoard board(segment, owner);
  std::optional<WeightsWriter> writer;
  std::optional<WeightsPart::Crcs> crcs;
  const absl::Status copied = links->CopyWeights(
      host, segment->options().first_version,
      [&](const WeightsPart& part) -> absl::Status {
        if (is_stopped()) return absl::CancelledError("the job was stopped");
        if (!writer.has_value()) {
          // Only now it is known that the other host has the weights.
          std::optional<StepLease> lease = board.TryLease();
          if (!lease.has_value() || !lease->is_initial()) {
            return absl::UnavailableError("another process publishes them");
          }
          writer.emplace(*std::move(lease));
        }
        crcs = part.crcs;
        return writer->Write(part);
      });
  if (board.version().has_value()) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(copied);
  if (!writer.has_value() || !crcs.has_value()) {
    return absl::UnavailableError("the weights ended before their checksum");
  }
  return std::move(*writer).Publish(*crcs);
}

}  // namespace fgnn
