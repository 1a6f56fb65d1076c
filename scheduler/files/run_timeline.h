// trace.json of a run's folder: what was sampled and trained when, and by whom,
// as chrome://tracing and https://ui.perfetto.dev show it. An event a line.
// It grows while the job runs; viewers can read it then, too.
#ifndef FGNN_SCHEDULER_FILES_RUN_TIMELINE_H_
#define FGNN_SCHEDULER_FILES_RUN_TIMELINE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/files/held_lines.h"
#include "shared/queue/gradient_board.h"

namespace fgnn {

inline constexpr char kTimelineName[] = "trace.json";

// Not thread-safe.
class RunTimeline {
 public:
  // Goes on with the file in `run_dir` behind its last event of a batch before
  // `next_seq`, or makes it. Times count from `started_ms`, a Unix time.
  static absl::StatusOr<RunTimeline> Open(const std::filesystem::path& run_dir,
                                          int64_t started_ms,
                                          uint64_t next_seq);

  // By their numbers: sampler.<sampler>, trainer.<trainer>.
  struct Executors {
    uint32_t sampler = 0;
    uint32_t trainer = 0;
  };
  // In the order of their seqs. Write() puts them on disk; after an error they
  // are held for the next call.
  void Add(const BatchRecord& record, Executors executors);
  // The epoch (from 0) ended now, with this batch.
  void EndEpoch(uint32_t epoch, uint64_t last_seq);
  absl::Status Write();
  size_t held_bytes() const { return lines_.held_bytes(); }
  // And no more: makes it one JSON document.
  absl::Status Close();

 private:
  struct Span {
    bool trains = false;
    uint32_t executor = 0;
    uint64_t seq = 0;
    uint64_t end_ns = 0;
    double seconds = 0;
  };
  RunTimeline(std::filesystem::path path, double zero_seconds)
      : lines_(std::move(path)), zero_seconds_(zero_seconds) {}
  void AddSpan(const Span& span);
  void AddEvent(const std::string& event);

  HeldLines lines_;
  double zero_seconds_;  // Of the monotonic clock: where times count from.
  std::string text_;     // Not on disk yet.
  // Of each row: when its last span ends. An executor's spans that overlap,
  // of its threads, are on rows of their own.
  std::map<uint32_t, double> row_ends_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_TIMELINE_H_
