// The worker of a model, and the next one where a worker died.
#ifndef FGNN_TRAINER_SERVICE_NN_PYTHON_PYTHON_SESSION_H_
#define FGNN_TRAINER_SERVICE_NN_PYTHON_PYTHON_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/threads/mutex.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/python/python_worker.h"

namespace fgnn {

// Thread-safe: one piece of work at a time.
class PythonSession {
 public:
  // Work of a worker. It is done again by another one if it returns
  // Unavailable, so it is a pure function that uses only what a worker
  // answered.
  using Work = absl::FunctionRef<absl::Status(PythonWorker&)>;

  // `on_wait`: see PythonWorker::Start(), whose errors it returns.
  static absl::StatusOr<std::unique_ptr<PythonSession>> Start(
      const ModelOptions& options, uint64_t seed,
      std::function<void()> on_wait);

  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  const std::vector<float>& first_weights() const { return first_weights_; }
  bool has_layers() const { return has_layers_; }
  const std::function<void()>& on_wait() const { return on_wait_; }

  // Does the work with weights [P]. `key` names their values if it is not 0:
  // with the key of the work before they are not copied again.
  // FailedPrecondition: three workers died of it. Otherwise returns the errors
  // of the work, and of starting a worker.
  absl::Status Run(uint64_t key, absl::Span<const float> weights, Work work);
  // Returns a key that no caller has.
  uint64_t NewKey();

  // Returns the most memory that a worker had.
  uint64_t peak_bytes() const;

 private:
  PythonSession(const ModelOptions& options, uint64_t seed,
                std::function<void()> on_wait);

  absl::Status RunOnce(uint64_t key, absl::Span<const float> weights, Work work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StartWorker() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ModelOptions options_;
  const uint64_t seed_;
  const std::function<void()> on_wait_;
  std::vector<ParameterInfo> parameters_;
  std::vector<float> first_weights_;
  bool has_layers_ = false;

  mutable Mutex mutex_;
  std::unique_ptr<PythonWorker> worker_ ABSL_GUARDED_BY(mutex_);
  // Key of the weights that the worker has; 0: of no key.
  uint64_t key_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_key_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t peak_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // CRC32C of the file when the first worker started.
  uint32_t code_crc32c_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_PYTHON_PYTHON_SESSION_H_
