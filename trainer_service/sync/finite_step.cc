#include "trainer_service/sync/finite_step.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "trainer_service/compute/finite.h"

namespace fgnn {
namespace {

// Calls visit(array, part) for the optimizer's state of the weights, array by
// array, and then for the weights themselves, until it returns false. Returns
// false then.
template <typename Visit>
bool ForEachNew(const StepTensors& step, uint64_t offset, uint64_t count,
                const Visit& visit) {
  const absl::Span<const float> state = step.new_optimizer_state;
  const uint64_t num_parameters = step.new_weights.size();
  uint64_t array = 0;
  for (; array * num_parameters < state.size(); ++array) {
    if (!visit(array, state.subspan(array * num_parameters + offset, count))) {
      return false;
    }
  }
  const absl::Span<const float> weights = step.new_weights;
  return visit(array, weights.subspan(offset, count));
}

absl::string_view NameOf(const OptimizerOptions& options, uint64_t array) {
  if (array == StateFloatsPerParameter(options)) return "new value";
  if (options.kind == OptimizerKind::kSgd) return "momentum";
  return array == 0 ? "first moment" : "second moment";
}

const ParameterInfo& ParameterAt(const std::vector<ParameterInfo>& parameters,
                                 uint64_t offset) {
  return *std::find_if(parameters.begin(), parameters.end(),
                       [offset](const ParameterInfo& parameter) {
                         return offset < parameter.offset + parameter.size();
                       });
}

}  // namespace

bool IsFinite(const StepTensors& step, uint64_t offset, uint64_t count) {
  return ForEachNew(
      step, offset, count,
      [](uint64_t, absl::Span<const float> part) { return AllFinite(part); });
}

absl::Status CheckFinite(const std::vector<ParameterInfo>& parameters,
                         const OptimizerOptions& options,
                         const StepTensors& step, uint64_t offset,
                         absl::Span<const float> gradient) {
  absl::Status error;
  ForEachNew(step, offset, gradient.size(),
             [&](uint64_t array, absl::Span<const float> part) {
               const auto wrong = std::find_if_not(
                   part.begin(), part.end(),
                   [](float value) { return std::isfinite(value); });
               if (wrong == part.end()) return true;
               const auto place = static_cast<size_t>(wrong - part.begin());
               const std::string& weight =
                   ParameterAt(parameters, offset + place).name;
               const std::string in_step =
                   absl::StrCat("in step ", step.step_number);
               error = absl::AbortedError(
                   std::isfinite(gradient[place])
                       ? absl::StrCat(in_step, " the ", NameOf(options, array),
                                      " of ", weight, " is ", *wrong,
                                      "; its gradient is ", gradient[place])
                       : absl::StrCat(in_step, " the gradient of ", weight,
                                      " is ", gradient[place]));
               return false;
             });
  return error;
}

}  // namespace fgnn
