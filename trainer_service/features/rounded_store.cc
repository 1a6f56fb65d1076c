#include "trainer_service/features/rounded_store.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "trainer_service/compute/widen.h"

namespace fgnn {
namespace {

class RoundedStore final : public FeatureStore {
 public:
  RoundedStore(std::unique_ptr<FeatureStore> store, FeatureType type)
      : store_(std::move(store)), type_(type) {}

  uint64_t num_rows() const override { return store_->num_rows(); }
  uint64_t num_columns() const override { return store_->num_columns(); }
  FeatureType type() const override { return type_; }
  const std::byte* data() const override { return nullptr; }

  absl::Status CopyRows(absl::Span<const GlobalId> nodes,
                        float* out) const override {
    FGNN_RETURN_IF_ERROR(store_->CopyRows(nodes, out));
    std::vector<std::byte> row(row_bytes());
    for (size_t i = 0; i < nodes.size(); ++i) {
      FGNN_RETURN_IF_ERROR(RoundInPlace(nodes[i], row, RowOf(out, i)));
    }
    return absl::OkStatus();
  }

  absl::Status CopyStoredRows(absl::Span<const GlobalId> nodes,
                              std::byte* out) const override {
    std::vector<float> numbers(nodes.size() * num_columns());
    FGNN_RETURN_IF_ERROR(store_->CopyRows(nodes, numbers.data()));
    for (size_t i = 0; i < nodes.size(); ++i) {
      FGNN_RETURN_IF_ERROR(
          Round(nodes[i], RowOf(numbers.data(), i), out + i * row_bytes()));
    }
    return absl::OkStatus();
  }

  absl::Status ExtractMisses(const BatchMisses& misses, float* out,
                             ThreadTeam& team, OtherRows other) const override {
    FGNN_RETURN_IF_ERROR(store_->ExtractMisses(misses, out, team, other));
    const size_t count = misses.nodes.size();
    FirstError failed;
    FGNN_RETURN_IF_ERROR(team.Run(
        NumTasks(static_cast<int64_t>(count), kExtractedRowsPerTask),
        [&](int64_t task, int) {
          const size_t first =
              static_cast<size_t>(task) * kExtractedRowsPerTask;
          const size_t last = std::min(first + kExtractedRowsPerTask, count);
          std::vector<std::byte> row(row_bytes());
          for (size_t i = first; i < last && !failed.any(); ++i) {
            if (!misses.Has(i)) continue;
            failed.Note(RoundInPlace(misses.nodes[i], row, RowOf(out, i)));
          }
        }));
    return failed.status();
  }

 private:
  float* RowOf(float* rows, size_t i) const { return rows + i * num_columns(); }

  // Rounds a row, whose number is `row`.
  absl::Status Round(GlobalId row, const float* from, std::byte* to) const {
    if (RoundNumbers(type_, from, num_columns(), to)) return absl::OkStatus();
    const float largest = *std::max_element(
        from, from + num_columns(),
        [](float a, float b) { return std::abs(a) < std::abs(b); });
    return absl::InvalidArgumentError(absl::StrCat(
        "features.wire is ", std::string(NameOf(type_)), ", but row ", row,
        " of the features has ", largest, ", which it cannot hold; use stored",
        type_ == FeatureType::kFloat16 ? " or bf16" : ""));
  }
  // Rounds a row, and widens it again. `rounded`: room for it.
  absl::Status RoundInPlace(GlobalId row, std::vector<std::byte>& rounded,
                            float* numbers) const {
    FGNN_RETURN_IF_ERROR(Round(row, numbers, rounded.data()));
    WidenToFloats(type_, rounded.data(), num_columns(), numbers);
    return absl::OkStatus();
  }

  const std::unique_ptr<FeatureStore> store_;
  const FeatureType type_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FeatureStore>> RoundAsWire(
    std::unique_ptr<FeatureStore> store, std::string_view wire) {
  const std::optional<FeatureType> type = FeatureTypeOf(wire);
  if (!type.has_value() || *type == store->type()) return store;
  if (store->type() != FeatureType::kFloat32) {
    return absl::InvalidArgumentError(absl::StrCat(
        "features.wire is ", std::string(wire), ", but the dataset stores ",
        std::string(NameOf(store->type())), "; use stored"));
  }
  return std::make_unique<RoundedStore>(std::move(store), *type);
}

}  // namespace fgnn
