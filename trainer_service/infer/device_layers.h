// The layers of an inference on an InferenceDevice, and on the host's cores
// where the device has no memory. Private to this folder.
#ifndef FGNN_TRAINER_SERVICE_INFER_DEVICE_LAYERS_H_
#define FGNN_TRAINER_SERVICE_INFER_DEVICE_LAYERS_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/infer/block_maker.h"
#include "trainer_service/infer/inference_arrays.h"
#include "trainer_service/infer/inference_device.h"
#include "trainer_service/infer/layer_wise.h"

namespace fgnn {

// One inference. One caller, whose thread makes all calls of the device.
class DeviceLayers {
 public:
  // Functions of these two structs are called from several threads at once, for
  // parts that do not overlap.
  // Copies rows of `nodes` to out [nodes.size(), columns].
  struct RowsOfNodes {
    uint64_t columns = 0;
    absl::FunctionRef<absl::Status(absl::Span<const GlobalId> nodes,
                                   float* out)>
        copy;
    // Where they are. The device's arrays: if it keeps them, else in the
    // host's.
    RowsPlace place = RowsPlace::kHost;
  };
  // Takes the results of nodes [first, first + rows).
  struct Results {
    uint64_t columns = 0;
    absl::FunctionRef<void(size_t first, size_t rows, const float* values)>
        take;
    RowsPlace place = RowsPlace::kHost;  // Where they go; see above.
  };
  // Computes nodes [first, last) on the host's cores, and takes the results.
  // Called by the caller's thread alone.
  using OnCores = absl::FunctionRef<absl::Status(size_t first, size_t last)>;

  // Borrows `input`, which has a device.
  explicit DeviceLayers(const InferenceInput* input);
  ~DeviceLayers() { device_.End(); }
  DeviceLayers(const DeviceLayers&) = delete;
  DeviceLayers& operator=(const DeviceLayers&) = delete;

  // Begins the inference. A device without memory leaves all to the cores.
  // `arrays` are the host's, which have what the device does not keep.
  // Borrowed.
  absl::Status Begin(const InferenceArrays* arrays);

  // Makes the messages of `nodes` from their inputs.
  absl::Status Messages(uint32_t layer, absl::Span<const GlobalId> nodes,
                        const RowsOfNodes& inputs, const Results& messages,
                        OnCores on_cores);

  // Makes the outputs of `nodes`, from messages of any vertices and the nodes'
  // own inputs. degree_scales [N], or null. A vertex with more neighbours than
  // the device has room for is the cores'.
  struct UpdateRows {
    const float* degree_scales = nullptr;
    RowsOfNodes messages;
    RowsOfNodes inputs;
    Results outputs;
  };
  absl::Status Update(uint32_t layer, absl::Span<const GlobalId> nodes,
                      const UpdateRows& rows, OnCores on_cores);

 private:
  // Returns the first place behind `first` that the device has no room for any
  // more.
  size_t EndOfRoom(uint32_t layer, absl::Span<const GlobalId> nodes,
                   size_t first) const;
  // Calls on_device(first, last) for all parts of [0, count) that end where
  // `end_of_room` says. Parts without room are the cores'.
  absl::Status Run(size_t count,
                   absl::FunctionRef<size_t(size_t first)> end_of_room,
                   absl::FunctionRef<absl::Status(size_t, size_t)> on_device,
                   OnCores on_cores);
  // Lets the host's arrays have what the device has kept.
  absl::Status GiveBack();
  // Returns the place as the device sees it.
  RowsPlace PlaceOf(RowsPlace place) const;
  InferenceDevice::Results ResultsOf(const Results& results,
                                     absl::Span<const GlobalId> nodes,
                                     InferenceDevice::Sink take);
  absl::Status UpdateOnDevice(uint32_t layer, absl::Span<const GlobalId> nodes,
                              size_t first, const UpdateRows& rows);
  // Calls work(first, last) for parts of [0, rows), on all threads.
  absl::Status ForRows(
      uint64_t rows,
      absl::FunctionRef<absl::Status(uint64_t, uint64_t)> work) const;
  // Copy rows of nodes, and take results behind `first`, with all threads.
  absl::Status Copy(const RowsOfNodes& rows, absl::Span<const GlobalId> nodes,
                    float* out) const;
  absl::Status Take(const Results& results, size_t first, uint64_t rows,
                    const float* values) const;

  const InferenceInput& input_;
  InferenceDevice& device_;
  ThreadTeam& team_;
  BlockMaker blocks_;
  const InferenceArrays* arrays_ = nullptr;
  bool on_cores_ = false;  // Whether the device has given up.
  bool keeps_ = false;     // Whether it keeps the arrays over all vertices.
  // Whether rows of these arrays were made on the device.
  bool has_hidden_ = false;
  bool has_messages_ = false;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_DEVICE_LAYERS_H_
