#include "trainer_service/nn/cpu/messages/sage_inference.h"

#include <algorithm>
#include <cstdint>

#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/kernels/products.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"
#include "trainer_service/nn/cpu/messages/message_passing.h"

namespace fgnn {
namespace {

class SageInference final : public LayerInference {
 public:
  SageInference(const SageLayerOptions& options, const float* weights)
      : options_(options), bias_(weights + options.bias_offset) {
    const auto pack = [&](uint64_t offset, PackedFactor* factor) {
      factor->Pack(Factor{weights + offset, options.out, options.in}.T());
    };
    pack(options.neighbor_offset, &neighbor_);
    pack(options.self_offset, &self_);
  }

  void Messages(const float* x, int64_t rows, float* messages) const override {
    neighbor_.Multiply({x, rows, options_.in}, Into::kOverwrite, messages);
  }

  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* means) const override {
    MeanOfLists(lists, first, last, messages,
                SendsProducts(options_) ? options_.out : options_.in, means);
  }

  bool UpdateReadsInputs() const override { return true; }

  void Update(const float* x, const float* means, int64_t rows,
              float* z) const override {
    const int64_t out = options_.out;
    if (SendsProducts(options_)) {
      std::copy_n(means, rows * out, z);
      AddRow(bias_, out, rows, z);
    } else {
      RepeatRow(bias_, out, rows, z);
      neighbor_.Multiply({means, rows, options_.in}, Into::kAdd, z);
    }
    self_.Multiply({x, rows, options_.in}, Into::kAdd, z);
    if (!options_.last) ApplyReluAndDropout(Dropout(), 0, rows * out, z);
  }

 private:
  const SageLayerOptions options_;
  const float* const bias_;
  PackedFactor neighbor_;
  PackedFactor self_;
};

}  // namespace

std::unique_ptr<const LayerInference> MakeSageInference(
    const SageLayerOptions& options, absl::Span<const float> weights) {
  return std::make_unique<SageInference>(options, weights.data());
}

}  // namespace fgnn
