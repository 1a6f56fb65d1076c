// A model as a pure function: (weights, batch) -> gradient. It keeps no
// weights, so that any trainer can do any batch of any version.
#ifndef FGNN_TRAINER_SERVICE_NN_MODEL_H_
#define FGNN_TRAINER_SERVICE_NN_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// What activations are kept in and products multiply while a batch is trained.
// Sums, weights, gradients of weights and inference are f32.
enum class Precision : uint8_t { kFloat32, kBfloat16 };

// Everything that makes a model what it is; stored in every checkpoint, but for
// `precision` and `label_smoothing`, with others of which it may be trained on.
struct ModelOptions {
  // Or "gcn", "gin", "gat", "pinsage"; or one of the user's: "plugin",
  // "torchscript".
  std::string kind = "graphsage";
  uint32_t layers = 2;         // [1, kMaxHops]; each takes one hop.
  uint32_t hidden = 256;       // Columns of the hidden layers.
  uint64_t input_columns = 0;  // F, columns of the features.
  uint32_t num_classes = 0;    // C, columns of the last layer; 0 for links.
  // The last layer makes embeddings, `hidden` columns; GraphSAGE alone.
  bool predicts_links = false;
  double dropout = 0;                  // Of hidden activations, [0, 1).
  double input_dropout = 0;            // Of features, [0, 1).
  std::string aggregator = "mean";     // Of GraphSAGE: or "pool".
  uint32_t heads = 8;                  // Of GAT, [1, 256]; divides hidden.
  double attention_dropout = 0;        // Of GAT, [0, 1).
  std::string normalization = "none";  // Of hidden layers: "batch", "layer".
  bool residual = false;  // Layers between hidden ones add their inputs.
  std::string degree_norm = "both";  // Of GCN: or "right".
  std::string plugin;                // Name of a "plugin".
  std::string file;                  // Absolute path of a "torchscript".
  // bfloat16: not for a model of the user's.
  Precision precision = Precision::kFloat32;

  // Of a label's weight, the share that is spread over all classes, [0, 1).
  double label_smoothing = 0;

  // Whether vertices send what a layer of their own makes of them.
  bool transforms_messages() const {
    return kind == "pinsage" || (kind == "graphsage" && aggregator == "pool");
  }
  bool normalizes(uint32_t layer) const {
    return normalization != "none" && layer + 1 < layers;
  }
  bool adds_inputs(uint32_t layer) const {
    return residual && layer > 0 && layer + 1 < layers;
  }
  uint64_t input_width(uint32_t layer) const {
    return layer == 0 ? input_columns : hidden;
  }
  uint64_t output_width(uint32_t layer) const {
    return layer + 1 == layers && !predicts_links ? num_classes : hidden;
  }
  // Of GAT; they divide the output_width(). The last layer has one.
  uint32_t layer_heads(uint32_t layer) const {
    return layer + 1 == layers ? 1 : heads;
  }
  // Whether vertices count by their degrees in the whole graph.
  bool divides_by_degrees() const {
    return kind == "gcn" && degree_norm == "both";
  }
  // Whether only the user's code knows its parameters.
  bool is_users() const { return kind == "plugin" || kind == "torchscript"; }
};

inline constexpr uint32_t kMostHeads = 256;

// InvalidArgument naming the field that is out of range.
absl::Status ValidateOptions(const ModelOptions& options);

// InvalidArgument naming the first option with which a model of `other` maps
// the same weights and features to other outputs than one of `options`. Dropout
// and what else only training reads may differ.
absl::Status CheckSameFunction(const ModelOptions& options,
                               const ModelOptions& other);

// As PyTorch's normalisation layers have it by default.
inline constexpr float kMeasuredShare = 0.1F;

// One tensor among the P floats of all weights.
struct ParameterInfo {
  std::string name;             // "convs.0.lin_l.weight"
  std::vector<uint64_t> shape;  // [out, in] or [out], row-major.
  uint64_t offset = 0;          // Of its first float.
  bool decay = false;           // Subject to weight decay.
  double initial_bound = 0;     // Initially uniform in [-bound, bound];
  double initial_value = 0;     // all this one, if the bound is 0.
  // Not trained but measured: a batch's gradient says what it should be, and
  // each step moves it kMeasuredShare of the way there.
  bool measured = false;

  uint64_t size() const;
};

// The parameters of a model of valid options that is not the user's, in the
// order of their offsets.
std::vector<ParameterInfo> ParametersOf(const ModelOptions& options);
uint64_t NumParameters(const ModelOptions& options);  // P

// Lists of rows: list i holds indices[indptr[i] .. indptr[i+1]), the neighbours
// of the vertex whose own row is own[i], or i where `own` is null. Borrowed.
struct RowLists {
  const uint32_t* indptr = nullptr;
  const uint32_t* indices = nullptr;
  const uint32_t* own = nullptr;
  // In inference with a model that divides_by_degrees(): of each row
  // 1 / sqrt(d), d being its in-degree + 1.
  const float* degree_scales = nullptr;
};

