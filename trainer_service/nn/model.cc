#include "trainer_service/nn/model.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/config/rules/model_rules.h"

namespace fgnn {
namespace {

absl::Status OutOfRange(const char* field, double value, const char* range) {
  return absl::InvalidArgumentError(
      absl::StrCat("model.", field, " is ", value, "; it must be in ", range));
}

absl::Status CheckOption(const char* field, const std::string& word,
                         std::initializer_list<absl::string_view> words) {
  if (std::find(words.begin(), words.end(), word) != words.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("model.", field, " '", word, "' is not known; there are '",
                   absl::StrJoin(words, "', '"), "'"));
}

absl::Status ValidateKind(const ModelOptions& options) {
  FGNN_RETURN_IF_ERROR(CheckOption("kind", options.kind,
                                   {"graphsage", "gcn", "gin", "gat", "pinsage",
                                    "plugin", "python", "torchscript"}));
  FGNN_RETURN_IF_ERROR(
      CheckOption("aggregator", options.aggregator, {"mean", "pool"}));
  FGNN_RETURN_IF_ERROR(
      CheckOption("degree_norm", options.degree_norm, {"both", "right"}));
  if (options.precision != Precision::kFloat32 && options.is_users()) {
    return absl::InvalidArgumentError(
        absl::StrCat("model.kind ", options.kind,
                     " trains in f32; use training.precision: f32"));
  }
  return absl::OkStatus();
}

absl::Status ValidateLayers(const ModelOptions& options) {
  FGNN_RETURN_IF_ERROR(CheckOption("normalization", options.normalization,
                                   {"none", "batch", "layer"}));
  const bool attends = options.kind == "gat";
  if (attends && (options.heads < 1 || options.heads > kMostHeads)) {
    return OutOfRange("heads", options.heads, "[1, 256]");
  }
  FGNN_RETURN_IF_ERROR(CheckModelKind({.kind = options.kind,
                                       .hidden = options.hidden,
                                       .heads = options.heads,
                                       .normalization = options.normalization,
                                       .residual = options.residual}));
  if (attends &&
      !(options.attention_dropout >= 0 && options.attention_dropout < 1)) {
    return OutOfRange("attention_dropout", options.attention_dropout, "[0, 1)");
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t ParameterInfo::size() const {
  uint64_t product = 1;
  for (const uint64_t extent : shape) product *= extent;
  return product;
}

// Names are those of PyTorch Geometric. SAGEConv: lin_l is for neighbours,
// lin_r for the vertex itself, and lin, with project=True, makes messages;
// PinSAGE has the same. GCNConv: lin is for both. GINConv: nn is
// Sequential(Linear, ReLU, Linear). GATConv: att_src and att_dst make scores of
// sources and of destinations. Linear, and lin of SAGEConv, start as
// torch.nn.Linear does, the others by Glorot and Bengio's uniform distribution.
// norms are those of torch.nn.BatchNorm1d and LayerNorm.
std::vector<ParameterInfo> ParametersOf(const ModelOptions& options) {
  std::vector<ParameterInfo> parameters;
  uint64_t offset = 0;
  std::string prefix;
  const auto add = [&](const char* name, std::vector<uint64_t> shape,
                       double bound) {
    const bool decay = shape.size() > 1;
    ParameterInfo parameter;
    parameter.name = absl::StrCat(prefix, name);
    parameter.shape = std::move(shape);
    parameter.offset = offset;
    parameter.decay = decay;
    parameter.initial_bound = bound;
    offset += parameter.size();
    parameters.push_back(std::move(parameter));
  };
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    const uint64_t in = options.input_width(layer);
    const uint64_t out = options.output_width(layer);
    const double glorot = std::sqrt(6.0 / static_cast<double>(out + in));
    const double of_in = 1 / std::sqrt(static_cast<double>(in));
    prefix = absl::StrCat("convs.", layer, ".");
    if (options.kind == "gcn") {
      add("lin.weight", {out, in}, glorot);
      add("bias", {out}, 0);
    } else if (options.kind == "gin") {
      const double of_out = 1 / std::sqrt(static_cast<double>(out));
      add("eps", {1}, 0);
      add("nn.0.weight", {out, in}, of_in);
      add("nn.0.bias", {out}, of_in);
      add("nn.2.weight", {out, out}, of_out);
      add("nn.2.bias", {out}, of_out);
    } else if (options.kind == "gat") {
      const uint64_t heads = options.layer_heads(layer);
      const double of_head =
          std::sqrt(6.0 / static_cast<double>(heads + out / heads));
      add("lin.weight", {out, in}, glorot);
      add("att_src", {1, heads, out / heads}, of_head);
      add("att_dst", {1, heads, out / heads}, of_head);
      add("bias", {out}, 0);
    } else {
      if (options.transforms_messages()) {
        add("lin.weight", {in, in}, of_in);
        add("lin.bias", {in}, of_in);
      }
      add("lin_l.weight", {out, in}, glorot);
      add("lin_r.weight", {out, in}, glorot);
      add("lin_l.bias", {out}, 0);
    }
  }
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    if (!options.normalizes(layer)) continue;
    const uint64_t columns = options.output_width(layer);
    prefix = absl::StrCat("norms.", layer, ".");
    add("weight", {columns}, 0);
    parameters.back().initial_value = 1;
    add("bias", {columns}, 0);
    if (options.normalization != "batch") continue;
    add("running_mean", {columns}, 0);
    parameters.back().measured = true;
    add("running_var", {columns}, 0);
    parameters.back().measured = true;
    parameters.back().initial_value = 1;
  }
  return parameters;
}

uint64_t NumParameters(const ModelOptions& options) {
  uint64_t sum = 0;
  for (const ParameterInfo& parameter : ParametersOf(options)) {
    sum += parameter.size();
  }
  return sum;
}

absl::Status CheckSameFunction(const ModelOptions& options,
                               const ModelOptions& other) {
  const auto check = [](const char* name, const auto& ours,
                        const auto& theirs) -> absl::Status {
    if (ours == theirs) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "model.", name, " is ", ours, " here and ", theirs, " there"));
  };
  FGNN_RETURN_IF_ERROR(check("kind", options.kind, other.kind));
  FGNN_RETURN_IF_ERROR(check("layers", options.layers, other.layers));
  FGNN_RETURN_IF_ERROR(check("hidden", options.hidden, other.hidden));
  FGNN_RETURN_IF_ERROR(
      check("input_columns", options.input_columns, other.input_columns));
  FGNN_RETURN_IF_ERROR(
      check("num_classes", options.num_classes, other.num_classes));
  if (options.objective != other.objective) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.task is ", std::string(TaskOf(options.objective)),
        " here and ", std::string(TaskOf(other.objective)), " there"));
  }
  // The user's code is checked instead.
  if (options.is_users()) return absl::OkStatus();
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    if (options.normalizes(layer) || other.normalizes(layer)) {
      FGNN_RETURN_IF_ERROR(
          check("normalization", options.normalization, other.normalization));
    }
    FGNN_RETURN_IF_ERROR(check("residual", options.adds_inputs(layer),
                               other.adds_inputs(layer)));
  }
  // An option of another kind of model has no meaning. Checkpoints of an early
  // format do not have it.
  if (options.kind == "graphsage") {
    return check("aggregator", options.aggregator, other.aggregator);
  }
  if (options.kind == "gat") return check("heads", options.heads, other.heads);
  if (options.kind == "gcn") {
    return check("degree_norm", options.degree_norm, other.degree_norm);
  }
  return absl::OkStatus();
}

