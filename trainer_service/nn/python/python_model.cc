#include "trainer_service/nn/python/python_model.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "trainer_service/nn/block_inference.h"
#include "trainer_service/nn/check_batch.h"
#include "trainer_service/nn/python/python_session.h"
#include "trainer_service/nn/try_out.h"

namespace fgnn {
namespace {

using nlohmann::json;

const char* WordOf(Objective objective) {
  switch (objective) {
    case Objective::kValues:
      return "values";
    case Objective::kLabelSets:
      return "label_sets";
    default:
      return "classes";
  }
}

// Arrays of a request: first their places, then, once there is room for all,
// their numbers.
class RequestArrays {
 public:
  explicit RequestArrays(PythonWorker* worker)
      : worker_(*worker), places_(worker->free_places()) {}

  // Returns the place of a copy of the array; 0: it is empty. Borrows it until
  // Write().
  template <typename Number>
  uint64_t Add(absl::Span<const Number> array) {
    if (array.empty()) return 0;
    const uint64_t bytes = array.size() * sizeof(Number);
    const uint64_t place = places_.Add(bytes);
    copies_.push_back({place, array.data(), bytes});
    return place;
  }
  // Returns the place of an array of so many floats.
  uint64_t AddRoom(uint64_t floats) {
    return places_.Add(floats * sizeof(float));
  }
  // ResourceExhausted: there is no memory.
  absl::Status Write() {
    FGNN_RETURN_IF_ERROR(worker_.memory().Reserve(places_.end()));
    for (const Copy& copy : copies_) {
      std::memcpy(worker_.memory().at<char>(copy.place), copy.from, copy.bytes);
    }
    return absl::OkStatus();
  }

 private:
  struct Copy {
    uint64_t place;
    const void* from;
    uint64_t bytes;
  };

  PythonWorker& worker_;
  ArrayPlaces places_;
  std::vector<Copy> copies_;
};

json BlockOf(RequestArrays* arrays, const BlockView& block) {
  return {{"num_dst", block.num_destinations},
          {"num_src", block.num_sources},
          {"num_edges", block.indices.size()},
          {"indptr", arrays->Add(block.indptr)},
          {"indices", arrays->Add(block.indices)},
          {"weights", arrays->Add(block.weights)}};
}

LayerShape ShapeOf(const ModelOptions& options, uint32_t layer) {
  return {.in = static_cast<int64_t>(options.input_width(layer)),
          .out = static_cast<int64_t>(options.output_width(layer)),
          .name = absl::StrCat("layer ", layer)};
}

// The weights are borrowed.
class PythonInference final : public BlockInference {
 public:
  PythonInference(PythonSession* session, const ModelOptions& options,
                  uint32_t layer, absl::Span<const float> weights)
      : BlockInference(ShapeOf(options, layer)),
        session_(session),
        key_(session->NewKey()),
        layer_(layer),
        weights_(weights) {}

 private:
  absl::Status Forward(const ListBlock& block, const float* messages,
                       float* out) const override {
    return session_->Run(key_, weights_, [&](PythonWorker& worker) {
      return ForwardBy(worker, block, messages, out);
    });
  }

  absl::Status ForwardBy(PythonWorker& worker, const ListBlock& block,
                         const float* messages, float* out) const {
    const int64_t rows = block.num_destinations();
    const uint64_t num_sources = block.sources.size();
    RequestArrays arrays(&worker);
    const uint64_t x = arrays.AddRoom(num_sources * shape().in);
    const uint64_t made = arrays.AddRoom(rows * shape().out);
    json request = {{"do", "layer"},
                    {"layer", layer_},
                    {"x", {x, num_sources, shape().in}},
                    {"out", made},
                    {"shape", {rows, shape().out}}};
    request["blocks"] = json::array(
        {BlockOf(&arrays, {.num_destinations = static_cast<uint32_t>(rows),
                           .num_sources = static_cast<uint32_t>(num_sources),
                           .indptr = block.indptr,
                           .indices = block.indices,
                           .weights = {}})});
    FGNN_RETURN_IF_ERROR(arrays.Write());
    block.CopyRows(messages, shape().in, worker.memory().at<float>(x));
    FGNN_RETURN_IF_ERROR(worker.Ask(request, session_->on_wait()).status());
    std::copy_n(worker.memory().at<float>(made), rows * shape().out, out);
    return absl::OkStatus();
  }

  PythonSession* const session_;
  const uint64_t key_;
  const uint32_t layer_;
  const absl::Span<const float> weights_;
};

class PythonModel final : public BlockModel {
 public:
  PythonModel(const ModelOptions& options,
              std::unique_ptr<PythonSession> session, ThreadTeam* team)
      : BlockModel(options, session->parameters()),
        session_(std::move(session)),
        team_(team) {}

