// Models of your own. Derive a layer from ModelLayer, name the class in
// FGNN_MODEL_PLUGIN, and build a shared library lib<name>.so. Put it into the
// folder plugins/ of the service's state folder, and write into the job
//
//   model: {kind: plugin, plugin: <name>, layers: 2, hidden: 64, dropout: 0.5}
//
// FGNN makes model.layers layers and feeds each one's output to the next. It
// takes the cross-entropy of the last one's output, and libtorch computes the
// gradients. Build the library with the compiler and the release of libtorch
// (`fgnn doctor` names it) that FGNN was built with; it links nothing.
//
// A model of this kind is a function of its parameters alone, so that any
// trainer can compute any batch. It keeps nothing else from call to call, and
// has no buffers. Its random numbers come from libtorch's generator, which FGNN
// seeds for each batch.
#ifndef FGNN_TRAINER_SERVICE_PLUGIN_MODEL_PLUGIN_H_
#define FGNN_TRAINER_SERVICE_PLUGIN_MODEL_PLUGIN_H_

#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/version.h>

#include <cstdint>
#include <memory>

namespace fgnn {

// Version of the interface. Raised whenever anything in this header changes.
inline constexpr uint32_t kModelPluginVersion = 1;

// The options that a layer is made from.
struct ModelLayerOptions {
  uint32_t layer = 0;       // Number from 0; layer 0 takes the features.
  uint32_t num_layers = 0;  // model.layers
  int64_t in = 0;           // Columns of the features, or model.hidden.
  int64_t out = 0;          // model.hidden, or the number of classes.
  // Share of x to drop in training: model.input_dropout for the first layer,
  // model.dropout for the others.
  double dropout = 0;

  bool last() const { return layer + 1 == num_layers; }
};

// One layer. All parameters, also those of its submodules, are f32. The
// constructor sets their first values from libtorch's generator, which the
// job's seed seeds. Parameters that need no gradient keep their values.
class ModelLayer : public torch::nn::Module {
 public:
  // Computes the layer for S sources and E edges. The first D sources are the
  // destinations too.
  //   x        [S, in] f32     outputs of the layer below for the sources
  //   indptr   [D + 1] i64     destination d has the in-edges [indptr[d],
  //   indices  [E] i64         indptr[d + 1]), which come from these rows of x
  //   returns  [D, out] f32    outputs; the last layer's are the logits
  // D >= 1; a destination may have no edge. In evaluation (!is_training())
  // these are whole neighbourhoods, and several threads call it at once. An
  // exception ends the job with its message.
  virtual torch::Tensor forward(const torch::Tensor& x,
                                const torch::Tensor& indptr,
                                const torch::Tensor& indices) = 0;
};

// The entry that a plugin exports.
struct ModelPluginEntry {
  uint32_t version;
  const char* torch_version;
  std::shared_ptr<ModelLayer> (*make_layer)(const ModelLayerOptions&);
};

}  // namespace fgnn

// Class has a constructor that takes ModelLayerOptions.
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
