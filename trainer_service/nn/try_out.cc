#include "trainer_service/nn/try_out.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "shared/base/status.h"
#include "trainer_service/nn/made_up_batch.h"

namespace fgnn {
namespace {

// Tries whole neighbourhoods: the second vertex is the first one's neighbour,
// and has none.
absl::Status TryInference(const Model& model, absl::Span<const float> weights) {
  const ModelOptions& options = model.options();
  const uint32_t indptr[] = {0, 1, 1};
  const uint32_t indices[] = {1};
  try {
    for (uint32_t layer = 0; layer < options.layers; ++layer) {
      const std::vector<float> inputs(2 * options.input_width(layer), 0.5F);
      std::vector<float> outputs(2 * options.output_width(layer));
      model.Inference(layer, weights)
          ->Aggregate({.indptr = indptr, .indices = indices}, 0, 2,
                      inputs.data(), outputs.data());
    }
    return absl::OkStatus();
  } catch (const std::runtime_error& thrown) {
    return absl::InvalidArgumentError(
        absl::StrCat("in evaluation, ", thrown.what()));
  }
}

}  // namespace

absl::Status TryOut(Model& model, bool infers) {
  const ModelOptions& options = model.options();
  std::vector<HopSize> hops;
  for (uint64_t hop = 0; hop < options.layers; ++hop) {
    const uint64_t destinations = 3 + hop;
    hops.push_back({destinations, destinations + 1, destinations - 1});
  }
  const uint64_t num_sources = hops.back().num_sources;
  FGNN_ASSIGN_OR_RETURN(
      const auto made_up,
      MadeUpBatch::Make(
          hops, num_sources,
          {.target_columns = options.has_targets() ? options.num_classes : 0}));
  std::vector<float> features(num_sources * options.input_columns);
  for (size_t i = 0; i < features.size(); ++i) {
    features[i] = static_cast<float>(i % 7) / 7;
  }
  TrainingBatch batch;
  batch.task = &made_up->task();
  batch.labels = made_up->labels();
  batch.targets = made_up->targets();
  batch.features = absl::MakeSpan(features);
  std::vector<float> weights(model.num_parameters());
  std::vector<float> gradient(weights.size());
  model.Initialize(0, absl::MakeSpan(weights));
  absl::Status fits =
      model.Gradient(weights, batch, absl::MakeSpan(gradient)).status();
  if (fits.ok() && infers) fits = TryInference(model, weights);
  return Annotate(
      fits,
      absl::StrCat("on a dataset of ", options.input_columns,
                   " feature columns and ", options.num_classes,
                   options.has_targets() ? " columns of targets" : " classes"));
}

}  // namespace fgnn
