#include "trainer_service/nn/cuda/layers/cuda_gat_layer.h"

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/nn/cuda/kernels/dropout.h"
#include "trainer_service/nn/cuda/kernels/self_loops.h"
#include "trainer_service/nn/cuda/layers/transposed_lists.h"

namespace fgnn {

absl::StatusOr<CudaLayerOutput> CudaGatLayer::Forward(const BatchRun& run,
                                                      const DeviceBlock& block,
                                                      const CudaLayerInput& x,
                                                      const Dropout& dropout) {
  x_ = x;
  attention_dropout_ = Dropout::Of(options_.attention_dropout, x.key);
  FGNN_RETURN_IF_ERROR(AddSelfLoops(run, block));
  FGNN_RETURN_IF_ERROR(Transform(run));
  FGNN_RETURN_IF_ERROR(Score(run));
  FGNN_RETURN_IF_ERROR(Attend(run));
  FGNN_ASSIGN_OR_RETURN(float* const z, SumMessages(run));
  return run.FinishOutput(z, block_.num_destinations, width(),
                          options_.bias_offset, options_.last, dropout);
}

absl::StatusOr<float*> CudaGatLayer::Infer(const BatchRun& run,
                                           const DeviceBlock& block,
                                           const CudaInferenceRows& rows) {
  x_ = {};
  attention_dropout_ = Dropout();
  messages_ = rows.messages;
  FGNN_RETURN_IF_ERROR(AddSelfLoops(run, block));
  FGNN_RETURN_IF_ERROR(Score(run));
  FGNN_RETURN_IF_ERROR(Attend(run));
  FGNN_ASSIGN_OR_RETURN(float* const z, SumMessages(run));
  FGNN_ASSIGN_OR_RETURN(
      const CudaLayerOutput output,
      run.FinishOutput(z, block_.num_destinations, width(),
                       options_.bias_offset, options_.last, Dropout()));
  return output.Floats();
}

absl::Status CudaGatLayer::AddSelfLoops(const BatchRun& run,
                                        const DeviceBlock& block) {
  const uint64_t entries = uint64_t{block.entries} + block.num_destinations;
  if (entries > UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("a hop has ", entries,
                     " edges with those of vertices to themselves; gat takes "
                     "4294967295: lower sampling.batch_size or fanouts"));
  }
  SelfLoopsArgs args;
  args.indptr = block.indptr;
  args.indices = block.indices;
  args.num_destinations = block.num_destinations;
  args.entries = block.entries;
  FGNN_ASSIGN_OR_RETURN(
      args.out_indptr,
      run.Make<uint32_t>(uint64_t{block.num_destinations} + 1));
  FGNN_ASSIGN_OR_RETURN(args.out_indices, run.Make<uint32_t>(entries));
  block_ = {};
  block_.num_destinations = block.num_destinations;
  block_.num_sources = block.num_sources;
  block_.entries = static_cast<uint32_t>(entries);
  block_.indptr = args.out_indptr;
  block_.indices = args.out_indices;
  return CudaStatus(LaunchAddSelfLoops(args, run.stream()),
                    "cannot add self-loops");
}

absl::Status CudaGatLayer::Transform(const BatchRun& run) {
  const uint64_t num_sources = block_.num_sources;
  FGNN_ASSIGN_OR_RETURN(void* const messages,
                        run.MakeNumbers(num_sources * width()));
  messages_ = messages;
  return run.Forward(weight(), x_.rows, num_sources,
                     {.to = messages, .type = run.type()});
}

absl::Status CudaGatLayer::Score(const BatchRun& run) {
  const uint64_t num_sources = block_.num_sources;
  const uint64_t num_destinations = block_.num_destinations;
  FGNN_ASSIGN_OR_RETURN(source_scores_, run.Make<float>(num_sources * heads()));
  FGNN_ASSIGN_OR_RETURN(destination_scores_,
                        run.Make<float>(num_destinations * heads()));
  HeadProductsArgs args;
  args.shape = shape();
  args.rows = block_.num_sources;
  args.type = run.type();
  args.x = messages_;
  args.vector = run.parameters().Floats(options_.source_offset);
  args.out = source_scores_;
  args.other_rows = block_.num_destinations;
  args.other_vector = run.parameters().Floats(options_.destination_offset);
  args.other_out = destination_scores_;
  return CudaStatus(LaunchHeadProducts(args, run.stream()),
                    "cannot compute scores");
}

EdgeSoftmaxArgs CudaGatLayer::SoftmaxOfEntries() const {
  return {.indptr = block_.indptr,
          .indices = block_.indices,
          .num_lists = block_.num_destinations,
          .heads = heads(),
          .sources = source_scores_,
          .destinations = destination_scores_,
          .weights = alpha_};
}

absl::Status CudaGatLayer::Attend(const BatchRun& run) {
  const uint64_t size = uint64_t{block_.entries} * heads();
  FGNN_ASSIGN_OR_RETURN(alpha_, run.Make<float>(size));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchEdgeSoftmax(SoftmaxOfEntries(), run.stream()),
                 "cannot compute attention"));
  kept_ = alpha_;
  if (!attention_dropout_.active()) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(kept_, run.Make<float>(size));
  return DropEntries(run, alpha_, kept_);
}

absl::Status CudaGatLayer::DropEntries(const BatchRun& run, const float* from,
                                       float* to) const {
  return CudaStatus(LaunchDropout({.key = attention_dropout_.key,
                                   .threshold = attention_dropout_.threshold,
                                   .scale = attention_dropout_.scale,
                                   .count = uint64_t{block_.entries} * heads(),
                                   .from = from,
                                   .to = to},
                                  run.stream()),
                    "cannot drop attention");
}

