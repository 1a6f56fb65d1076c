// Counts by user of what each may have so many of at once.
#ifndef FGNN_SCHEDULER_RPC_CALLERS_USER_COUNTS_H_
#define FGNN_SCHEDULER_RPC_CALLERS_USER_COUNTS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

// Thread-safe.
class UserCounts {
 public:
  // One of a user's, which its destructor gives back.
  class Place {
   public:
    // Borrows `counts`.
    Place(UserCounts* counts, std::string user)
        : counts_(counts), user_(std::move(user)) {}
    ~Place() { counts_->GiveBack(user_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    UserCounts* const counts_;
    const std::string user_;
  };

  explicit UserCounts(int most_of_user) : most_of_user_(most_of_user) {}

  // Returns a place of this user; nullptr: the user has none left.
  std::unique_ptr<Place> Take(const std::string& user) {
    const MutexLock lock(&mutex_);
    int& count = counts_[user];
    if (count >= most_of_user_) return nullptr;
    ++count;
    return std::make_unique<Place>(this, user);
  }

 private:
  void GiveBack(const std::string& user) {
    const MutexLock lock(&mutex_);
    const auto found = counts_.find(user);
    if (--found->second == 0) counts_.erase(found);
  }

  const int most_of_user_;
  Mutex mutex_;
  std::map<std::string, int> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_CALLERS_USER_COUNTS_H_
