#include "trainer_service/nn/torch/torch_inference.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "trainer_service/nn/torch/torch_call.h"

namespace fgnn {
namespace {

// Most edges of one call of a layer, unless one vertex alone has more.
constexpr int64_t kMostEdges = 1 << 14;
constexpr int64_t kMostRows = 512;

// Some lists with their sources numbered; the vertices of the lists come first.
struct Block {
  std::vector<uint32_t> sources;  // Rows of the messages.
  std::vector<uint32_t> indptr = {0};
  std::vector<uint32_t> indices;
};

Block BlockOf(const RowLists& lists, int64_t first, int64_t last) {
  Block block;
  absl::flat_hash_map<uint32_t, uint32_t> places;
  for (int64_t i = first; i < last; ++i) {
    const uint32_t own =
        lists.own == nullptr ? static_cast<uint32_t>(i) : lists.own[i];
    places.emplace(own, static_cast<uint32_t>(block.sources.size()));
    block.sources.push_back(own);
  }
  for (int64_t i = first; i < last; ++i) {
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      const auto [place, is_new] = places.emplace(
          lists.indices[e], static_cast<uint32_t>(block.sources.size()));
      if (is_new) block.sources.push_back(lists.indices[e]);
      block.indices.push_back(place->second);
    }
    block.indptr.push_back(static_cast<uint32_t>(block.indices.size()));
  }
  return block;
}

class TorchInference : public LayerInference {
 public:
  TorchInference(std::unique_ptr<UserLayer> layer, const LayerShape& shape)
      : layer_(std::move(layer)), shape_(shape) {
    layer_->Train(false);
  }

  // Called only between hidden layers, where outputs are written over inputs
  // that were read.
  void Messages(const float* inputs, int64_t rows,
                float* messages) const override {
    std::copy_n(inputs, rows * shape_.in, messages);
  }

  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* out) const override {
    for (int64_t begin = first; begin < last;) {
      int64_t end = begin + 1;
      while (end < last && end - begin < kMostRows &&
             lists.indptr[end + 1] - lists.indptr[begin] <= kMostEdges) {
        ++end;
      }
      const absl::Status status =
          Forward(BlockOf(lists, begin, end), end - begin, messages,
                  out + (begin - first) * shape_.out);
      if (!status.ok()) throw std::runtime_error(std::string(status.message()));
      begin = end;
    }
  }

  bool UpdateReadsInputs() const override { return false; }
  void Update(const float* /*inputs*/, const float* aggregates, int64_t rows,
              float* outputs) const override {
    std::copy_n(aggregates, rows * shape_.out, outputs);
  }

 private:
  absl::Status Forward(const Block& block, int64_t rows, const float* messages,
                       float* out) const {
    absl::Status fits;
    FGNN_RETURN_IF_ERROR(CallTorch(shape_.name, [&] {
      const at::NoGradGuard no_grad;
      const auto num_sources = static_cast<int64_t>(block.sources.size());
      const at::Tensor x = at::empty({num_sources, shape_.in}, at::kFloat);
      float* row = x.mutable_data_ptr<float>();
      for (const uint32_t source : block.sources) {
        row =
            std::copy_n(messages + int64_t{source} * shape_.in, shape_.in, row);
      }
      const at::Tensor output = layer_->Forward(x, IndexTensor(block.indptr),
                                                IndexTensor(block.indices));
      fits = CheckOutput(output, rows, shape_);
      if (!fits.ok()) return;
      at::from_blob(out, {rows, shape_.out}, at::kFloat).copy_(output);
    }));
    return fits;
  }

  const std::unique_ptr<UserLayer> layer_;
  const LayerShape shape_;
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
