// Shows the progress of a long command: as a bar on a terminal, elsewhere as
// plain lines.
#ifndef FGNN_TOOLS_DATASET_BUILDING_PROGRESS_H_
#define FGNN_TOOLS_DATASET_BUILDING_PROGRESS_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "shared/base/clock.h"

namespace fgnn {

// Reports the stage, and how much of it is done of how much in all (0: not
// known). Called from one thread at a time.
using ProgressCallback =
    std::function<void(std::string_view stage, uint64_t done, uint64_t total)>;

// Prints at most ten times a second on a terminal. Elsewhere it prints a line
// when a stage begins, every few seconds, and when it ends. Not thread-safe.
class ProgressPrinter {
 public:
  // `out` is borrowed.
  explicit ProgressPrinter(std::FILE* out);
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;
  ~ProgressPrinter();

  void Show(std::string_view stage, uint64_t done, uint64_t total);
  // Removes the bar, so that other output can follow.
  void Clear();

 private:
  void DrawBar(uint64_t done, uint64_t total);
  void PrintLine(uint64_t done, uint64_t total);

  std::FILE* out_;
  bool terminal_;
  bool drawn_ = false;
  std::string stage_;
  Stopwatch since_stage_;
  Stopwatch since_shown_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_PROGRESS_H_
