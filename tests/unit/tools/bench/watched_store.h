// A mapped store of numbered features that a test watches and makes lie.
#ifndef FGNN_TESTS_UNIT_TOOLS_BENCH_WATCHED_STORE_H_
#define FGNN_TESTS_UNIT_TOOLS_BENCH_WATCHED_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "shared/base/status.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"

namespace fgnn {

class WatchedStore : public FeatureStore {
 public:
  // The features are 0, 1, 2, …, row after row.
  WatchedStore(uint64_t rows, uint64_t columns) : features_(rows * columns) {
    std::iota(features_.begin(), features_.end(), 0.0F);
    mapped_ = MakeMappedFeatureStore(
        {reinterpret_cast<const std::byte*>(features_.data()),
         FeatureType::kFloat32, rows, columns});
  }
  uint64_t num_rows() const override { return mapped_->num_rows(); }
  uint64_t num_columns() const override { return mapped_->num_columns(); }
  FeatureType type() const override { return mapped_->type(); }
  absl::Status CopyRows(absl::Span<const GlobalId> nodes,
                        float* out) const override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      calls.emplace_back(nodes.begin(), nodes.end());
    }
    FGNN_RETURN_IF_ERROR(mapped_->CopyRows(nodes, out));
    if (is_wrong && !nodes.empty()) out[nodes.size() * num_columns() - 1] += 1;
    return absl::OkStatus();
  }
  absl::Status CopyStoredRows(absl::Span<const GlobalId> nodes,
                              std::byte* out) const override {
    return mapped_->CopyStoredRows(nodes, out);
  }
  const std::byte* data() const override {
    return in_memory ? mapped_->data() : nullptr;
  }

  bool in_memory = true;  // Whether data() says where the features are.
  bool is_wrong = false;  // Whether the last number of a copy is wrong.
  // The rows that were asked for, call by call; threads may ask at once.
  mutable std::vector<std::vector<GlobalId>> calls;

 private:
  mutable std::mutex mutex_;
  std::vector<float> features_;
  std::unique_ptr<FeatureStore> mapped_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TOOLS_BENCH_WATCHED_STORE_H_