absl::StatusOr<float*> CudaGatLayer::SumMessages(const BatchRun& run) const {
  FGNN_ASSIGN_OR_RETURN(float* const z,
                        run.Make<float>(block_.num_destinations * width()));
  HeadSumsArgs args;
  args.shape = shape();
  args.indptr = block_.indptr;
  args.indices = block_.indices;
  args.num_lists = block_.num_destinations;
  args.type = run.type();
  args.x = messages_;
  args.weights = kept_;
  args.out = z;
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchHeadSums(args, run.stream()), "cannot sum messages"));
  return z;
}

absl::StatusOr<void*> CudaGatLayer::Backward(const BatchRun& run,
                                             const DeviceBlock& /*block*/,
                                             const void* dz,
                                             float input_scale) {
  FGNN_RETURN_IF_ERROR(GradientOfScores(run, dz));
  FGNN_RETURN_IF_ERROR(GradientOfMessages(run, dz));
  FGNN_RETURN_IF_ERROR(GradientOfParameters(run, dz));
  if (options_.first) return nullptr;
  const uint64_t count =
      block_.num_sources * static_cast<uint64_t>(options_.in);
  FGNN_ASSIGN_OR_RETURN(float* const dx, run.Make<float>(count));
  FGNN_RETURN_IF_ERROR(run.Backward(weight(), messages_gradient_,
                                    block_.num_sources, {.to = dx}));
  return run.FinishGradient(dx, x_.rows, count, input_scale);
}

// Computes d alpha_uv = dz_v . m_u, then goes back through the softmax.
absl::Status CudaGatLayer::GradientOfScores(const BatchRun& run,
                                            const void* dz) {
  FGNN_ASSIGN_OR_RETURN(entry_gradient_,
                        run.Make<float>(uint64_t{block_.entries} * heads()));
  FGNN_ASSIGN_OR_RETURN(
      destination_gradient_,
      run.Make<float>(uint64_t{block_.num_destinations} * heads()));
  EntryProductsArgs args;
  args.shape = shape();
  args.indptr = block_.indptr;
  args.indices = block_.indices;
  args.num_lists = block_.num_destinations;
  args.entries = block_.entries;
  args.type = run.type();
  args.list_rows = dz;
  args.rows = messages_;
  args.out = entry_gradient_;
  FGNN_RETURN_IF_ERROR(CudaStatus(LaunchEntryProducts(args, run.stream()),
                                  "cannot compute gradients of attention"));
  if (attention_dropout_.active()) {
    FGNN_RETURN_IF_ERROR(DropEntries(run, entry_gradient_, entry_gradient_));
  }
  return CudaStatus(
      LaunchGradientOfEdgeSoftmax(SoftmaxOfEntries(), entry_gradient_,
                                  destination_gradient_, run.stream()),
      "cannot go back through attention");
}

// A message contributes to the sums of all vertices that its own is a neighbour
// of, and to its scores.
absl::Status CudaGatLayer::GradientOfMessages(const BatchRun& run,
                                              const void* dz) {
  FGNN_ASSIGN_OR_RETURN(const TransposedLists transposed,
                        Transpose(run, block_, /*counts_own=*/false));
  const uint64_t num_sources = block_.num_sources;
  FGNN_ASSIGN_OR_RETURN(source_gradient_,
                        run.Make<float>(num_sources * heads()));
  FGNN_ASSIGN_OR_RETURN(messages_gradient_,
                        run.MakeNumbers(num_sources * width()));
  // The rows of the entries that a source has.
  DeviceLists entries = transposed.lists;
  entries.indices = transposed.block_entries;
  NeighborSumsArgs sums;
  sums.columns = heads();
  sums.x = entry_gradient_;
  sums.out = source_gradient_;
  FGNN_RETURN_IF_ERROR(run.SumLists(entries, sums));
  HeadSumsArgs args;
  args.shape = shape();
  args.indptr = transposed.lists.indptr;
  args.indices = transposed.lists.indices;
  args.places = transposed.block_entries;
  args.num_lists = block_.num_sources;
  args.type = run.type();
  args.x = dz;
  args.weights = kept_;
  args.first = {block_.num_sources, source_gradient_,
                run.parameters().Floats(options_.source_offset)};
  args.second = {block_.num_destinations, destination_gradient_,
                 run.parameters().Floats(options_.destination_offset)};
  args.out_type = run.type();
  args.out = messages_gradient_;
  return CudaStatus(LaunchHeadSums(args, run.stream()),
                    "cannot compute gradients of messages");
}

absl::Status CudaGatLayer::GradientOfParameters(const BatchRun& run,
                                                const void* dz) const {
  FGNN_RETURN_IF_ERROR(run.GradientOfBias(options_.bias_offset, dz,
                                          block_.num_destinations, width()));
  FGNN_RETURN_IF_ERROR(run.GradientOfWeight(weight(), messages_gradient_,
                                            x_.rows, block_.num_sources));
  FGNN_RETURN_IF_ERROR(run.GradientOfVector(options_.source_offset, messages_,
                                            block_.num_sources, width(),
                                            source_gradient_, heads()));
  return run.GradientOfVector(options_.destination_offset, messages_,
                              block_.num_destinations, width(),
                              destination_gradient_, heads());
}

}  // namespace fgnn
