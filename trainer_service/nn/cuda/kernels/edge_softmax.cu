#include "shared/device/cuda/launch.h"
#include "trainer_service/nn/cuda/kernels/edge_softmax.h"
#include "trainer_service/nn/exp_of_negative.h"

namespace fgnn {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kWarp = 32;
constexpr uint32_t kAllLanes = 0xffffffffu;

// The entries and the head of a lane. A warp has one list, or for more than 32
// heads a part of these. `slots` lanes share a head: lane slot * width + h has
// head first + h of the entries slot, slot + slots, …
struct LaneWork {
  uint32_t list;
  uint32_t begin;
  uint32_t end;
  uint32_t head;
  uint32_t slot;
  uint32_t slots;
  uint32_t width;  // Heads of the warp.
  bool works;      // False: the lane only takes part in sums.
};

__device__ LaneWork WorkOf(const EdgeSoftmaxArgs& args) {
  const uint32_t tiles = (args.heads + kWarp - 1) / kWarp;
  const uint64_t warp = (uint64_t{blockIdx.x} * kThreads + threadIdx.x) / kWarp;
  const uint32_t lane = threadIdx.x % kWarp;
  LaneWork work = {};
  const uint64_t list = warp / tiles;
  const uint32_t first = static_cast<uint32_t>(warp % tiles) * kWarp;
  work.width = min(args.heads - first, kWarp);
  work.slots = kWarp / work.width;
  work.slot = lane / work.width;
  work.head = first + lane % work.width;
  work.works = list < args.num_lists && work.slot < work.slots;
  if (!work.works) return work;
  work.list = static_cast<uint32_t>(list);
  work.begin = __ldg(args.indptr + list) + work.slot;
  work.end = __ldg(args.indptr + list + 1);
  return work;
}

// Returns what the lane's slots have together, in their order.
template <typename Join>
__device__ float OverSlots(const LaneWork& work, float value, Join join) {
  const uint32_t first = threadIdx.x % kWarp % work.width;
  float all = __shfl_sync(kAllLanes, value, static_cast<int>(first));
  for (uint32_t s = 1; s < work.slots; ++s) {
    const uint32_t lane = s * work.width + first;
    all = join(all, __shfl_sync(kAllLanes, value, static_cast<int>(lane)));
  }
  return all;
}

__device__ float SumOverSlots(const LaneWork& work, float value) {
  return OverSlots(work, value,
                   [](float a, float b) { return __fadd_rn(a, b); });
}

__device__ float LeakySlopeOf(float score) { return score < 0 ? 0.2f : 1.0f; }

// Returns the sum of the scores of both ends of an entry.
__device__ float ScoreOf(const EdgeSoftmaxArgs& args, const LaneWork& work,
                         uint32_t entry, float own) {
  const uint64_t row = __ldg(args.indices + entry);
  return __fadd_rn(__ldg(args.sources + row * args.heads + work.head), own);
}

__device__ float OwnScore(const EdgeSoftmaxArgs& args, const LaneWork& work) {
  if (!work.works) return 0;
  return __ldg(args.destinations + uint64_t{work.list} * args.heads +
               work.head);
}

__global__ void __launch_bounds__(kThreads)
    EdgeSoftmaxKernel(EdgeSoftmaxArgs args) {
  const LaneWork work = WorkOf(args);
  const float own = OwnScore(args, work);
  float largest = -INFINITY;
  for (uint32_t e = work.begin; e < work.end; e += work.slots) {
    const float sum = ScoreOf(args, work, e, own);
    const float score = sum * LeakySlopeOf(sum);
    args.weights[uint64_t{e} * args.heads + work.head] = score;
    largest = largest < score ? score : largest;
  }
  largest =
      OverSlots(work, largest, [](float a, float b) { return a < b ? b : a; });
  float total = 0;
  for (uint32_t e = work.begin; e < work.end; e += work.slots) {
    float* const weight = &args.weights[uint64_t{e} * args.heads + work.head];
    const float power = ExpOfNegative(*weight - largest);
    *weight = power;
    total = __fadd_rn(total, power);
  }
  const float scale = 1.0f / SumOverSlots(work, total);
  for (uint32_t e = work.begin; e < work.end; e += work.slots) {
    args.weights[uint64_t{e} * args.heads + work.head] *= scale;
  }
}

__global__ void __launch_bounds__(kThreads)
    GradientKernel(EdgeSoftmaxArgs args, float* gradient,
                   float* destinations_gradient) {
  const LaneWork work = WorkOf(args);
  const float own = OwnScore(args, work);
  float mean = 0;
  for (uint32_t e = work.begin; e < work.end; e += work.slots) {
    const uint64_t at = uint64_t{e} * args.heads + work.head;
    mean = __fadd_rn(mean, __fmul_rn(__ldg(args.weights + at), gradient[at]));
  }
  mean = SumOverSlots(work, mean);
  float sum = 0;
  for (uint32_t e = work.begin; e < work.end; e += work.slots) {
    const uint64_t at = uint64_t{e} * args.heads + work.head;
    const float slope = LeakySlopeOf(ScoreOf(args, work, e, own));
    const float of_score = __fmul_rn(
        __fmul_rn(__ldg(args.weights + at), __fadd_rn(gradient[at], -mean)),
        slope);
    gradient[at] = of_score;
    sum = __fadd_rn(sum, of_score);
  }
  sum = SumOverSlots(work, sum);
  if (!work.works || work.slot != 0) return;
  destinations_gradient[uint64_t{work.list} * args.heads + work.head] = sum;
}

Grid GridOf(const EdgeSoftmaxArgs& args) {
  const uint64_t tiles = (uint64_t{args.heads} + kWarp - 1) / kWarp;
  return GridOfThreads(args.num_lists * tiles * kWarp, kThreads);
}

}  // namespace

cudaError_t LaunchEdgeSoftmax(const EdgeSoftmaxArgs& args,
                              cudaStream_t stream) {
  if (args.heads == 0) return cudaErrorInvalidValue;
  return Launch(EdgeSoftmaxKernel, GridOf(args), stream, args);
}

cudaError_t LaunchGradientOfEdgeSoftmax(const EdgeSoftmaxArgs& args,
                                        float* gradient,
                                        float* destinations_gradient,
                                        cudaStream_t stream) {
  if (args.heads == 0) return cudaErrorInvalidValue;
  return Launch(GradientKernel, GridOf(args), stream, args, gradient,
                destinations_gradient);
}

}  // namespace fgnn
