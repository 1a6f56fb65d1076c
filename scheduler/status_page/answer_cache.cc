#include "scheduler/status_page/answer_cache.h"

#include <algorithm>
#include <chrono>

namespace fgnn {
namespace {

// Slightly less than the time between two requests of a viewer, so that each
// request of a single viewer gets news.
constexpr std::chrono::milliseconds kKeptFor{900};
constexpr int kTimesOfMaking = 50;

}  // namespace

HttpResponse AnswerCache::Get(const std::string& key,
                              absl::FunctionRef<HttpResponse()> make) {
  const MutexLock lock(&mutex_);
  const Deadline begin = clock_();
  const auto found = kept_.find(key);
  if (found != kept_.end() && begin < found->second.until) {
    return found->second.answer;
  }
  HttpResponse answer = make();
  const Deadline end = clock_();
  const MonotonicClock::duration kept_for = std::max<MonotonicClock::duration>(
      kKeptFor, kTimesOfMaking * (end - begin));
  kept_[key] = {answer, end + kept_for};
  if (kept_.size() > most_answers_) DropOne();
  return answer;
}

void AnswerCache::DropOne() {
  kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                               [](const auto& one, const auto& other) {
                                 return one.second.until < other.second.until;
                               }));
}

}  // namespace fgnn
