#include "scheduler/files/run_timeline.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "shared/base/clock.h"
#include "shared/base/files/file.h"
#include "shared/base/files/file_lines.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/telemetry/chrome_trace.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kBegin[] = "[\n";
constexpr char kBetween[] = ",\n";
constexpr char kEnd[] = "\n]\n";
// Most bytes of an event, which has about 200. The folder is the user's, so the
// file may hold anything.
constexpr size_t kMaxLineBytes = 1 << 16;
// Most rows of one executor. Spans of further threads overlap in the last row.
constexpr uint32_t kMostRows = 16;

// Returns whether this line of Write() is whole and of a batch below
// `next_seq`, so that it stays.
bool Stays(const std::string& line, BatchSeq next_seq) {
  const auto event = nlohmann::json::parse(line, nullptr,
                                           /*allow_exceptions=*/false);
  if (!event.is_object()) return false;
  const auto args = event.find("args");
  if (args == event.end() || !args->is_object()) return false;
  const auto batch = args->find("batch");
  return batch == args->end() ||
         (batch->is_number_unsigned() && *batch < next_seq.value());
}

// Returns the bytes of the file that stay, without the comma after them; 0:
// none.
absl::StatusOr<uint64_t> FindEnd(const fs::path& path, BatchSeq next_seq) {
  std::error_code error;
  if (!fs::exists(path, error) && !error) return 0;
  FGNN_ASSIGN_OR_RETURN(FileLines file, FileLines::Open(path, kMaxLineBytes));
  FGNN_ASSIGN_OR_RETURN(auto line, file.Next());
  uint64_t end = 0;
  uint64_t read = sizeof(kBegin) - 1;
  if (line != "[") return end;
  while (true) {
    FGNN_ASSIGN_OR_RETURN(line, file.Next());
    if (!line.has_value()) return end;
    const auto event = std::string(
        absl::StripSuffix(absl::string_view(line->data(), line->size()), ","));
    if (!Stays(event, next_seq)) return end;
    end = read + event.size();
    read += line->size() + 1;
  }
}

// Cuts off what does not stay, or makes the file.
absl::Status Prepare(const fs::path& path, const std::string& title,
                     BatchSeq next_seq) {
  FGNN_ASSIGN_OR_RETURN(const uint64_t end, FindEnd(path, next_seq));
  if (end == 0) {
    return WriteFileAtomically(path, absl::StrCat(kBegin, TraceTitle(title)));
  }
  FGNN_ASSIGN_OR_RETURN(const UniqueFd file, OpenPlainFile(path, O_WRONLY));
  if (::ftruncate(file.get(), static_cast<off_t>(end)) != 0) {
    return ErrnoToStatus(errno, path.string());
  }
  return absl::OkStatus();
}

// Returns the number of the first row of an executor.
uint32_t FirstRow(uint32_t number, bool trains) {
  return (2 * number + (trains ? 1 : 0)) * kMostRows;
}
// More rows than the executors of one host have.
constexpr uint32_t kRowsOfHost = uint32_t{1} << 22;

double UnixSeconds() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

double SecondsOf(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

}  // namespace

absl::StatusOr<RunTimeline> RunTimeline::Open(const HeldFolder& folder,
                                              int64_t started_ms,
                                              BatchSeq next_seq) {
  const double started = static_cast<double>(started_ms) * 1e-3;
  RunTimeline timeline(
      started, SecondsOf(MonotonicNanoseconds()) - (UnixSeconds() - started));
  FGNN_RETURN_IF_ERROR(folder.Named(
      Prepare(folder.path() / kTimelineName,
              absl::StrCat("fgnn run ", folder.name().string()), next_seq)));
  return timeline;
}

void RunTimeline::AddEvent(const std::string& event) {
  absl::StrAppend(&text_, kBetween, event);
}

std::string RunTimeline::NameOf(const char* what, const Span& span) {
  std::string name = absl::StrCat(what, " ", span.seq.value());
  if (span.part > 0) absl::StrAppend(&name, ".", span.part);
  return name;
}

void RunTimeline::AddSpan(const Span& span) {
  const double end = span.end;
  const double begin = end - span.seconds;
  const uint32_t first = span.first_row;
  uint32_t row = first;
  while (row + 1 < first + kMostRows) {
    const auto busy = row_ends_.find(row);
    if (busy == row_ends_.end() || busy->second <= begin) break;
    ++row;
  }
  if (row_ends_.insert_or_assign(row, end).second) {
    std::string name = span.executor;
    if (row > first) absl::StrAppend(&name, " (", row - first + 1, ")");
    AddEvent(TraceRow(row, name));
  }
  const char* const what = span.trains ? "train" : "sample";
  AddEvent(ToText(TraceSpan{.row = row,
                            .name = NameOf(what, span),
                            .category = what,
                            .batch = span.seq.value(),
                            .begin_seconds = begin,
                            .end_seconds = end,
                            .remote_rows = span.remote_rows}));
}

void RunTimeline::Add(const BatchRecord& record, Executors executors) {
  const BatchSeq seq(record.seq_plus_one - 1);
  if (record.part == 0) {  // The parts of a batch are sampled at once.
    AddSpan({.trains = false,
             .executor = absl::StrCat("sampler.", executors.sampler),
             .first_row = FirstRow(executors.sampler, /*trains=*/false),
             .seq = seq,
             .end = SecondsOf(record.sampled_ns) - zero_seconds_,
             // Splitting counts the writing of the batch before.
             .seconds = record.sampling_seconds() - double{record.split}});
  }
  AddSpan({.trains = true,
           .executor = absl::StrCat("trainer.", executors.trainer),
           .first_row = FirstRow(executors.trainer, /*trains=*/true),
           .seq = seq,
           .part = record.part,
           .end = SecondsOf(record.trained_ns) - zero_seconds_,
           // A part waits for others while it is trained.
           .seconds = double{record.train} + double{record.shuffle},
           .remote_rows = record.num_remote});
}

void RunTimeline::AddOf(const OtherHost& host, const BatchRecord& record) {
  const BatchSeq seq(record.seq_plus_one - 1);
  const double zero = started_seconds_ - host.clock_start;
  const uint32_t first = (host.index + 1) * kRowsOfHost;
  AddSpan({.trains = false,
           .executor = absl::StrCat(host.name, "/sampler"),
           .first_row = first + FirstRow(0, /*trains=*/false),
           .seq = seq,
           .end = SecondsOf(record.sampled_ns) - zero,
           .seconds = record.sampling_seconds()});
  AddSpan({.trains = true,
           .executor = absl::StrCat(host.name, "/trainer"),
           .first_row = first + FirstRow(0, /*trains=*/true),
           .seq = seq,
           .end = SecondsOf(record.trained_ns) - zero,
           .seconds = double{record.train},
           .remote_rows = record.num_remote});
}

void RunTimeline::EndEpoch(uint32_t epoch, BatchSeq last_seq) {
  AddEvent(ToText(
      TraceMark{.name = absl::StrCat("end of epoch ", epoch),
                .seconds = SecondsOf(MonotonicNanoseconds()) - zero_seconds_,
                .batch = last_seq.value()}));
}

absl::Status RunTimeline::Write(const HeldFolder& folder) {
  lines_.Add(std::exchange(text_, std::string()));
  return lines_.Write(folder);
}

absl::Status RunTimeline::Close(const HeldFolder& folder) {
  text_ += kEnd;
  return Write(folder);
}

}  // namespace fgnn
