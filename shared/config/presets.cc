#include "shared/config/presets.h"

#include <algorithm>
#include <iterator>

#include "shared/base/nearest.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"

namespace fgnn {
namespace {

struct Preset {
  const char* name;
  const char* yaml;
};

// fgnn/*: FGNN, section 7.1, which counts hops from the training vertices, as
// fanouts do. fastgl/*: FastGL, section 6.1, "following the settings in
// GNNLab". FastGL lists fanouts by layer, the layer next to the features first.
// GAT's hidden layers have eight heads of eight columns there. A step of one
// batch makes the weights the same on any number of devices.
constexpr Preset kPresets[] = {
    {"fgnn/gcn", R"(
model: {kind: gcn, layers: 3, hidden: 256}
sampling: {kind: khop, fanouts: [15, 10, 5], batch_size: 8000}
training: {batches_per_step: 1})"},
    {"fgnn/graphsage", R"(
model: {kind: graphsage, layers: 2, hidden: 256}
sampling: {kind: khop, fanouts: [10, 25], batch_size: 8000}
training: {batches_per_step: 1})"},
    {"fgnn/pinsage", R"(
model: {kind: pinsage, layers: 3, hidden: 256}
sampling:
  kind: random_walk
  fanouts: [5, 5, 5]
  batch_size: 8000
  walks: {num: 4, length: 3}
training: {batches_per_step: 1})"},
    {"fastgl/gcn", R"(
model: {kind: gcn, layers: 3, hidden: 64}
sampling: {kind: khop, fanouts: [15, 10, 5], batch_size: 8000}
training: {batches_per_step: 1})"},
    {"fastgl/gin", R"(
model: {kind: gin, layers: 3, hidden: 64}
sampling: {kind: khop, fanouts: [15, 10, 5], batch_size: 8000}
training: {batches_per_step: 1})"},
    {"fastgl/gat", R"(
model: {kind: gat, layers: 3, hidden: 64, heads: 8}
sampling: {kind: khop, fanouts: [15, 10, 5], batch_size: 8000}
training: {batches_per_step: 1})"},
};

}  // namespace

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

absl::Status FillPreset(v1::JobSpec* spec) {
  if (spec->preset().empty()) return absl::OkStatus();
  const auto* const preset =
      std::find_if(std::begin(kPresets), std::end(kPresets),
                   [&](const Preset& p) { return spec->preset() == p.name; });
  if (preset == std::end(kPresets)) {
    return CheckChoice("preset", spec->preset(), PresetNames());
  }
  FGNN_ASSIGN_OR_RETURN(v1::JobSpec filled,
                        ParseJobYaml(preset->yaml, preset->name));
  // Merging appends lists; here the job's list replaces the preset's.
  if (spec->sampling().fanouts_size() > 0) {
    filled.mutable_sampling()->clear_fanouts();
  }
  filled.MergeFrom(*spec);
  *spec = std::move(filled);
  return absl::OkStatus();
}

}  // namespace fgnn
