// A worker that has the user's module: its process, its memory, and requests to
// it in JSON.
#ifndef FGNN_TRAINER_SERVICE_NN_PYTHON_PYTHON_WORKER_H_
#define FGNN_TRAINER_SERVICE_NN_PYTHON_PYTHON_WORKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/python/worker_memory.h"
#include "trainer_service/nn/python/worker_process.h"

namespace fgnn {

// Returns the model's name in errors: "model.file /models/sage.py: Sage".
std::string NameOfPythonModel(const ModelOptions& options);

// One caller at a time.
class PythonWorker {
 public:
  // Starts a worker, which makes the module from `seed`. Waits until its first
  // weights are there. `on_wait` is called some times a second while a worker
  // is waited for. FailedPrecondition: the interpreter lacks a package.
  // Unavailable: a signal ended the worker; try again. InvalidArgument: the
  // module cannot be trained here. Otherwise returns errors of
  // WorkerProcess::Start() and of CheckTrustedCode().
  static absl::StatusOr<std::unique_ptr<PythonWorker>> Start(
      const ModelOptions& options, uint64_t seed,
      const std::function<void()>& on_wait);

  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  bool has_layers() const { return has_layers_; }
  absl::Span<float> weights() {
    return {memory_.at<float>(weights_), num_floats_};
  }
  absl::Span<const float> gradient() {
    return {memory_.at<float>(gradient_), num_floats_};
  }
  // Returns the places behind the weights and the gradient.
  ArrayPlaces free_places() const { return ArrayPlaces(arrays_end_); }
  WorkerMemory& memory() { return memory_; }
  // Returns the most memory that the process had, with this one's part of it.
  uint64_t peak_bytes() const { return peak_bytes_; }

  // Asks, and waits for the answer. Unavailable: the worker died; start another
  // one. FailedPrecondition: it did not answer for ten minutes, and was ended.
  // Other errors are the worker's.
  absl::StatusOr<nlohmann::json> Ask(const nlohmann::json& request,
                                     const std::function<void()>& on_wait);

 private:
  PythonWorker(WorkerMemory memory, std::string name)
      : name_(std::move(name)), memory_(std::move(memory)) {}

  absl::StatusOr<nlohmann::json> AnswerOf(const nlohmann::json& request,
                                          const std::function<void()>& on_wait);
  absl::Status TakeParameters(const nlohmann::json& described);
  absl::Status Place(const std::function<void()>& on_wait);

  const std::string name_;
  WorkerMemory memory_;
  std::unique_ptr<WorkerProcess> process_;
  std::vector<ParameterInfo> parameters_;
  bool has_layers_ = false;
  uint64_t num_floats_ = 0;
  uint64_t weights_ = 0;   // Place of the weights.
  uint64_t gradient_ = 0;  // Place of the gradient.
  uint64_t arrays_end_ = 0;
  uint64_t peak_bytes_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_PYTHON_PYTHON_WORKER_H_
