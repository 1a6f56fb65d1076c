#include "trainer_service/features/cpu/mapped_feature_store.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "trainer_service/features/cpu/widen.h"

namespace fgnn {
namespace {

constexpr uint64_t kLineBytes = 64;
// How many rows ahead, and how much of each: after that the processor has
// seen the pattern and fetches by itself.
constexpr size_t kPrefetchRows = 8;
constexpr uint64_t kPrefetchBytes = 1024;

void PrefetchRow(const std::byte* row, uint64_t bytes) {
  for (uint64_t at = 0; at < std::min(bytes, kPrefetchBytes);
       at += kLineBytes) {
    __builtin_prefetch(row + at);
  }
  // Rows need not start at a line.
  __builtin_prefetch(row + std::min(bytes, kPrefetchBytes) - 1);
}

class MappedFeatureStore : public FeatureStore {
 public:
  explicit MappedFeatureStore(const FeatureView& view)
      : view_(view), row_bytes_(view.row_bytes()) {}

  uint64_t num_rows() const override { return view_.rows; }
  uint64_t num_columns() const override { return view_.columns; }

  FeatureType type() const override { return view_.type; }
  const std::byte* data() const override { return view_.data; }

  absl::Status CopyRows(absl::Span<const GlobalId> nodes,
                        float* out) const override {
    ForRows(nodes, [&](size_t i, const std::byte* row) {
      WidenToFloats(view_.type, row, view_.columns, out + i * view_.columns);
    });
    return absl::OkStatus();
  }
  absl::Status CopyStoredRows(absl::Span<const GlobalId> nodes,
                              std::byte* out) const override {
    ForRows(nodes, [&](size_t i, const std::byte* row) {
      std::memcpy(out + i * row_bytes_, row, row_bytes_);
    });
    return absl::OkStatus();
  }

 private:
  // Calls copy(i, row of nodes[i]), rows being fetched ahead.
  template <typename Copy>
  void ForRows(absl::Span<const GlobalId> nodes, Copy copy) const {
    if (row_bytes_ == 0) return;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (i + kPrefetchRows < nodes.size()) {
        PrefetchRow(view_.row(nodes[i + kPrefetchRows]), row_bytes_);
      }
      copy(i, view_.row(nodes[i]));
    }
  }

  const FeatureView view_;
  const uint64_t row_bytes_;
};

}  // namespace

std::unique_ptr<FeatureStore> MakeMappedFeatureStore(const FeatureView& view) {
  return std::make_unique<MappedFeatureStore>(view);
}

}  // namespace fgnn
