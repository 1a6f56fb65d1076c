#include "trainer_service/nn/torch/torch_inference.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "trainer_service/nn/torch/torch_call.h"

namespace fgnn {
namespace {

class TorchInference : public BlockInference {
 public:
  TorchInference(std::unique_ptr<UserLayer> layer, const LayerShape& shape)
      : BlockInference(shape), layer_(std::move(layer)) {
    layer_->Train(false);
  }

 private:
  absl::Status Forward(const ListBlock& block, const float* messages,
                       float* out) const override {
    absl::Status fits;
    FGNN_RETURN_IF_ERROR(CallTorch(shape().name, [&] {
      const at::NoGradGuard no_grad;
      const int64_t rows = block.num_destinations();
      const at::Tensor x = at::empty(
          {static_cast<int64_t>(block.sources.size()), shape().in}, at::kFloat);
      block.CopyRows(messages, shape().in, x.mutable_data_ptr<float>());
      const at::Tensor output = layer_->Forward(x, IndexTensor(block.indptr),
                                                IndexTensor(block.indices));
      fits = CheckOutput(output, rows, shape());
      if (!fits.ok()) return;
      at::from_blob(out, {rows, shape().out}, at::kFloat).copy_(output);
    }));
    return fits;
  }

  const std::unique_ptr<UserLayer> layer_;
};

}  // namespace

void CopyToParameters(absl::Span<const float> weights,
                      absl::Span<const at::Tensor> parameters) {
  const at::NoGradGuard no_grad;
  const float* next = weights.data();
  for (const at::Tensor& parameter : parameters) {
    // ATen has no view of const memory; the memory is only read.
    parameter.copy_(
        at::from_blob(const_cast<float*>(next), parameter.sizes(), at::kFloat));
    next += parameter.numel();
  }
}

at::Tensor IndexTensor(absl::Span<const uint32_t> numbers) {
  const at::Tensor tensor =
      at::empty({static_cast<int64_t>(numbers.size())}, at::kLong);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data_ptr<int64_t>());
  return tensor;
}

absl::Status CheckOutput(const at::Tensor& output, int64_t rows,
                         const LayerShape& shape) {
  if (output.defined() && output.scalar_type() == at::kFloat &&
      output.sizes() == at::IntArrayRef({rows, shape.out})) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      shape.name, " returned ",
      output.defined() ? absl::StrCat(c10::toString(output.scalar_type()), " [",
                                      absl::StrJoin(output.sizes(), ", "), "]")
                       : "no tensor",
      " for ", rows, " destinations; it must be Float [", rows, ", ", shape.out,
      "], the columns being model.hidden, or the classes of the dataset"));
}

std::unique_ptr<const LayerInference> MakeTorchInference(
    std::unique_ptr<UserLayer> layer, const LayerShape& shape) {
  return std::make_unique<TorchInference>(std::move(layer), shape);
}

uint64_t MeasureInferenceBytes(std::unique_ptr<UserLayer> layer,
                               const LayerShape& shape,
                               uint64_t largest_degree) {
  constexpr int64_t kMostEdges = ListBlock::kMostEdges;
  constexpr int64_t kMostRows = ListBlock::kMostRows;
  constexpr auto kSources = static_cast<size_t>(kMostRows + kMostEdges);
  std::vector<uint32_t> indptr;
  std::vector<uint32_t> indices(kMostEdges);
  for (int64_t d = 0; d <= kMostRows; ++d) {
    indptr.push_back(static_cast<uint32_t>(d * (kMostEdges / kMostRows)));
  }
  for (size_t e = 0; e < indices.size(); ++e) {
    indices[e] = static_cast<uint32_t>(kMostRows + e);
  }
  const std::vector<float> messages(kSources * shape.in, 0.5F);
  std::vector<float> out(kMostRows * shape.out);
  const TorchInference inference(std::move(layer), shape);
  const TorchMemory memory([] {});
  try {
    inference.Aggregate({.indptr = indptr.data(), .indices = indices.data()}, 0,
                        kMostRows, messages.data(), out.data());
  } catch (const std::runtime_error&) {
    // The evaluation will report the error.
  }
  // Memory that numbers the sources, which is not libtorch's.
  constexpr uint64_t kBytesPerSource = 32;
  const uint64_t bytes = memory.most_bytes() + kSources * kBytesPerSource;
  return bytes * std::max<uint64_t>(largest_degree, kMostEdges) / kMostEdges;
}

}  // namespace fgnn
