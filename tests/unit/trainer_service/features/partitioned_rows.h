// Rows of features that are shared out over the hosts of one process.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_FEATURES_PARTITIONED_ROWS_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_FEATURES_PARTITIONED_ROWS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/philox.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"
#include "trainer_service/features/hosts/partitioned_store.h"
#include "trainer_service/features/hosts/served_rows.h"
#include "trainer_service/features/rounded_store.h"

namespace fgnn {

// A dataset's features, a book, and what each owner has of them. Values are of
// no short form, so that they change where they are rounded.
class PartitionedRows {
 public:
  static constexpr uint64_t kRows = 3'000;
  static constexpr uint64_t kColumns = 7;

  explicit PartitionedRows(std::string wire = "stored")
      : wire_(std::move(wire)) {
    for (uint64_t i = 0; i < kRows * kColumns; ++i) {
      numbers_.push_back(static_cast<float>(Mix64(i) % 1'000'003) / 1'000.3F);
    }
    for (uint64_t v = 0; v < kRows; ++v) {
      parts_.push_back(static_cast<uint8_t>(Mix64(~v) % kFineParts));
    }
    EXPECT_THAT(WriteFileAtomically(folder_ / "book.bin",
                                    PartitionBook::ToBytes(parts_).value()),
                IsOk());
  }

  OwnPart PartOf(uint32_t owner, uint32_t owners) const {
    PartitionBook book =
        PartitionBook::OpenFile(folder_ / "book.bin", kRows).value();
    const HostRows rows = {book.key(), owners, owner};
    OwnRows index(book, rows);
    return {rows, std::move(book), std::move(index)};
  }
  std::unique_ptr<FeatureStore> Whole() const { return StoreOf(numbers_); }
  std::unique_ptr<FeatureStore> OwnStore(const OwnPart& part) {
    std::vector<float>& own = owned_.emplace_back();
    for (uint64_t v = 0; v < kRows; ++v) {
      if (!part.index.Has(static_cast<GlobalId>(v))) continue;
      own.insert(own.end(), numbers_.begin() + v * kColumns,
                 numbers_.begin() + (v + 1) * kColumns);
    }
    return StoreOf(own);
  }
  // What a host serves that is this owner, or has the whole dataset.
  std::shared_ptr<ServedRows> Served(std::optional<uint32_t> owner,
                                     uint32_t owners) {
    if (!owner.has_value()) {
      return std::make_shared<ServedRows>(Whole(), std::nullopt, &sent_);
    }
    OwnPart part = PartOf(*owner, owners);
    std::unique_ptr<FeatureStore> store = OwnStore(part);
    return std::make_shared<ServedRows>(std::move(store), std::move(part),
                                        &sent_);
  }
  const SentRows& sent() const { return sent_; }

 private:
  std::unique_ptr<FeatureStore> StoreOf(
      const std::vector<float>& numbers) const {
    return RoundAsWire(MakeMappedFeatureStore(
                           {reinterpret_cast<const std::byte*>(numbers.data()),
                            FeatureType::kFloat32, numbers.size() / kColumns,
                            kColumns}),
                       wire_)
        .value();
  }

  const std::string wire_;
  const TempFolder folder_;
  std::vector<float> numbers_;
  std::vector<uint8_t> parts_;
  std::deque<std::vector<float>> owned_;
  SentRows sent_;
};

// Links to hosts of this process. Each call sends at most `rows_a_call` rows,
// and breaks then if more were asked for.
class FakeRowLinks final : public RowLinks {
 public:
  static constexpr size_t kRowsAtOnce = 100;

  // hosts[h]: what host h serves; null: the host is away.
  explicit FakeRowLinks(std::vector<std::shared_ptr<ServedRows>> hosts)
      : hosts_(std::move(hosts)), calls_(hosts_.size()) {}

  void BreakAfter(size_t rows_a_call) { rows_a_call_ = rows_a_call; }
  uint64_t calls(uint32_t host) const { return calls_[host]; }
  // Ids that were asked for, and calls that were broken.
  uint64_t nodes() const { return nodes_; }
  uint64_t breaks() const { return breaks_; }

  absl::StatusOr<RowsOfHost> Describe(
      uint32_t host, const std::function<bool()>& is_stopped) override {
    if (is_stopped() || hosts_[host] == nullptr) return Broken();
    return hosts_[host]->Describe();
  }

  absl::Status CopyRows(uint32_t host, absl::Span<const GlobalId> nodes,
                        TakeRows take,
                        const std::function<bool()>& is_stopped) override {
    ++calls_[host];
    nodes_ += nodes.size();
    size_t left = rows_a_call_;
    std::vector<std::byte> rows;
    while (!nodes.empty()) {
      if (is_stopped() || left == 0) return Broken();
      const auto some = nodes.subspan(0, std::min(kRowsAtOnce, left));
      rows.resize(some.size() * hosts_[host]->row_bytes());
      const absl::Status copied = hosts_[host]->CopyRows(some, rows.data());
      if (!copied.ok()) return copied;
      const absl::Status taken = take(rows);
      if (!taken.ok()) return taken;
      nodes.remove_prefix(some.size());
      left -= some.size();
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Broken() {
    ++breaks_;
    return absl::UnavailableError("the link is broken");
  }

  const std::vector<std::shared_ptr<ServedRows>> hosts_;
  std::vector<std::atomic<uint64_t>> calls_;
  std::atomic<uint64_t> nodes_ = 0;
  std::atomic<uint64_t> breaks_ = 0;
  std::atomic<size_t> rows_a_call_ = SIZE_MAX;
};

// Returns host names host0, host1, …
inline JobHosts NamedHosts(size_t count, uint32_t self) {
  JobHosts hosts;
  hosts.self = self;
  for (size_t host = 0; host < count; ++host) {
    hosts.all.push_back({.name = absl::StrCat("host", host), .exchange = ""});
  }
  return hosts;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_FEATURES_PARTITIONED_ROWS_H_
