// Features of which this host has a part. The other rows come from other hosts
// of the job (FastSample's hybrid partitioning).
//
//   ids ▶ hosts that have the rows ▶ rows       two rounds, all hosts at once
//   own rows are copied meanwhile
#ifndef FGNN_TRAINER_SERVICE_FEATURES_HOSTS_PARTITIONED_STORE_H_
#define FGNN_TRAINER_SERVICE_FEATURES_HOSTS_PARTITIONED_STORE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/notification.h"
#include "shared/base/types.h"
#include "shared/graph/host_rows.h"
#include "trainer_service/features/feature_store.h"
#include "trainer_service/features/hosts/linked_hosts.h"
#include "trainer_service/features/hosts/own_part.h"
#include "trainer_service/features/hosts/row_links.h"

namespace fgnn {

// Time without a row after which LoadStoredRows() and ExtractMisses() give up a
// link that breaks. A trainer that holds a batch is to hear its scheduler.
inline constexpr std::chrono::milliseconds kLinkPatience{1000};

// A row of another host is asked for again after a break of the link, until it
// is there or Stop() was called. The errors of all reads are those of the own
// store and of RowLinks, naming the host. FailedPrecondition: another host has
// rows of another book, or no host has those of an owner. Cancelled: Stop() was
// called.
class PartitionedStore final : public FeatureStore {
 public:
  // Row r of `own` is own row r of the part. `patience`: see kLinkPatience.
  // InvalidArgument: a row is larger than what hosts send each other.
  static absl::StatusOr<std::unique_ptr<PartitionedStore>> Make(
      std::unique_ptr<FeatureStore> own, OwnPart part,
      std::chrono::milliseconds patience = kLinkPatience);

  // Called at most once, before any other thread reads rows. Without links, all
  // rows of other hosts are zeros: a profile is measured so.
  void Link(LinkedHosts hosts) { hosts_ = std::move(hosts); }
  // Lets reads that wait for another host return soon. Any thread.
  void Stop() { stopped_.Notify(); }
  // Returns a number that rises while rows of other hosts are waited for, or
  // come. Any thread.
  uint64_t progress() const { return progress_; }

  uint64_t num_rows() const override { return part_.book.num_nodes(); }
  uint64_t num_columns() const override { return own_->num_columns(); }
  FeatureType type() const override { return own_->type(); }
  const std::byte* data() const override { return nullptr; }
  absl::Status CopyRows(absl::Span<const GlobalId> nodes,
                        float* out) const override;
  absl::Status CopyStoredRows(absl::Span<const GlobalId> nodes,
                              std::byte* out) const override;
  // This function and the next one wait no longer than the patience for a link.
  // Unavailable, naming the host: it broke, and no row came for so long; worth
  // another try.
  absl::Status LoadStoredRows(absl::Span<const GlobalId> nodes, std::byte* out,
                              ThreadTeam& team) const override;
  absl::Status ExtractMisses(const BatchMisses& misses, float* out,
                             ThreadTeam& team, OtherRows other) const override;
  uint64_t CountRemote(const BatchMisses& misses) const override;

 private:
  // Rows that one host has, and their places in the caller's array.
  struct Wanted {
    std::vector<GlobalId> nodes;
    std::vector<uint32_t> places;
  };
  // Takes a stored row. Called on several threads, with other places.
  using TakeRow = absl::FunctionRef<void(uint32_t place, const std::byte* row)>;
  // The host that has the rows of each fine part.
  using HostOfPart = std::array<uint32_t, kFineParts>;

  // Whether a read waits for a broken link until Stop(), or only for the
  // patience.
  enum class Waits : uint8_t { kUntilStop, kForPatience };

  PartitionedStore(std::unique_ptr<FeatureStore> own, OwnPart part,
                   std::chrono::milliseconds patience)
      : own_(std::move(own)), part_(std::move(part)), patience_(patience) {}

  // Asks the other hosts for their rows of the misses, and calls `load_own`
  // meanwhile.
  absl::Status Load(
      const BatchMisses& misses, Waits waits, TakeRow take,
      absl::FunctionRef<absl::Status(const Wanted& own)> load_own) const;
  absl::Status Ask(uint32_t host, const Wanted& wanted, Waits waits,
                   TakeRow take, const std::function<bool()>& is_stopped) const;
  // Copies own rows [first, last) of `own` on the calling thread.
  absl::Status CopyOwn(const Wanted& own, size_t first, size_t last,
                       TakeRow take) const;
  // Returns the hosts of all parts, once all hosts have told which rows they
  // have.
  absl::StatusOr<HostOfPart> FindHosts(Waits waits) const;
  absl::StatusOr<HostOfPart> ChooseHosts(
      const std::vector<std::optional<RowsOfHost>>& rows) const;
  absl::StatusOr<RowsOfHost> AskWhatItHas(uint32_t host, Waits waits) const;
  // Returns when a read that has just got a row gives up a link that breaks.
  Deadline GiveUpAt(Waits waits) const;
  // Waits before the host is asked again. `what`: such as "7 rows of features".
  // Returns an error if the host is not to be asked again.
  absl::Status NoteBreak(uint32_t host, Deadline give_up,
                         const std::string& what,
                         const absl::Status& why) const;
  void NoteAnswer(uint32_t host) const;
  const std::string& HostName(uint32_t host) const {
    return hosts_.hosts.all[host].name;
  }

  const std::unique_ptr<FeatureStore> own_;
  const OwnPart part_;
  const std::chrono::milliseconds patience_;
  LinkedHosts hosts_;
  Notification stopped_;
  mutable std::atomic<uint64_t> progress_ = 0;
  mutable Mutex mutex_;
  mutable std::optional<HostOfPart> found_ ABSL_GUARDED_BY(mutex_);
  // Hosts whose links broke, and that have sent nothing since.
  mutable std::set<uint32_t> silent_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_HOSTS_PARTITIONED_STORE_H_
