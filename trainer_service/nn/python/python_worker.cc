#include "trainer_service/nn/python/python_worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "trainer_service/nn/python/trusted_code.h"

namespace fgnn {
namespace {

using nlohmann::json;

// Longest answer to a request. A worker that takes longer hangs.
constexpr std::chrono::minutes kMostPatience{10};
// A tensor of more floats is a damaged answer.
constexpr uint64_t kMostFloats = uint64_t{1} << 36;

// Returns the arguments of the class, which are those of PyTorch Geometric's
// models.
json ArgumentsOf(const ModelOptions& options) {
  return {{"in_channels", options.input_columns},
          {"hidden_channels", options.hidden},
          {"out_channels", options.num_classes},
          {"num_layers", options.layers},
          {"dropout", options.dropout}};
}

absl::StatusCode CodeNamed(const std::string& name) {
  if (name == "ABORTED") return absl::StatusCode::kAborted;
  if (name == "NOT_FOUND") return absl::StatusCode::kNotFound;
  if (name == "RESOURCE_EXHAUSTED") return absl::StatusCode::kResourceExhausted;
  return absl::StatusCode::kInvalidArgument;
}

// Returns the error of a worker that ended before its first answer.
absl::Status NotStarted(const ModelOptions& options, const std::string& end) {
  const std::string python =
      options.python.empty() ? "python3" : options.python;
  if (absl::StrContains(end, "No module named 'fgnn'") ||
      absl::StrContains(end, "No module named fgnn")) {
    return absl::FailedPreconditionError(
        absl::StrCat(python,
                     " has no package fgnn; install it there (pip install "
                     "fgnn), or name another interpreter in model.python"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(python, " -m fgnn.worker ", end,
                   "; mend that, or name another interpreter in "
                   "model.python"));
}

}  // namespace

std::string NameOfPythonModel(const ModelOptions& options) {
  return absl::StrCat("model.file ", options.file, ": ", options.class_name);
}

absl::StatusOr<std::unique_ptr<PythonWorker>> PythonWorker::Start(
    const ModelOptions& options, uint64_t seed,
    const std::function<void()>& on_wait) {
  FGNN_RETURN_IF_ERROR(CheckTrustedCode(options));
  FGNN_ASSIGN_OR_RETURN(WorkerMemory memory, WorkerMemory::Make());
  auto worker = absl::WrapUnique(
      new PythonWorker(std::move(memory), NameOfPythonModel(options)));
  FGNN_ASSIGN_OR_RETURN(
      worker->process_,
      WorkerProcess::Start(
          {.python = options.python,
           .target = absl::StrCat(options.file, ":", options.class_name),
           .memory = worker->memory_.fd()}));
  absl::StatusOr<json> described =
      worker->Ask({{"do", "describe"},
                   {"layout", kWorkerLayout},
                   {"version", FGNN_VERSION},
                   {"seed", seed},
                   {"arguments", ArgumentsOf(options)}},
                  on_wait);
  if (absl::IsUnavailable(described.status()) &&
      worker->process_->has_exited()) {
    return NotStarted(options, worker->process_->DescribeEnd());
  }
  FGNN_RETURN_IF_ERROR(described.status());
  FGNN_RETURN_IF_ERROR(worker->TakeParameters(*described));
  FGNN_RETURN_IF_ERROR(worker->Place(on_wait));
  return worker;
}

absl::Status PythonWorker::TakeParameters(const json& described) {
  const absl::Status damaged =
      absl::DataLossError(absl::StrCat(name_, ": its description is damaged"));
  try {
    for (const json& parameter : described.at("parameters")) {
      ParameterInfo info;
      info.name = parameter.at("name").get<std::string>();
      info.shape = parameter.at("shape").get<std::vector<uint64_t>>();
      info.offset = num_floats_;
      info.decay =
          info.shape.size() >= 2 && parameter.at("trained").get<bool>();
      uint64_t floats = 1;
      for (const uint64_t extent : info.shape) {
        if (extent > kMostFloats / std::max<uint64_t>(floats, 1)) {
          return damaged;
        }
        floats *= extent;
      }
      num_floats_ += floats;
      if (num_floats_ > kMostFloats) return damaged;
      parameters_.push_back(std::move(info));
    }
    has_layers_ = !described.at("layers").is_null();
  } catch (const json::exception&) {
    return damaged;
  }
  return parameters_.empty() ? damaged : absl::OkStatus();
}

absl::Status PythonWorker::Place(const std::function<void()>& on_wait) {
  ArrayPlaces places(WorkerMemory::first_place());
  weights_ = places.Add(num_floats_ * sizeof(float));
  gradient_ = places.Add(num_floats_ * sizeof(float));
  arrays_end_ = places.end();
  FGNN_RETURN_IF_ERROR(memory_.Reserve(arrays_end_));
  return Ask({{"do", "place"},
              {"weights", weights_},
              {"gradient", gradient_},
              {"count", num_floats_}},
             on_wait)
      .status();
}

absl::StatusOr<json> PythonWorker::Ask(const json& request,
                                       const std::function<void()>& on_wait) {
  FGNN_ASSIGN_OR_RETURN(json answer, AnswerOf(request, on_wait));
  try {
    peak_bytes_ =
        std::max(peak_bytes_, answer.value("peak_bytes", uint64_t{0}));
    if (!answer.contains("error")) return answer;
    return absl::Status(CodeNamed(answer.value("code", "")),
                        PrintableText(answer.value("error", "")));
  } catch (const json::exception&) {
    return absl::DataLossError(
        absl::StrCat(name_, ": its worker's answer is damaged"));
  }
}

absl::StatusOr<json> PythonWorker::AnswerOf(
    const json& request, const std::function<void()>& on_wait) {
  memory_.Send(request.dump());
  const Deadline deadline = DeadlineIn(kMostPatience);
  while (!memory_.WaitForAnswer(deadline)) {
    on_wait();
    if (process_->WaitForEnd(MonotonicClock::now())) {
      return absl::UnavailableError(
          absl::StrCat("its worker ", process_->DescribeEnd()));
    }
    if (MonotonicClock::now() < deadline) continue;
    process_->Kill();
    // Another one would hang too.
    return absl::FailedPreconditionError(absl::StrCat(
        name_, ": its worker did not answer for ", kMostPatience.count(),
        " minutes; mend what it waits for, or lower sampling.batch_size"));
  }
  FGNN_ASSIGN_OR_RETURN(const std::string text, memory_.answer());
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace fgnn
