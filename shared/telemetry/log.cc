#include "shared/telemetry/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "shared/base/printable_text.h"
#include "shared/base/threads/mutex.h"
#include "shared/telemetry/log_level.h"

namespace fgnn {
namespace {

thread_local const LogJob* innermost = nullptr;

struct ProcessJob {
  Mutex mutex;
  std::string id ABSL_GUARDED_BY(mutex);
};

// It is never destroyed: threads may log while the program ends.
ProcessJob& TheProcessJob() {
  static auto* const job = new ProcessJob;
  return *job;
}

// Writes the field of the line's job and a blank; nothing if there is none.
class JobField final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg&, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string job = LogJob::Current();
    if (!job.empty()) out.append("job=" + job + " ");
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<JobField>();
  }
};

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void InitLog(std::string_view process_name) {
  auto logger = std::make_shared<spdlog::logger>(
      std::string(process_name),
      std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>(
      spdlog::pattern_time_type::utc);
  formatter->add_flag<JobField>('*').set_pattern(
      "%Y-%m-%dT%H:%M:%S.%eZ %L %*%n: %v");
  logger->set_formatter(std::move(formatter));
  // Every line is flushed: the last line of a killed process matters most.
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void SetLeastLogLevel(LogLevel level) {
  spdlog::default_logger()->set_level(ToSpdlog(level));
}

LogJob::LogJob(std::string job_id)
    : job_id_(std::move(job_id)), before_(std::exchange(innermost, this)) {}

LogJob::~LogJob() { innermost = before_; }

std::string LogJob::Current() {
  if (innermost != nullptr) return innermost->job_id_;
  ProcessJob& job = TheProcessJob();
  const MutexLock lock(&job.mutex);
  return job.id;
}

void SetLogJob(std::string job_id) {
  ProcessJob& job = TheProcessJob();
  const MutexLock lock(&job.mutex);
  job.id = std::move(job_id);
}

void LogLine(LogLevel level, std::string_view message) {
  spdlog::default_logger_raw()->log(ToSpdlog(level), PrintableText(message));
}

}  // namespace fgnn
