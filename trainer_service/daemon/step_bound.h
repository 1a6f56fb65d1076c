// How large a part of a batch may be trained to measure what a whole one takes.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_STEP_BOUND_H_
#define FGNN_TRAINER_SERVICE_DAEMON_STEP_BOUND_H_

#include <cstdint>
#include <optional>

namespace fgnn {

// A step over a batch with p times the rows and edges takes at most p times the
// memory: buffers of threads and copies of the weights do not grow. So parts of
// a batch are trained, each up to twice the one before, as long as memory holds
// what the next one can take at most. Pure.
class StepBound {
 public:
  // `likely_bytes`: a rough guess at what a whole batch takes. It decides how
  // small the first part is, of which nothing is known. `jump_bytes`: most
  // bytes that come at once with some row, such as a second partial sum.
  StepBound(uint64_t have_bytes, uint64_t likely_bytes, uint64_t jump_bytes);

  // Returns the number of parts into which to cut the batch: the first one of
  // these parts is trained next. 1: the whole batch fits. nullopt: the next
  // part may not fit.
  std::optional<uint64_t> NextParts() const;
  // Takes what the last part has taken.
  void Add(uint64_t bytes);
  // Returns about what a whole batch takes: twice the last part, or what a line
  // through the last two says, if that is more. Add() was called.
  uint64_t WholeBytes() const;

 private:
  struct Seen {
    uint64_t parts;
    uint64_t bytes;
  };
  const uint64_t have_bytes_;
  const uint64_t jump_bytes_;
  uint64_t first_parts_;
  std::optional<Seen> last_;
  std::optional<Seen> before_;  // Part of half the size.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_STEP_BOUND_H_
