// An example: GraphSAGE, as model.kind graphsage has it. TORCH is the folder
// torch/ of the wheel that FGNN was built with.
//
//   c++ -std=c++20 -O2 -shared -fPIC -I PREFIX/include/fgnn
//     -I TORCH/include -I TORCH/include/torch/csrc/api/include
//     -o libsage.so sage.cc
//
// in the folder plugins/ of the service's state folder, and in the job
//
//   model: {kind: plugin, plugin: sage, layers: 2, hidden: 64}
#include <torch/nn/modules/linear.h>

#include "trainer_service/plugin/model_plugin.h"

namespace {

class Sage : public fgnn::ModelLayer {
 public:
  explicit Sage(const fgnn::ModelLayerOptions& options)
      : options_(options),
        neighbors_(options.in, options.out),
        self_(torch::nn::LinearOptions(options.in, options.out).bias(false)) {
    register_module("neighbors", neighbors_);
    register_module("self", self_);
  }

  torch::Tensor forward(const torch::Tensor& input, const torch::Tensor& indptr,
                        const torch::Tensor& indices) override {
    const auto x = torch::dropout(input, options_.dropout, is_training());
    const auto means = std::get<0>(torch::embedding_bag(
        x, indices, indptr, /*scale_grad_by_freq=*/false, /*mode=*/kMean,
        /*sparse=*/false, /*per_sample_weights=*/{},
        /*include_last_offset=*/true));
    const auto own = x.slice(0, 0, indptr.size(0) - 1);
    const auto sum = neighbors_(means) + self_(own);
    return options_.last() ? sum : sum.relu();
  }

 private:
  // The number by which embedding_bag names the mean.
  static constexpr int64_t kMean = 1;
  const fgnn::ModelLayerOptions options_;
  torch::nn::Linear neighbors_;
  torch::nn::Linear self_;
};

}  // namespace

FGNN_MODEL_PLUGIN(Sage);
