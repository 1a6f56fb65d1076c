#include "trainer_service/nn/python/python_session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

absl::StatusOr<uint32_t> Crc32cOf(const std::string& file) {
  FGNN_ASSIGN_OR_RETURN(const MappedFile code, MappedFile::Open(file));
  return ExtendCrc32c(0, code.bytes().data(), code.bytes().size());
}

// Workers that may die of one piece of work.
constexpr int kMostDeaths = 3;

bool HaveSameShapes(const std::vector<ParameterInfo>& parameters,
                    const std::vector<ParameterInfo>& others) {
  return std::equal(parameters.begin(), parameters.end(), others.begin(),
                    others.end(),
                    [](const ParameterInfo& one, const ParameterInfo& other) {
                      return one.name == other.name && one.shape == other.shape;
                    });
}

}  // namespace

PythonSession::PythonSession(const ModelOptions& options, uint64_t seed,
                             std::function<void()> on_wait)
    : options_(options), seed_(seed), on_wait_(std::move(on_wait)) {}

absl::StatusOr<std::unique_ptr<PythonSession>> PythonSession::Start(
    const ModelOptions& options, uint64_t seed, std::function<void()> on_wait) {
  auto session =
      absl::WrapUnique(new PythonSession(options, seed, std::move(on_wait)));
  FGNN_RETURN_IF_ERROR(session->Run(
      /*key=*/0, {}, [&session](PythonWorker& worker) {
        session->parameters_ = worker.parameters();
        session->has_layers_ = worker.has_layers();
        const absl::Span<const float> weights = worker.weights();
        session->first_weights_.assign(weights.begin(), weights.end());
        return absl::OkStatus();
      }));
  return session;
}

absl::Status PythonSession::StartWorker() {
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<PythonWorker> worker,
                        PythonWorker::Start(options_, seed_, on_wait_));
  FGNN_ASSIGN_OR_RETURN(const uint32_t code, Crc32cOf(options_.file));
  // Batches before and behind a death would be of different functions.
  const bool is_first = parameters_.empty();
  if (!is_first && (code != code_crc32c_ ||
                    !HaveSameShapes(worker->parameters(), parameters_))) {
    return absl::InvalidArgumentError(absl::StrCat(
        NameOfPythonModel(options_),
        " has changed since the job began; put it back, and leave it alone "
        "while a job trains"));
  }
  code_crc32c_ = code;
  key_ = 0;
  worker_ = std::move(worker);
  return absl::OkStatus();
}

absl::Status PythonSession::RunOnce(uint64_t key,
                                    absl::Span<const float> weights,
                                    Work work) {
  if (worker_ == nullptr) FGNN_RETURN_IF_ERROR(StartWorker());
  if (!weights.empty() && (key == 0 || key != key_)) {
    std::copy(weights.begin(), weights.end(), worker_->weights().begin());
    key_ = key;
  }
  const absl::Status done = work(*worker_);
  peak_bytes_ = std::max(peak_bytes_, worker_->peak_bytes());
  return done;
}

absl::Status PythonSession::Run(uint64_t key, absl::Span<const float> weights,
                                Work work) {
  const MutexLock lock(&mutex_);
  absl::Status done;
  for (int death = 1; death <= kMostDeaths; ++death) {
    done = RunOnce(key, weights, work);
    if (!absl::IsUnavailable(done)) return done;
    worker_.reset();
    LogWarning("{}: {}; what it did is done again by another worker",
               NameOfPythonModel(options_), MessageOf(done));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      NameOfPythonModel(options_), ": ", MessageOf(done), ", and so did ",
      kMostDeaths - 1,
      " others before it; if memory is short, lower sampling.batch_size, else "
      "see its last lines in the trainer's log"));
}

uint64_t PythonSession::NewKey() {
  const MutexLock lock(&mutex_);
  return ++last_key_;
}

uint64_t PythonSession::peak_bytes() const {
  const MutexLock lock(&mutex_);
  return peak_bytes_;
}

}  // namespace fgnn
