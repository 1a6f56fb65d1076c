#include "shared/device/cuda/launch.h"
#include "trainer_service/compute/cuda/row_units.cuh"
#include "trainer_service/nn/cuda/kernels/array_sums.cuh"
#include "trainer_service/nn/cuda/kernels/target_losses.h"
#include "trainer_service/nn/exp_of_negative.h"

namespace fgnn {
namespace {

constexpr uint32_t kNumbers = 4;  // That a thread loads at once.

// A loss and its derivative by the output, times the scale.
struct Term {
  double loss;
  float gradient;
};

struct BinaryCrossEntropy {
  float scale;

  __device__ Term operator()(float logit, float target) const {
    const float decay = ExpOfNegative(-fabsf(logit));
    const auto x = static_cast<double>(logit);
    const double linear = (x > 0 ? x : 0.0) - x * static_cast<double>(target);
    const float share = (logit > 0 ? 1.0f : decay) / __fadd_rn(1.0f, decay);
    return {linear + static_cast<double>(log1pf(decay)),
            __fmul_rn(scale, __fadd_rn(share, -target))};
  }
};

struct SquaredError {
  float factor;  // Twice the scale.

  __device__ Term operator()(float output, float target) const {
    const float error = __fadd_rn(output, -target);
    const auto wide = static_cast<double>(error);
    return {wide * wide, __fmul_rn(error, factor)};
  }
};

template <typename Loss>
struct LossArgs {
  TargetLossArgs of;
  Loss loss;
};

// A thread computes every so many'th unit, and perhaps one of the numbers
// behind the last unit.
template <typename Loss>
__global__ void __launch_bounds__(kSumThreads)
    TargetLossKernel(LossArgs<Loss> args) {
  const auto [targets, count, scale, outputs, partials, sum] = args.of;
  const uint64_t units = count / kNumbers;
  const uint64_t threads = uint64_t{gridDim.x} * kSumThreads;
  const uint64_t thread = uint64_t{blockIdx.x} * kSumThreads + threadIdx.x;
  double mine = 0;
  for (uint64_t unit = thread; unit < units; unit += threads) {
    const auto t =
        __ldg(reinterpret_cast<const float4*>(targets + unit * kNumbers));
    float4* const place = reinterpret_cast<float4*>(outputs + unit * kNumbers);
    const float4 x = *place;
    const Term terms[kNumbers] = {args.loss(x.x, t.x), args.loss(x.y, t.y),
                                  args.loss(x.z, t.z), args.loss(x.w, t.w)};
    *place = {terms[0].gradient, terms[1].gradient, terms[2].gradient,
              terms[3].gradient};
    mine += terms[0].loss + terms[1].loss + terms[2].loss + terms[3].loss;
  }
  const uint64_t rest = units * kNumbers + thread;
  if (rest < count) {
    const Term term = args.loss(outputs[rest], targets[rest]);
    outputs[rest] = term.gradient;
    mine += term.loss;
  }
  StoreSumOfBlock(mine, partials);
}

template <typename Loss>
cudaError_t LaunchLoss(const TargetLossArgs& args, const Loss& loss,
                       cudaStream_t stream) {
  if (UnitBytes(16, {args.targets, args.outputs}) != 16) {
    return cudaErrorInvalidValue;
  }
  return LaunchSum(TargetLossKernel<Loss>, {args, loss}, args.count / kNumbers,
                   args.partials, args.sum, stream);
}

}  // namespace

cudaError_t LaunchBinaryCrossEntropy(const TargetLossArgs& args,
                                     cudaStream_t stream) {
  return LaunchLoss(args, BinaryCrossEntropy{args.scale}, stream);
}

cudaError_t LaunchSquaredError(const TargetLossArgs& args,
                               cudaStream_t stream) {
  return LaunchLoss(args, SquaredError{2 * args.scale}, stream);
}

}  // namespace fgnn
