#include "trainer_service/features/made_up_store.h"

#include "shared/base/philox.h"

namespace fgnn {
namespace {

class MadeUpStore final : public FeatureStore {
 public:
  MadeUpStore(uint64_t rows, uint64_t columns)
      : rows_(rows), columns_(columns) {}

  uint64_t num_rows() const override { return rows_; }
  uint64_t num_columns() const override { return columns_; }
  FeatureType type() const override { return FeatureType::kFloat32; }
  const std::byte* data() const override { return nullptr; }

  absl::Status CopyRows(absl::Span<const GlobalId> nodes,
                        float* out) const override {
    for (const GlobalId node : nodes) {
      for (uint64_t column = 0; column < columns_; ++column) {
        // 24 bits: as many as an f32 has.
        const uint64_t bits = Mix64(node * columns_ + column) >> 40;
        *out++ = static_cast<float>(bits) * 0x1p-24F - .5F;
      }
    }
    return absl::OkStatus();
  }
  absl::Status CopyStoredRows(absl::Span<const GlobalId> nodes,
                              std::byte* out) const override {
    return CopyRows(nodes, reinterpret_cast<float*>(out));
  }

 private:
  const uint64_t rows_;
  const uint64_t columns_;
};

}  // namespace

std::unique_ptr<FeatureStore> MakeMadeUpStore(uint64_t rows, uint64_t columns) {
  return std::make_unique<MadeUpStore>(rows, columns);
}

}  // namespace fgnn
