// Keeps answers for a while, so that many viewers cost as much as one.
#ifndef FGNN_SCHEDULER_STATUS_PAGE_ANSWER_CACHE_H_
#define FGNN_SCHEDULER_STATUS_PAGE_ANSWER_CACHE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"
#include "shared/http/http_handler.h"

namespace fgnn {

// Thread-safe.
class AnswerCache {
 public:
  // Keeps at most `most_answers`; the one that is due first goes first. `clock`
  // tells the time.
  explicit AnswerCache(size_t most_answers,
                       std::function<Deadline()> clock = MonotonicClock::now)
      : most_answers_(most_answers), clock_(std::move(clock)) {}

  // Returns the answer that `make` gave for the key less than a second ago, or
  // calls `make`. An answer that took long to make is kept for fifty times as
  // long, so that all viewers together take at most 2 % of a core. Threads that
  // ask meanwhile wait.
  HttpResponse Get(const std::string& key,
                   absl::FunctionRef<HttpResponse()> make);

 private:
  struct Kept {
    HttpResponse answer;
    Deadline until;
  };
  void DropOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_answers_;
  const std::function<Deadline()> clock_;
  Mutex mutex_;
  std::map<std::string, Kept> kept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STATUS_PAGE_ANSWER_CACHE_H_