absl::Status ValidateOptions(const ModelOptions& options) {
  constexpr uint64_t kMostColumns = uint64_t{1} << 24;
  FGNN_RETURN_IF_ERROR(ValidateKind(options));
  if (options.layers < 1 || options.layers > uint32_t{kMaxHops}) {
    return OutOfRange("layers", options.layers, "[1, 8]");
  }
  if (options.hidden < 1 || options.hidden > 65536) {
    return OutOfRange("hidden", options.hidden, "[1, 65536]");
  }
  if (options.input_columns < 1 || options.input_columns > kMostColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat("the dataset has ", options.input_columns,
                     " feature columns; a model needs 1 to ", kMostColumns));
  }
  if (options.predicts_links()) {
    FGNN_RETURN_IF_ERROR(CheckPredictsLinks(options.kind));
  }
  const bool has_classes =
      options.num_classes >= 1 && options.num_classes <= kMostColumns;
  if (!options.predicts_links() && !has_classes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the dataset has ", options.num_classes,
                     options.has_targets() ? " columns of targets" : " classes",
                     "; a model needs 1 to ", kMostColumns));
  }
  // Written so that NaN fails.
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    return OutOfRange("dropout", options.dropout, "[0, 1)");
  }
  if (!(options.input_dropout >= 0 && options.input_dropout < 1)) {
    return OutOfRange("input_dropout", options.input_dropout, "[0, 1)");
  }
  if (!(options.label_smoothing >= 0 && options.label_smoothing < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.label_smoothing is ", options.label_smoothing,
                     "; it must be in [0, 1)"));
  }
  return ValidateLayers(options);
}

Model::Model(const ModelOptions& options)
    : Model(options, ParametersOf(options)) {}

Model::Model(const ModelOptions& options, std::vector<ParameterInfo> parameters)
    : options_(options), parameters_(std::move(parameters)) {}

uint64_t Model::message_width(uint32_t layer) const {
  return SendsProducts(layer) && !options_.transforms_messages()
             ? options_.output_width(layer)
             : options_.input_width(layer);
}

void Model::Initialize(uint64_t seed, absl::Span<float> weights) const {
  for (size_t p = 0; p < parameters_.size(); ++p) {
    const ParameterInfo& parameter = parameters_[p];
    const absl::Span<float> values =
        weights.subspan(parameter.offset, parameter.size());
    const double bound = parameter.initial_bound;
    if (bound == 0) {
      for (float& value : values) {
        value = static_cast<float>(parameter.initial_value);
      }
      continue;
    }
    const PhiloxKey key = MakePhiloxKey(seed, 0, 0, static_cast<uint32_t>(p),
                                        Purpose::kInitialWeights);
    for (size_t i = 0; i < values.size(); i += 4) {
      const PhiloxBlock block =
          Philox4x32({static_cast<uint32_t>(i / 4),
                      static_cast<uint32_t>((i / 4) >> 32), 0, 0},
                     key);
      for (size_t j = 0; j < 4 && i + j < values.size(); ++j) {
        values[i + j] = static_cast<float>(
            bound * (2.0 * UniformFloat(block.words[j]) - 1.0));
      }
    }
  }
}

}  // namespace fgnn
