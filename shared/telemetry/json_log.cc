#include "shared/telemetry/json_log.h"

#include <fmt/chrono.h>
#include <spdlog/formatter.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>

#include "nlohmann/json.hpp"
#include "shared/base/json_text.h"

namespace fgnn {
namespace {

// Takes `prefix` off the beginning of `text`. Returns false if it is not there.
bool Consume(std::string_view prefix, std::string_view& text) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Takes a job's id off the beginning; "": there is none.
std::string_view ConsumeJob(std::string_view& text) {
  if (!Consume("job ", text)) return "";
  const size_t size = std::min(text.find_first_of(": "), text.size());
  const std::string_view id = text.substr(0, size);
  // An id begins with the date of its submission.
  if (id.empty() || id.front() < '0' || id.front() > '9') return "";
  text.remove_prefix(size);
  return id;
}

std::optional<uint64_t> ConsumeBatch(std::string_view& text) {
  uint64_t batch = 0;
  if (!Consume(": batch ", text)) return std::nullopt;
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

std::string JsonLogLine(std::chrono::system_clock::time_point time,
                        std::string_view level, std::string_view process,
                        std::string_view message) {
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(
          time.time_since_epoch())
          .count();
  nlohmann::ordered_json line = {
      {"time",
       fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                   fmt::gmtime(milliseconds / 1000), milliseconds % 1000)},
      {"level", level},
      {"process", process}};
  std::string_view text = message;
  const std::string_view job = ConsumeJob(text);
  if (!job.empty()) {
    line["job"] = job;
    const std::optional<uint64_t> batch = ConsumeBatch(text);
    if (batch.has_value()) line["batch"] = *batch;
  }
  line["message"] = message;
  return JsonText(line);
}

}  // namespace fgnn