  void Initialize(uint64_t /*seed*/, absl::Span<float> weights) const override {
    const std::vector<float>& first = session_->first_weights();
    std::copy(first.begin(), first.end(), weights.begin());
  }

  absl::StatusOr<BatchResult> Gradient(absl::Span<const float> weights,
                                       const TrainingBatch& batch,
                                       absl::Span<float> gradient) override {
    FGNN_RETURN_IF_ERROR(CheckBatch(*this, weights, batch, gradient));
    if (batch.task->num_seeds == 0) return LearnNothing(gradient);
    BatchResult result;
    FGNN_RETURN_IF_ERROR(
        session_->Run(/*key=*/0, weights, [&](PythonWorker& worker) {
          return GradientBy(worker, batch, gradient, &result);
        }));
    is_tried_ = true;
    return result;
  }

  std::unique_ptr<const LayerInference> Inference(
      uint32_t layer, absl::Span<const float> weights) const override {
    return std::make_unique<PythonInference>(session_.get(), options(), layer,
                                             weights);
  }

  uint64_t gradient_working_bytes() const override {
    return session_->peak_bytes();
  }
  // One thread at a time has a block with the worker. The user's layer is taken
  // to make four arrays of a row for each edge.
  uint64_t inference_working_bytes(uint64_t largest_degree) const override {
    constexpr uint64_t kArrays = 4;
    const uint64_t edges =
        std::max<uint64_t>(largest_degree, ListBlock::kMostEdges);
    uint64_t columns = 0;
    for (uint32_t layer = 0; layer < options().layers; ++layer) {
      columns = std::max(columns, options().input_width(layer) +
                                      options().output_width(layer));
    }
    return kArrays * (edges + ListBlock::kMostRows) * columns * sizeof(float) /
           static_cast<uint64_t>(team_->size());
  }

 private:
  absl::Status GradientBy(PythonWorker& worker, const TrainingBatch& batch,
                          absl::Span<float> gradient, BatchResult* result) {
    const TaskView& task = *batch.task;
    RequestArrays arrays(&worker);
    json request = {
        {"do", "gradient"},
        {"batch", task.seq.value()},
        {"seed", SeedOf(batch)},
        {"task", WordOf(options().objective)},
        {"label_smoothing", options().label_smoothing},
        {"compare", !is_tried_},
        {"shape", {task.num_seeds, options().num_classes}},
        {"x",
         {arrays.Add<float>(batch.features), task.input_nodes.size(),
          options().input_columns}},
        {"answers", options().has_targets() ? arrays.Add(batch.targets)
                                            : arrays.Add(batch.labels)}};
    json blocks = json::array();
    for (uint32_t layer = 0; layer < options().layers; ++layer) {
      // Layer l takes hop L - 1 - l: the last hop's sources have features.
      blocks.push_back(
          BlockOf(&arrays, task.hops[options().layers - 1 - layer]));
    }
    request["blocks"] = std::move(blocks);
    FGNN_RETURN_IF_ERROR(arrays.Write());
    FGNN_ASSIGN_OR_RETURN(const json answer,
                          worker.Ask(request, session_->on_wait()));
    return TakeAnswer(worker, answer, gradient, result);
  }

  absl::Status TakeAnswer(PythonWorker& worker, const json& answer,
                          absl::Span<float> gradient,
                          BatchResult* result) const {
    try {
      const json& loss = answer.at("loss");
      result->loss = loss.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                    : loss.get<double>();
      result->num_correct = answer.at("num_correct").get<uint32_t>();
    } catch (const json::exception&) {
      return absl::DataLossError(absl::StrCat(
          NameOfPythonModel(options()), ": its worker's answer is damaged"));
    }
    const absl::Span<const float> made = worker.gradient();
    std::copy(made.begin(), made.end(), gradient.begin());
    return absl::OkStatus();
  }

  const std::unique_ptr<PythonSession> session_;
  ThreadTeam* const team_;
  bool is_tried_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakePythonModel(
    const ModelOptions& options, bool infers, uint64_t seed, ThreadTeam* team) {
  FGNN_RETURN_IF_ERROR(ValidateOptions(options));
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<PythonSession> session,
      PythonSession::Start(options, seed, [team] { team->CountTask(); }));
  const bool has_layers = session->has_layers();
  if (infers && !has_layers) {
    return absl::InvalidArgumentError(absl::StrCat(
        NameOfPythonModel(options),
        " has no method layers(), by which FGNN evaluates and predicts layer "
        "by layer; add it, or set training.evaluate_every: 0"));
  }
  auto model = std::make_unique<PythonModel>(options, std::move(session), team);
  FGNN_RETURN_IF_ERROR(TryOut(*model, has_layers));
  return model;
}

}  // namespace fgnn
