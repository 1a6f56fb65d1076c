// trace.json of a run's folder: when each batch was sampled and trained, and by
// which executor. chrome://tracing and https://ui.perfetto.dev show it. Each
// event is a line. The file grows while the job runs, and viewers can read it
// meanwhile.
#ifndef FGNN_SCHEDULER_FILES_RUN_TIMELINE_H_
#define FGNN_SCHEDULER_FILES_RUN_TIMELINE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/files/held_lines.h"
#include "shared/base/types.h"
#include "shared/queue/gradient_board.h"

namespace fgnn {

inline constexpr char kTimelineName[] = "trace.json";

// Not thread-safe.
class RunTimeline {
 public:
  // Opens the file in the run's folder, or makes it. Goes on after the last
  // event of a batch before `next_seq`; later events are cut off. Times count
  // from `started_ms`, a Unix time in milliseconds.
  static absl::StatusOr<RunTimeline> Open(const HeldFolder& folder,
                                          int64_t started_ms,
                                          BatchSeq next_seq);

  // Numbers in the job of a batch's executors: sampler.<sampler>,
  // trainer.<trainer>.
  struct Executors {
    uint32_t sampler = 0;
    uint32_t trainer = 0;
  };
  // Adds a batch; batches come in the order of their seqs. Write() puts them on
  // disk, in the same folder. After an error they are held for the next call of
  // Write().
  void Add(const BatchRecord& record, Executors executors);
  // Another host, and the clock of its records.
  struct OtherHost {
    std::string name;
    uint32_t index = 0;  // Index among the hosts of the job.
    // Unix seconds, by this host's clock, at which the records' clock was 0.
    double clock_start = 0;
  };
  // Adds a batch that another host sampled and trained. The rows are of the
  // host's samplers together, and of its trainers together: the record does not
  // say which of them.
  void AddOf(const OtherHost& host, const BatchRecord& record);
  // Notes that the epoch (from 1) ended now, with batch `last_seq`.
  void EndEpoch(uint32_t epoch, BatchSeq last_seq);
  absl::Status Write(const HeldFolder& folder);
  size_t held_bytes() const { return lines_.held_bytes(); }
  // Writes the end, which makes the file a whole JSON document. Nothing may be
  // added after that.
  absl::Status Close(const HeldFolder& folder);

 private:
  struct Span {
    bool trains = false;
    std::string executor;    // Name of the executor.
    uint32_t first_row = 0;  // First one of the executor's rows.
    BatchSeq seq;
    uint32_t part = 0;
    double end = 0;  // Time of the end, in seconds since the start.
    double seconds = 0;
    uint64_t remote_rows = 0;  // Number of rows that other hosts sent.
  };
  RunTimeline(double started_seconds, double zero_seconds)
      : lines_(kTimelineName),
        started_seconds_(started_seconds),
        zero_seconds_(zero_seconds) {}
  static std::string NameOf(const char* what, const Span& span);
  void AddSpan(const Span& span);
  void AddEvent(const std::string& event);

  HeldLines lines_;
  double started_seconds_;  // Unix seconds from which times count.
  // Seconds of the monotonic clock from which times count.
  double zero_seconds_;
  std::string text_;  // Events that are not passed on to lines_ yet.
  // End of the last span on each row. Overlapping spans of an executor's
  // threads are on rows of their own.
  std::map<uint32_t, double> row_ends_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_FILES_RUN_TIMELINE_H_
