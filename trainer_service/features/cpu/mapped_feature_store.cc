#include "trainer_service/features/cpu/mapped_feature_store.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "trainer_service/compute/gather_rows.h"

namespace fgnn {
namespace {

class MappedFeatureStore : public FeatureStore {
 public:
  explicit MappedFeatureStore(const FeatureView& view) : view_(view) {}

  uint64_t num_rows() const override { return view_.rows; }
  uint64_t num_columns() const override { return view_.columns; }

  FeatureType type() const override { return view_.type; }
  const std::byte* data() const override { return view_.data; }

  absl::Status CopyRows(absl::Span<const GlobalId> nodes,
                        float* out) const override {
    GatherRows(
        view_.type, view_.columns, nodes.size(),
        [&](size_t i) { return view_.row(nodes[i]); }, out);
    return absl::OkStatus();
  }
  absl::Status CopyStoredRows(absl::Span<const GlobalId> nodes,
                              std::byte* out) const override {
    GatherStoredRows(
        view_.row_bytes(), nodes.size(),
        [&](size_t i) { return view_.row(nodes[i]); }, out);
    return absl::OkStatus();
  }

 private:
  const FeatureView view_;
};

}  // namespace

std::unique_ptr<FeatureStore> MakeMappedFeatureStore(const FeatureView& view) {
  return std::make_unique<MappedFeatureStore>(view);
}

}  // namespace fgnn
