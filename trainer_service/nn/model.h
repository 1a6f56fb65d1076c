// A model as a pure function: (weights, batch) -> gradient. It keeps no
// weights, so that any trainer can compute any batch of any version.
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
#include "shared/config/objective.h"
#include "shared/config/rules/model_rules.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// Type in which activations are stored and multiplied while a batch is trained.
// Sums, weights, gradients of weights and inference are f32.
enum class Precision : uint8_t {
  kFloat32,
  // Stored in f32. GPUs round the factors of dense products to TF32 (10 bits
  // behind the point); cores multiply in f32.
  kTf32,
  kBfloat16,
};

// Everything that defines a model. It is stored in every checkpoint, except
// `precision` and `label_smoothing`, which may change when training goes on.
struct ModelOptions {
  // "graphsage", "gcn", "gin", "gat", "pinsage"; or one of IsUsersKind().
  std::string kind = "graphsage";
  uint32_t layers = 2;         // [1, kMaxHops]; each takes one hop.
  uint32_t hidden = 256;       // Columns of the hidden layers.
  uint64_t input_columns = 0;  // F, columns of the features.
  // What the model learns. Links are for GraphSAGE only; its last layer then
  // makes embeddings, `hidden` columns.
  Objective objective = Objective::kClasses;
  // C, columns of the last layer: classes, or columns of the targets; 0 for
  // links.
  uint32_t num_classes = 0;
  double dropout = 0;               // Dropout of hidden activations, [0, 1).
  double input_dropout = 0;         // Dropout of features, [0, 1).
  std::string aggregator = "mean";  // GraphSAGE only: "mean" or "pool".
  uint32_t heads = 8;               // GAT only: [1, 256]; divides hidden.
  double attention_dropout = 0;     // GAT only: [0, 1).
  // For hidden layers: "none", "batch", "layer".
  std::string normalization = "none";
  // Whether layers between hidden ones add their inputs.
  bool residual = false;
  std::string degree_norm = "both";  // GCN only: "both" or "right".
  std::string plugin;                // Name of the plugin, for kind "plugin".
  std::string file;        // Absolute path, for kinds "python", "torchscript".
  std::string class_name;  // Class in the file, for kind "python".
  // Absolute path of the interpreter, for kind "python"; empty: python3 of the
  // PATH.
  std::string python;
  // A user's model has kFloat32 alone.
  Precision precision = Precision::kFloat32;

  // Share of a label's weight that is spread over all classes, [0, 1).
  double label_smoothing = 0;

  bool predicts_links() const { return objective == Objective::kLinks; }
  bool has_targets() const { return HasTargets(objective); }
  // Returns true if the messages of vertices come from a layer of their own.
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
    return layer + 1 == layers && !predicts_links() ? num_classes : hidden;
  }
  // Returns the number of GAT's heads, which divides output_width(). The last
  // layer has one.
  uint32_t layer_heads(uint32_t layer) const {
    return layer + 1 == layers ? 1 : heads;
  }
  // Returns true if vertices count by their degrees in the whole graph.
  bool divides_by_degrees() const {
    return kind == "gcn" && degree_norm == "both";
  }
  // Returns true if only the user's code knows the parameters.
  bool is_users() const { return IsUsersKind(kind); }

  friend bool operator==(const ModelOptions&, const ModelOptions&) = default;
};

inline constexpr uint32_t kMostHeads = 256;

// InvalidArgument names the field that is out of range.
absl::Status ValidateOptions(const ModelOptions& options);

// Compares the functions of two models, with the same weights and features.
// InvalidArgument names the first option that makes their outputs differ.
// Dropout and other options that only training reads may differ.
absl::Status CheckSameFunction(const ModelOptions& options,
                               const ModelOptions& other);

// Share by which a step moves a measured parameter. PyTorch's normalisation
// layers have the same default.
inline constexpr float kMeasuredShare = 0.1F;

// One tensor among the P floats of all weights.
struct ParameterInfo {
  std::string name;             // "convs.0.lin_l.weight"
  std::vector<uint64_t> shape;  // [out, in] or [out], row-major.
  uint64_t offset = 0;          // Offset of its first float.
  bool decay = false;           // Whether weight decay applies.
  double initial_bound = 0;  // Initial values are uniform in [-bound, bound].
  double initial_value = 0;  // Initial value of all floats, if the bound is 0.
  // Whether it is measured instead of trained. A batch's gradient then states
  // its value in the batch. Each step moves it kMeasuredShare of the way there.
  bool measured = false;

  uint64_t size() const;
};

// Returns the parameters of a model of valid options that is not the user's, in
// the order of their offsets.
std::vector<ParameterInfo> ParametersOf(const ModelOptions& options);
uint64_t NumParameters(const ModelOptions& options);  // Returns P.

// Lists of rows: list i holds indices[indptr[i] .. indptr[i+1]), the neighbours
// of a vertex. The vertex's own row is own[i], or i if `own` is null. Borrowed.
struct RowLists {
  const uint32_t* indptr = nullptr;
  const uint32_t* indices = nullptr;
  const uint32_t* own = nullptr;
  // Only for inference with a model that divides_by_degrees(): 1 / sqrt(d) of
  // each row, where d is its in-degree + 1.
  const float* degree_scales = nullptr;
};

// Rows of features where a store has them, each at a place of its own.
// Borrowed.
struct StoredRows {
  absl::Span<const std::byte* const> rows;  // Rows of F numbers each.
  FeatureType type = FeatureType::kFloat32;
};

class RowShuffle;

