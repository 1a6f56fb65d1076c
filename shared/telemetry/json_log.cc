#include "shared/telemetry/json_log.h"

#include <fmt/chrono.h>
#include <spdlog/formatter.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>

#include "nlohmann/json.hpp"
#include "shared/base/json_text.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Takes `prefix` off the beginning of `text`. Returns false if it is not there.
bool Consume(std::string_view prefix, std::string_view& text) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Returns the batch that a message of "job ID: batch N" names.
std::optional<uint64_t> BatchIn(std::string_view text, std::string_view job) {
  uint64_t batch = 0;
  if (!Consume("job ", text) || !Consume(job, text) ||
      !Consume(": batch ", text)) {
    return std::nullopt;
  }
  const auto read =
      std::from_chars(text.data(), text.data() + text.size(), batch);
  if (read.ec != std::errc()) return std::nullopt;
  return batch;
}

std::string_view WordOf(spdlog::level::level_enum level) {
  const spdlog::string_view_t word = spdlog::level::to_string_view(level);
  return {word.data(), word.size()};
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& line,
              spdlog::memory_buf_t& out) override {
    const std::string text = JsonLogLine(
        line.time, WordOf(line.level),
        std::string_view(line.logger_name.data(), line.logger_name.size()),
        LogJob::Current(),
        std::string_view(line.payload.data(), line.payload.size()));
    out.append(text);
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

void LogAsJson() {
  spdlog::default_logger()->set_formatter(std::make_unique<JsonFormatter>());
}

std::string LogTime(int64_t unix_ms) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(unix_ms / 1000),
                     unix_ms % 1000);
}

std::string JsonLogLine(std::chrono::system_clock::time_point time,
                        std::string_view level, std::string_view process,
                        std::string_view job, std::string_view message) {
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(
          time.time_since_epoch())
          .count();
  nlohmann::ordered_json line = {
      {"time", LogTime(milliseconds)}, {"level", level}, {"process", process}};
  if (!job.empty()) {
    line["job"] = job;
    const std::optional<uint64_t> batch = BatchIn(message, job);
    if (batch.has_value()) line["batch"] = *batch;
  }
  line["message"] = message;
  return JsonText(line);
}

}  // namespace fgnn
