// Models of your own: derive a layer from ModelLayer, name the class in
// FGNN_MODEL_PLUGIN, build a shared library lib<name>.so, put it into the
// folder plugins/ of the service's state folder, and write into the job
//
//   model: {kind: plugin, plugin: <name>, layers: 2, hidden: 64, dropout: 0.5}
//
// FGNN makes as many of it as model.layers says, feeds each one's output to the
// next, takes the cross-entropy of the last one's, and has libtorch compute the
// gradients. Build it with the compiler and the release of libtorch (`fgnn
// doctor` names it) that FGNN was built with; it links nothing.
//
// A model of this kind is a function of its parameters alone, so that any
// trainer can do any batch: it keeps nothing else from call to call, and has no
// buffers. Its random numbers come from libtorch's generator, which FGNN seeds
// for each batch.
#ifndef FGNN_TRAINER_SERVICE_PLUGIN_MODEL_PLUGIN_H_
#define FGNN_TRAINER_SERVICE_PLUGIN_MODEL_PLUGIN_H_

#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/version.h>

#include <cstdint>
#include <memory>

namespace fgnn {

// Raised whenever anything in this header changes.
inline constexpr uint32_t kModelPluginVersion = 1;

// What a layer is made from.
struct ModelLayerOptions {
  uint32_t layer = 0;       // From 0, which takes the features.
  uint32_t num_layers = 0;  // model.layers
  int64_t in = 0;           // Columns of the features, or model.hidden.
  int64_t out = 0;          // model.hidden, or the number of classes.
  // Share of x to drop in training: model.input_dropout of the first layer,
  // model.dropout of the others.
  double dropout = 0;

  bool last() const { return layer + 1 == num_layers; }
};

// One layer. Parameters, its own and those of its submodules, are f32; its
// constructor gives them their first values, from libtorch's generator, which
// is seeded by the job. Those that ask for no gradient stay as they are.
class ModelLayer : public torch::nn::Module {
 public:
  // S sources, of which the first D are the destinations too, and E edges.
  //   x        [S, in] f32     what the layer below made of the sources
  //   indptr   [D + 1] i64     destination d has the in-edges [indptr[d],
  //   indices  [E] i64         indptr[d + 1]), which come from these rows of x
  //   returns  [D, out] f32    the logits, of the last layer
  // D >= 1; a destination may have no edge. In evaluation (!is_training())
  // these are whole neighbourhoods, and it is called from several threads at
  // once. An exception ends the job with its message.
  virtual torch::Tensor forward(const torch::Tensor& x,
                                const torch::Tensor& indptr,
                                const torch::Tensor& indices) = 0;
};

// What a plugin exports.
struct ModelPluginEntry {
  uint32_t version;
  const char* torch_version;
  std::shared_ptr<ModelLayer> (*make_layer)(const ModelLayerOptions&);
};

}  // namespace fgnn

// Class has a constructor of ModelLayerOptions.
#define FGNN_MODEL_PLUGIN(Class)                       \
  extern "C" __attribute__((visibility("default")))    \
  const ::fgnn::ModelPluginEntry fgnn_model_plugin;    \
  const ::fgnn::ModelPluginEntry fgnn_model_plugin = { \
      ::fgnn::kModelPluginVersion, TORCH_VERSION,      \
      [](const ::fgnn::ModelLayerOptions& options)     \
          -> std::shared_ptr<::fgnn::ModelLayer> {     \
        return std::make_shared<Class>(options);       \
      }}

#endif  // FGNN_TRAINER_SERVICE_PLUGIN_MODEL_PLUGIN_H_