struct TrainingBatch {
  const TaskView* task = nullptr;
  // The exchange of rows with the batch's other parts; null for a whole batch.
  RowShuffle* shuffle = nullptr;
  // The features of the input nodes. They are dense [num_input_nodes, F], and
  // input dropout is applied in place. For a batch that
  // Model::TakesStoredRows() they are [num_input_nodes] stored rows. The other
  // field is empty.
  absl::Span<float> features;
  StoredRows stored_rows;
  // [num_seeds], labels of the seeds in order; empty unless classes are
  // learned.
  absl::Span<const int64_t> labels;
  // [num_seeds, C], targets of the seeds in order; empty unless the model
  // has_targets(). Numbers, or 0 or 1 for each class.
  absl::Span<const float> targets;
  // [N + 1] of the whole graph (CscView), whose vertices the input nodes are.
  // Read only if the model divides_by_degrees().
  absl::Span<const EdgeOffset> indptr;
  // The key of dropout: the job's seed, and the batch's place.
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t batch = 0;
};

// Weights of a job. Borrowed. A version has the same values in every call, so
// that a device may keep a copy of them.
struct VersionedWeights {
  uint64_t version = 0;
  absl::Span<const float> values;  // [P]
};

struct BatchResult {
  // Mean cross-entropy over the seeds or the task's pairs, or mean loss over
  // all targets of the seeds; may be NaN.
  double loss = 0;
  // Number of correct seeds or pairs; 0 if the model has_targets().
  uint32_t num_correct = 0;
};

// A layer with its weights, ready for many rows: see Model::Inference().
// Several threads may call it at once. A user's layer may throw
// std::runtime_error with one line.
class LayerInference {
 public:
  virtual ~LayerInference() = default;

  // Maps inputs [rows, input_width] to messages [rows, message_width()]. Only
  // for a layer that SendsProducts().
  virtual void Messages(const float* inputs, int64_t rows,
                        float* messages) const = 0;
  // Sets out [last - first, aggregate_width] to the layer's aggregate for each
  // list in [first, last). It is made of the messages that the list names and
  // of the vertex's own.
  virtual void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                         const float* messages, float* out) const = 0;
  // Returns true if Update() reads `inputs`; else they may be null.
  virtual bool UpdateReadsInputs() const = 0;
  // Maps the own inputs and the aggregates of `rows` vertices to outputs [rows,
  // output_width].
  virtual void Update(const float* inputs, const float* aggregates,
                      int64_t rows, float* outputs) const = 0;
};

// Thread-compatible: one call at a time, as it reuses its buffers.
class Model {
 public:
  explicit Model(const ModelOptions& options);
  virtual ~Model() = default;

  const ModelOptions& options() const { return options_; }
  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  uint64_t num_parameters() const {  // Returns P.
    return parameters_.back().offset + parameters_.back().size();
  }

  // Fills weights [P] from the job's seed; they are equal on every machine. A
  // user's model may have got its values, or that seed, when it was made.
  virtual void Initialize(uint64_t seed, absl::Span<float> weights) const;

  // Returns true if Gradient() should get a batch's features as rows of a store
  // of this type, instead of copies. A pure function of the model's options and
  // the sizes of the task's blocks. Any thread.
  virtual bool TakesStoredRows(const TaskView& task,
                               FeatureType type) const = 0;

  // Writes the gradient [P] of the mean loss over the whole batch's seeds;
  // zeros for a batch without seeds, whose loss is 0. The gradients of a
  // batch's parts sum to the batch's, and each one's loss is the mean over its
  // own seeds. The same arguments give the same bits, whatever the number of
  // threads; stored rows and their copies do too. InvalidArgument: the batch
  // does not fit the model. ResourceExhausted. Otherwise returns the errors of
  // the shuffle.
  virtual absl::StatusOr<BatchResult> Gradient(absl::Span<const float> weights,
                                               const TrainingBatch& batch,
                                               absl::Span<float> gradient) = 0;

  // Inference, layer by layer over whole neighbourhoods, without dropout:
  //   m_u = Messages(x_u);  a_v = Aggregate(m_v, {m_u: u in N(v)});
  //   out_v = Update(x_v, a_v).
  // These are const and may be called from several threads at once.

  // Returns true if layer `layer` aggregates the results of Messages().
  // Otherwise messages are the inputs themselves.
  virtual bool SendsProducts(uint32_t layer) const = 0;
  // Returns the columns of the messages of layer `layer`. They are its
  // input_width if messages are inputs or come from a layer of their own, else
  // its output_width.
  uint64_t message_width(uint32_t layer) const;
  // Returns the columns of the layer's aggregates: those of its messages,
  // unless the layer states another number.
  virtual uint64_t aggregate_width(uint32_t layer) const {
    return message_width(layer);
  }
  // Returns the functions of a layer. Borrows the weights. std::bad_alloc; a
  // user's layer may throw std::runtime_error with one line.
  virtual std::unique_ptr<const LayerInference> Inference(
      uint32_t layer, absl::Span<const float> weights) const = 0;

  // Bytes that calls take beside the model's buffers and give back. They are
  // for the largest Gradient() so far, and for LayerInference on each thread,
  // on a graph of at most this in-degree.
  virtual uint64_t gradient_working_bytes() const { return 0; }
  virtual uint64_t inference_working_bytes(uint64_t /*largest_degree*/) const {
    return 0;
  }

 protected:
  // Makes a model with parameters that its kind does not determine; at least
  // one.
  Model(const ModelOptions& options, std::vector<ParameterInfo> parameters);

 private:
  const ModelOptions options_;
  const std::vector<ParameterInfo> parameters_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_MODEL_H_
