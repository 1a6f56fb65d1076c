// Links between hosts of one process, which break as a test wants.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_FAKE_HOST_LINKS_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_FAKE_HOST_LINKS_H_

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "shared/base/status.h"
#include "trainer_service/exchange/entry_source.h"
#include "trainer_service/exchange/first_weights.h"
#include "trainer_service/exchange/host_links.h"

namespace fgnn {

// What a link makes of a part of an entry on its way. DeadlineExceeded: it is
// under way, and looked at again. Another error breaks the link.
using EntryFault = std::function<absl::Status(EntryPart& part)>;

class FakeEntryStream final : public EntryStream {
 public:
  FakeEntryStream(EntrySource source, const EntryFault* fault)
      : source_(std::move(source)), fault_(*fault) {}

  absl::StatusOr<std::optional<EntryPart>> Next(Deadline deadline) override {
    if (!part_.has_value()) {
      FGNN_ASSIGN_OR_RETURN(part_, source_.Next(deadline));
    }
    if (part_.has_value() && fault_) {
      const absl::Status passed = fault_(*part_);
      if (absl::IsDeadlineExceeded(passed)) return std::nullopt;
      FGNN_RETURN_IF_ERROR(passed);
    }
    return std::exchange(part_, {});
  }
  bool is_over() override { return !part_.has_value() && source_.is_over(); }

 private:
  EntrySource source_;
  std::optional<EntryPart> part_;  // The part that is under way.
  const EntryFault& fault_;
};

// So that an entry of the tests' jobs takes several parts, the last one short.
inline constexpr size_t kFloatsOfPart = 5;

// A host as the others reach it.
struct FakeFarHost {
  Segment* segment;
  OthersVersions* versions;
};

// The links of host `self`.
class FakeHostLinks final : public HostLinks {
 public:
  FakeHostLinks(uint32_t self, const std::vector<FakeFarHost>* hosts,
                EntryFault fault)
      : self_(self), hosts_(*hosts), fault_(std::move(fault)) {}

  absl::StatusOr<std::unique_ptr<EntryStream>> Ask(
      uint32_t host, uint64_t version,
      const std::vector<BatchPart>& tasks) override {
    const FakeFarHost& far = hosts_.at(host);
    FGNN_RETURN_IF_ERROR(far.versions->Tell(self_, version));
    FGNN_ASSIGN_OR_RETURN(EntrySource source,
                          EntrySource::Make(far.segment, tasks, kFloatsOfPart));
    return std::make_unique<FakeEntryStream>(std::move(source), &fault_);
  }

  // In two parts: of the weights, and of the optimizer state.
  absl::Status CopyWeights(uint32_t host, uint64_t version,
                           TakeWeights take) override {
    FGNN_ASSIGN_OR_RETURN(const SentWeights sent,
                          FindWeights(hosts_.at(host).segment, version));
    FGNN_RETURN_IF_ERROR(take({.floats = sent.weights}));
    return take({.floats = sent.optimizer_state, .crcs = sent.crcs});
  }

  absl::StatusOr<LinkQuality> Probe(
      uint32_t /*host*/, const std::function<bool()>& /*is_stopped*/) override {
    return LinkQuality{.round_trip_seconds = 1e-3};
  }

 private:
  const uint32_t self_;
  const std::vector<FakeFarHost>& hosts_;
  const EntryFault fault_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_FAKE_HOST_LINKS_H_
