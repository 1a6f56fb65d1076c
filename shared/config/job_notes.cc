#include "shared/config/job_notes.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/units.h"
#include "shared/config/rules/device_rules.h"

namespace fgnn {
namespace {

// Returns a note about W and the devices that may train; nullopt: none is due.
std::optional<std::string> NoteOnDevices(const v1::JobSpec& written,
                                         const v1::JobSpec& effective) {
  const uint32_t devices = DevicesThatTrain(effective);
  const uint32_t batches = effective.training().batches_per_step();
  if (devices < 2) return std::nullopt;
  // A preset may say the number in the place of the job.
  const bool is_taken =
      written.preset().empty() && written.training().batches_per_step() == 0;
  if (is_taken) {
    return absl::StrCat(
        "training.batches_per_step is not set: taken as ", batches,
        ", one for each device that may train. A step is made of ", batches,
        " x ", FormatCount(effective.sampling().batch_size()),
        " seeds. Set the field to get the same weights on any number of "
        "devices");
  }
  // Each part of a batch has a device.
  const uint32_t parts = effective.training().parts();
  const uint32_t busy = batches * parts;
  if (busy < devices && effective.training().sync() != "bounded_staleness") {
    return absl::StrCat("training.batches_per_step is ", batches, ", and ",
                        devices, " devices may train: no more than ", busy,
                        busy == 1 ? " trains" : " train",
                        " at the same time. Set the field to ",
                        (devices + parts - 1) / parts,
                        " to use all of them; the weights will be others");
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> NotesOnJob(const v1::JobSpec& written,
                                    const v1::JobSpec& effective) {
  std::vector<std::string> notes;
  if (auto note = NoteOnDevices(written, effective); note.has_value()) {
    notes.push_back(*std::move(note));
  }
  const uint32_t batches = effective.training().batches_per_step();
  if (effective.hosts().max() > batches) {
    notes.push_back(absl::StrCat(
        "hosts.max is ", effective.hosts().max(), ", but a step has ", batches,
        batches == 1 ? " batch" : " batches", ": no more than ", batches,
        batches == 1 ? " host works" : " hosts work",
        ". Set training.batches_per_step to use more; the weights will be "
        "others"));
  }
  return notes;
}

std::optional<std::string> NoteOnBatchSize(const JobSpec& spec,
                                           uint64_t num_train) {
  const uint32_t batch_size = spec.sampling.batch_size;
  if (batch_size <= num_train) return std::nullopt;
  constexpr uint64_t kBatchesOfTheExample = 8;
  return absl::StrCat(
      "sampling.batch_size is ", FormatCount(batch_size),
      ", and the train set has ", FormatCount(num_train),
      spec.training.predicts_links() ? " edges" : " vertices",
      ": an epoch is one batch of all of them. A smaller one makes more steps, "
      "e.g. --set sampling.batch_size=",
      std::max(num_train / kBatchesOfTheExample, uint64_t{1}));
}

}  // namespace fgnn
