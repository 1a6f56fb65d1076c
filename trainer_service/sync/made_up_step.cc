#include "trainer_service/sync/made_up_step.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "shared/base/crc32c.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/sync/optimizer_step.h"

namespace fgnn {
namespace {

// Neither is a multiple of what vector instructions take at once.
constexpr uint64_t kDecayed = 3001;
constexpr uint64_t kOthers = 1003;
constexpr uint64_t kNumSteps = 2;
// Seeds of the two gradients of a step.
constexpr uint32_t kSeeds = 61;
constexpr uint32_t kFewerSeeds = 7;

// Returns numbers in [-1/2, 1/2), the same ones each time.
std::vector<float> DrawFloats(uint64_t count, uint64_t stream) {
  constexpr int kUnused = 40;
  constexpr float kUnit = 1.0F / (1 << (64 - kUnused));
  std::vector<float> floats(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bits = Mix64(Mix64(stream) ^ i) >> kUnused;
    floats[i] = static_cast<float>(bits) * kUnit - 0.5F;
  }
  return floats;
}

uint32_t Extend(uint32_t crc, const std::vector<float>& floats) {
  return ExtendCrc32c(crc, floats.data(), floats.size() * sizeof(float));
}

}  // namespace

absl::StatusOr<uint32_t> CrcOfMadeUpStep(OptimizerOptions options) {
  const std::vector<ParameterInfo> parameters = {
      {.name = "weight", .shape = {kDecayed}, .offset = 0, .decay = true},
      {.name = "bias", .shape = {kOthers}, .offset = kDecayed}};
  constexpr uint64_t kCount = kDecayed + kOthers;
  options.num_steps = std::max(options.num_steps, kNumSteps);
  uint64_t stream = 0;
  std::vector<float> weights = DrawFloats(kCount, ++stream);
  std::vector<float> state(kCount * StateFloatsPerParameter(options));
  ThreadTeam team(/*num_threads=*/1);
  for (uint64_t step = 1; step <= kNumSteps; ++step) {
    const std::vector<float> gradient = DrawFloats(kCount, ++stream);
    const std::vector<float> another = DrawFloats(kCount, ++stream);
    std::vector<float> new_weights(weights.size());
    std::vector<float> new_state(state.size());
    StepTensors tensors;
    tensors.step_number = step;
    tensors.old_weights = weights;
    tensors.old_optimizer_state = state;
    tensors.new_weights = absl::MakeSpan(new_weights);
    tensors.new_optimizer_state = absl::MakeSpan(new_state);
    tensors.gradients = {gradient, another};
    tensors.batch_examples = {kSeeds, kFewerSeeds};
    const absl::Status made =
        MakeOptimizerStep(parameters, options, tensors, team);
    if (!made.ok()) {
      return absl::InternalError(
          absl::StrCat("a made-up step: ", MessageOf(made)));
    }
    weights = std::move(new_weights);
    state = std::move(new_state);
  }
  return Extend(Extend(0, weights), state);
}

}  // namespace fgnn
