#include "trainer_service/nn/cuda/layers/cuda_neighbor_linear.h"

#include "shared/base/status.h"

namespace fgnn {

// The estimate of the CPU, whose sums wait for memory too.
bool CudaNeighborLinear::TransformsFirst(uint32_t num_destinations,
                                         uint32_t num_sources,
                                         uint64_t entries) const {
  const double summed_rows = options_.self_offset ? 0 : num_destinations;
  BlockView sizes;
  sizes.num_destinations = num_destinations;
  sizes.num_sources = num_sources;
  return fgnn::TransformsFirst(
      options_.order,
      {.in = options_.in, .out = options_.out, .first = options_.first}, sizes,
      static_cast<double>(entries) + summed_rows);
}

// Sums read rows wherever they lie. The product with W_self and the gradient of
// eps read the destinations' own, which are the first.
std::optional<uint32_t> CudaNeighborLinear::DenseRows(
    const BlockView& block) const {
  if (!options_.first ||
      TransformsFirst(block.num_destinations, block.num_sources,
                      block.indices.size())) {
    return std::nullopt;
  }
  const bool reads_own = options_.self_offset || options_.epsilon_offset;
  return reads_own ? block.num_destinations : 0;
}

absl::StatusOr<float*> CudaNeighborLinear::Forward(const BatchRun& run,
                                                   const DeviceBlock& block,
                                                   const CudaLayerInput& x) {
  x_ = x;
  transforms_first_ =
      TransformsFirst(block.num_destinations, block.num_sources, block.entries);
  const uint64_t num_destinations = block.num_destinations;
  FGNN_ASSIGN_OR_RETURN(float* const y,
                        run.Make<float>(num_destinations * out()));
  if (transforms_first_) {
    FGNN_ASSIGN_OR_RETURN(messages_,
                          run.MakeNumbers(block.num_sources * out()));
    FGNN_RETURN_IF_ERROR(run.Forward(weight(), x.rows, block.num_sources,
                                     {.to = messages_, .type = run.type()}));
    FGNN_RETURN_IF_ERROR(
        SumNeighbors(run, block, messages_, out(), FeatureType::kFloat32, y));
  } else {
    FGNN_ASSIGN_OR_RETURN(messages_, run.MakeNumbers(num_destinations * in()));
    FGNN_RETURN_IF_ERROR(SumNeighbors(run, block, x.rows, in(), run.type(),
                                      messages_, x.placed));
    FGNN_RETURN_IF_ERROR(
        run.Forward(weight(), messages_, num_destinations, {.to = y}));
  }
  if (options_.self_offset) {
    FGNN_RETURN_IF_ERROR(run.Forward(self_weight(), x.rows, num_destinations,
                                     {.to = y, .adds = true}));
  }
  return y;
}

absl::StatusOr<float*> CudaNeighborLinear::Infer(
    const BatchRun& run, const DeviceBlock& block,
    const CudaInferenceRows& rows) {
  x_ = {};
  x_.degree_scales = rows.degree_scales;
  x_.own_scales = rows.own_scales;
  const uint64_t num_destinations = block.num_destinations;
  const bool sends_products = SendsProducts(options_);
  const uint64_t columns = sends_products ? out() : in();
  FGNN_ASSIGN_OR_RETURN(float* const sums,
                        run.Make<float>(num_destinations * columns));
  FGNN_RETURN_IF_ERROR(SumNeighbors(run, block, rows.messages, columns,
                                    FeatureType::kFloat32, sums));
  float* y = sums;
  if (!sends_products) {
    FGNN_ASSIGN_OR_RETURN(y, run.Make<float>(num_destinations * out()));
    FGNN_RETURN_IF_ERROR(
        run.Forward(weight(), sums, num_destinations, {.to = y}));
  }
  if (options_.self_offset) {
    FGNN_RETURN_IF_ERROR(run.Forward(
        self_weight(), rows.inputs, num_destinations, {.to = y, .adds = true}));
  }
  return y;
}

absl::Status CudaNeighborLinear::SumNeighbors(const BatchRun& run,
                                              const DeviceBlock& block,
                                              const void* rows,
                                              uint64_t columns,
                                              FeatureType out_type, void* out,
                                              const PlacedRows& placed) const {
  FGNN_ASSIGN_OR_RETURN(const DeviceLists lists,
                        run.FindLongLists({.indptr = block.indptr,
                                           .indices = block.indices,
                                           .num_lists = block.num_destinations,
                                           .entries = block.entries}));
  NeighborSumsArgs args;
  args.columns = static_cast<uint32_t>(columns);
  args.type = run.type();
  args.x = rows;
  args.placed = placed;
  args.out_type = out_type;
  args.out = out;
  if (options_.self_offset) {
    args.divisor = Divisor::kCount;
    return run.SumLists(lists, args);
  }
  args.num_own = block.num_destinations;
  if (options_.divides_by_degrees) {
    args.own_scales = x_.own_scales;
    args.list_scales = block.neighbor_scales;
    args.row_scales = x_.degree_scales;
  } else if (options_.epsilon_offset) {
    args.own = OwnFactor(run);
  } else {
    args.divisor = Divisor::kCountAndOne;
  }
  return run.SumLists(lists, args);
}

absl::Status CudaNeighborLinear::SumGradients(
    const BatchRun& run, const DeviceBlock& block, const void* sums_gradient,
    uint64_t columns, FeatureType out_type, void* out) const {
  NeighborSumsArgs args;
  args.columns = static_cast<uint32_t>(columns);
  args.type = run.type();
  args.x = sums_gradient;
  args.out_type = out_type;
  args.out = out;
  if (options_.self_offset) {
    args.row_scales = transposed_.inverse_degrees;
    return run.SumLists(transposed_.lists, args);
  }
  args.num_own = block.num_destinations;
  if (options_.divides_by_degrees) {
    args.own_scales = x_.degree_scales;
    args.row_scales = block.neighbor_scales;
    args.out_scales = x_.degree_scales;
  } else if (options_.epsilon_offset) {
    args.own = OwnFactor(run);
  } else {
    args.own_scales = transposed_.inverse_degrees;
    args.row_scales = transposed_.inverse_degrees;
  }
  return run.SumLists(transposed_.lists, args);
}

absl::StatusOr<void*> CudaNeighborLinear::Backward(const BatchRun& run,
                                                   const DeviceBlock& block,
                                                   const void* dy,
                                                   float input_scale) {
  if (ReachesSources()) {
    FGNN_ASSIGN_OR_RETURN(
        transposed_,
        Transpose(run, block, /*counts_own=*/!options_.self_offset));
  }
  if (ReachesSources() || options_.epsilon_offset) {
    FGNN_RETURN_IF_ERROR(GradientOfMessages(run, block, dy));
  }
  FGNN_RETURN_IF_ERROR(GradientOfParameters(run, block, dy));
  if (options_.first) return nullptr;
  return GradientOfInput(run, block, dy, input_scale);
}

// Transform first: [S, out], the sum of dy over the sums that a source is in.
// Aggregate first: [D, in], dy W.
absl::Status CudaNeighborLinear::GradientOfMessages(const BatchRun& run,
                                                    const DeviceBlock& block,
                                                    const void* dy) {
  if (transforms_first_) {
    FGNN_ASSIGN_OR_RETURN(messages_gradient_,
                          run.MakeNumbers(block.num_sources * out()));
    return SumGradients(run, block, dy, out(), run.type(), messages_gradient_);
  }
  FGNN_ASSIGN_OR_RETURN(messages_gradient_,
                        run.MakeNumbers(block.num_destinations * in()));
  return run.Backward(weight(), dy, block.num_destinations,
                      {.to = messages_gradient_, .type = run.type()});
}

// dW_self is dy^T x. dW is dy^T sums, or (gradient of messages)^T x. d eps is
// the sum over v of dy_v . W x_v, or of W^T dy_v . x_v.
absl::Status CudaNeighborLinear::GradientOfParameters(const BatchRun& run,
                                                      const DeviceBlock& block,
                                                      const void* dy) {
  const uint64_t num_destinations = block.num_destinations;
  FGNN_RETURN_IF_ERROR(
      run.GradientOfBias(options_.bias_offset, dy, num_destinations, out()));
  if (options_.self_offset) {
    FGNN_RETURN_IF_ERROR(
        run.GradientOfWeight(self_weight(), dy, x_.rows, num_destinations));
  }
  FGNN_RETURN_IF_ERROR(
      transforms_first_
          ? run.GradientOfWeight(weight(), messages_gradient_, x_.rows,
                                 block.num_sources)
          : run.GradientOfWeight(weight(), dy, messages_, num_destinations));
  if (!options_.epsilon_offset) return absl::OkStatus();
  return transforms_first_
             ? run.GradientOfFactor(*options_.epsilon_offset, dy, messages_,
                                    num_destinations * out())
             : run.GradientOfFactor(*options_.epsilon_offset,
                                    messages_gradient_, x_.rows,
                                    num_destinations * in());
}

absl::StatusOr<void*> CudaNeighborLinear::GradientOfInput(
    const BatchRun& run, const DeviceBlock& block, const void* dy,
    float input_scale) {
  const uint64_t count = block.num_sources * in();
  FGNN_ASSIGN_OR_RETURN(float* const dx, run.Make<float>(count));
  FGNN_RETURN_IF_ERROR(transforms_first_
                           ? run.Backward(weight(), messages_gradient_,
                                          block.num_sources, {.to = dx})
                           : SumGradients(run, block, messages_gradient_, in(),
                                          FeatureType::kFloat32, dx));
  if (options_.self_offset) {
    FGNN_RETURN_IF_ERROR(run.Backward(self_weight(), dy, block.num_destinations,
                                      {.to = dx, .adds = true}));
  }
  return run.FinishGradient(dx, x_.rows, count, input_scale);
}

}  // namespace fgnn