// Rows of features where a store has them, each at a place of its own.
// Borrowed.
struct StoredRows {
  absl::Span<const std::byte* const> rows;  // Of F numbers each.
  FeatureType type = FeatureType::kFloat32;
};

struct TrainingBatch {
  const TaskView* task = nullptr;
  // The features of the input nodes: dense [num_input_nodes, F], input dropout
  // being applied in place, or [num_input_nodes] stored rows, for a batch that
  // Model::TakesStoredRows(). The other one is empty.
  absl::Span<float> features;
  StoredRows stored_rows;
  // [num_seeds], of the seeds in order; none where links are predicted.
  absl::Span<const int64_t> labels;
  // [N + 1] of the whole graph (CscView), whose vertices the input nodes are;
  // read where the model divides_by_degrees().
  absl::Span<const EdgeOffset> indptr;
  // What dropout is drawn from: the job's seed, and the batch's place.
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t batch = 0;
};

struct BatchResult {
  // Mean cross-entropy over the seeds, or the task's pairs; may be NaN.
  double loss = 0;
  uint32_t num_correct = 0;  // Of them.
};

// A layer with its weights, ready for many rows: see Model::Inference(). May be
// called from several threads at once. One of the user's may throw
// std::runtime_error with one line.
class LayerInference {
 public:
  virtual ~LayerInference() = default;

  // inputs [rows, input_width] -> messages [rows, message_width()]. Only where
  // the layer SendsProducts().
  virtual void Messages(const float* inputs, int64_t rows,
                        float* messages) const = 0;
  // out [last - first, aggregate_width]: of each list in [first, last), what
  // the layer makes of the messages that it names, and of the vertex's own.
  virtual void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                         const float* messages, float* out) const = 0;
  // Whether Update() reads `inputs`; else they may be null.
  virtual bool UpdateReadsInputs() const = 0;
  // Of `rows` vertices: their own inputs, their aggregates -> outputs
  // [rows, output_width].
  virtual void Update(const float* inputs, const float* aggregates,
                      int64_t rows, float* outputs) const = 0;
};

// Thread-compatible: one call at a time, for it reuses its buffers.
class Model {
 public:
  explicit Model(const ModelOptions& options);
  virtual ~Model() = default;

  const ModelOptions& options() const { return options_; }
  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  uint64_t num_parameters() const {  // P
    return parameters_.back().offset + parameters_.back().size();
  }

  // Fills weights [P] from the job's seed; equal on every machine. A model of
  // the user's may have had its values, or that seed, when it was made.
  virtual void Initialize(uint64_t seed, absl::Span<float> weights) const;

  // Whether a batch's features are better given to Gradient() as rows that a
  // store of this type has, than copied first: a pure function of the model's
  // options and the sizes of the task's blocks. Any thread.
  virtual bool TakesStoredRows(const TaskView& task,
                               FeatureType type) const = 0;

  // Writes the gradient [P] of the mean loss; zeros for a batch without seeds,
  // whose loss is 0. The same arguments give the same bits, whatever the number
  // of threads, and so do stored rows and their copies.
  // InvalidArgument: the batch does not fit the model. ResourceExhausted.
  virtual absl::StatusOr<BatchResult> Gradient(absl::Span<const float> weights,
                                               const TrainingBatch& batch,
                                               absl::Span<float> gradient) = 0;

  // Inference, layer by layer over whole neighbourhoods, without dropout:
  //   m_u = Messages(x_u);  a_v = Aggregate(m_v, {m_u: u in N(v)});
  //   out_v = Update(x_v, a_v).
  // These are const and may be called from several threads at once.

  // Whether layer `layer` aggregates what Messages() makes of its inputs. Else
  // messages are the inputs themselves.
  virtual bool SendsProducts(uint32_t layer) const = 0;
  // Columns of the messages of layer `layer`: its input_width where they are
  // inputs or what a layer of their own makes of them, else its output_width.
  uint64_t message_width(uint32_t layer) const;
  // Columns of what the layer aggregates to: those of its messages, or as many
  // as it says.
  virtual uint64_t aggregate_width(uint32_t layer) const {
    return message_width(layer);
  }
  // The functions of a layer. Borrows the weights. std::bad_alloc; one of the
  // user's may throw std::runtime_error with one line.
  virtual std::unique_ptr<const LayerInference> Inference(
      uint32_t layer, absl::Span<const float> weights) const = 0;

  // Memory that calls take beside the model's buffers and give back: the
  // largest Gradient() so far, and LayerInference on each thread, on a graph
  // of this in-degree at most.
  virtual uint64_t gradient_working_bytes() const { return 0; }
  virtual uint64_t inference_working_bytes(uint64_t /*largest_degree*/) const {
    return 0;
  }

 protected:
  // Of parameters that its kind does not tell; at least one.
  Model(const ModelOptions& options, std::vector<ParameterInfo> parameters);

 private:
  const ModelOptions options_;
  const std::vector<ParameterInfo> parameters_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_MODEL_H_
