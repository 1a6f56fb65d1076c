#include "shared/config/rules/part_rules.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/rules/device_rules.h"
#include "shared/config/rules/model_rules.h"

namespace fgnn {
namespace {

absl::Status NotWithParts(uint32_t parts, const std::string& what,
                          std::string_view instead) {
  return absl::InvalidArgumentError(absl::StrCat(
      "training.parts is ", parts, ", but ", what, "; ", std::string(instead)));
}

// Returns how the job has whole batches.
std::string WithoutParts(const v1::JobSpec& spec) {
  return absl::StrCat("use 1", spec.training().share_inputs() == "on"
                                   ? ", with training.share_inputs auto"
                                   : "");
}

// Parts exchange the rows of our layers, all of one version of the weights.
absl::Status CheckModelAndSync(const v1::JobSpec& spec) {
  const uint32_t parts = spec.training().parts();
  const v1::TrainingSpec& training = spec.training();
  const v1::ModelSpec& model = spec.model();
  if (training.sync() != "steps") {
    return NotWithParts(
        parts, absl::StrCat("training.sync is ", training.sync()),
        "use steps, since parts need one version of the weights");
  }
  if (training.task() == "link_prediction") {
    return NotWithParts(parts, "training.task is link_prediction",
                        absl::StrCat("its pairs have ends in several parts; ",
                                     WithoutParts(spec)));
  }
  if (IsUsersKind(model.kind())) {
    return NotWithParts(parts, absl::StrCat("model.kind is ", model.kind()),
                        "its layers do not exchange rows; use a kind of ours");
  }
  if (model.normalization() == "batch") {
    return NotWithParts(parts, "model.normalization is batch",
                        "a part does not see all rows; use layer");
  }
  return absl::OkStatus();
}

absl::Status CheckPlaces(const v1::JobSpec& spec) {
  const uint32_t parts = spec.training().parts();
  for (const std::string& device : spec.devices()) {
    if (absl::StrContains(device, '/')) {
      return NotWithParts(
          parts, absl::StrCat("devices has ", device),
          absl::StrCat("parts are of one host; ", WithoutParts(spec),
                       ", or its own devices"));
    }
  }
  if (spec.hosts().max() > 1) {
    return NotWithParts(
        parts, absl::StrCat("hosts.max is ", spec.hosts().max()),
        absl::StrCat("parts are of one host; ", WithoutParts(spec)));
  }
  const bool are_named = spec.executors() == "together";
  const uint32_t trainers =
      are_named ? spec.trainers() : DevicesThatTrain(spec);
  if (parts > trainers && !spec.training().parts_on_fewer_trainers()) {
    const std::string what = are_named ? "trainer" : "device";
    return NotWithParts(
        parts,
        absl::StrCat(trainers, " ", what, trainers == 1 ? "" : "s",
                     " may train"),
        absl::StrCat(
            trainers > 1 ? absl::StrCat("use ", trainers) : WithoutParts(spec),
            are_named ? ", raise trainers" : "",
            ", or set training.parts_on_fewer_trainers, with which a "
            "batch is computed about twice a layer"));
  }
  return absl::OkStatus();
}

absl::Status CheckQueue(const v1::JobSpec& spec) {
  const uint32_t parts = spec.training().parts();
  const uint32_t slots = spec.queue().slots();
  if (slots == 0 || (slots % parts == 0 && slots >= 2 * parts)) {
    return absl::OkStatus();
  }
  const uint32_t nearest =
      std::max((slots + parts / 2) / parts * parts, 2 * parts);
  return absl::InvalidArgumentError(absl::StrCat(
      "queue.slots is ", slots, ", but a batch has ", parts,
      " parts (training.parts), and the queue holds whole batches, two at "
      "least; use ",
      nearest));
}

}  // namespace

absl::Status CheckParts(const v1::JobSpec& spec) {
  if (spec.training().parts() <= 1) {
    if (spec.training().share_inputs() != "on") return absl::OkStatus();
    return absl::InvalidArgumentError(
        "training.share_inputs is on, but training.parts is 1, and a whole "
        "batch has no other parts; use auto, or raise training.parts");
  }
  FGNN_RETURN_IF_ERROR(CheckModelAndSync(spec));
  FGNN_RETURN_IF_ERROR(CheckPlaces(spec));
  if (spec.features().match() == "window") {
    return NotWithParts(spec.training().parts(), "features.match is window",
                        "it looks ahead by batches; use on or auto");
  }
  return CheckQueue(spec);
}

}  // namespace fgnn
