#include "scheduler/figures/run_metrics.h"

#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "shared/base/files/file_lines.h"
#include "shared/base/status.h"
#include "shared/measured/score_fields.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Most bytes of a line, which has about 1 KiB. The folder is the user's, so the
// file may hold anything.
constexpr size_t kMaxLineBytes = 1 << 20;

// Returns the scores in the line with this number of its epoch.
absl::StatusOr<Scores> ParseMetricsLine(std::string_view text, uint32_t epoch) {
  const auto line = nlohmann::json::parse(text, nullptr,
                                          /*allow_exceptions=*/false);
  bool is_sound =
      line.is_object() && line.value("epoch", nlohmann::json()) == epoch;
  Scores scores;
  for (const ScoreField& field : AllScoreFields()) {
    const auto found = line.find(absl::StrCat("valid_", field.key));
    if (!is_sound || found == line.end() || !field.is_of_best) continue;
    is_sound = found->is_null() || found->is_number();
    if (found->is_number()) scores.*field.score = found->get<double>();
  }
  if (is_sound) return scores;
  return absl::DataLossError(absl::StrCat("is not of epoch ", epoch));
}

}  // namespace

absl::StatusOr<uint64_t> ReadMetrics(
    const fs::path& run_dir, absl::FunctionRef<void(const Scores&)> add) {
  const fs::path path = run_dir / kMetricsName;
  absl::StatusOr<FileLines> file = FileLines::Open(path, kMaxLineBytes);
  if (absl::IsNotFound(file.status())) return uint64_t{0};
  FGNN_RETURN_IF_ERROR(file.status());
  uint64_t bytes = 0;
  for (uint32_t epoch = 1;; ++epoch) {
    const auto text = file->Next();
    // The file ends here, or its last line was cut off.
    if (text.ok() && (!text->has_value() || !file->is_whole())) return bytes;
    const absl::StatusOr<Scores> scores =
        text.ok() ? ParseMetricsLine(**text, epoch) : text.status();
    if (!scores.ok()) {
      return absl::DataLossError(absl::StrCat(path.string(), ":", epoch, ": ",
                                              scores.status().message()));
    }
    add(*scores);
    bytes += (*text)->size() + 1;
  }
}

absl::StatusOr<std::vector<std::string>> ReadMetricsLines(
    const fs::path& run_dir, uint32_t after_epoch, size_t enough_bytes) {
  const fs::path path = run_dir / kMetricsName;
  std::vector<std::string> lines;
  std::error_code error;
  if (!fs::exists(path, error) && !error) return lines;
  FGNN_ASSIGN_OR_RETURN(FileLines file, FileLines::Open(path, kMaxLineBytes));
  size_t bytes = 0;
  for (uint32_t epoch = 1; bytes < enough_bytes; ++epoch) {
    FGNN_ASSIGN_OR_RETURN(const auto line, file.Next());
    // A line without its end is still being written.
    if (!line.has_value() || !file.is_whole()) break;
    if (epoch <= after_epoch) continue;
    bytes += line->size();
    lines.emplace_back(*line);
  }
  return lines;
}

}  // namespace fgnn
