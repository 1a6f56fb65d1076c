#include "scheduler/rpc/job_watchers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "scheduler/rpc/job_messages.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/base/user_name.h"
#include "shared/rpc/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kLongestWait{1};

std::shared_ptr<const v1::Job> MessageOfJob(const Job& job) {
  auto message = std::make_shared<v1::Job>();
  ToMessage(job, message.get());
  return message;
}

// The stream of a client that may not watch; it ends at once.
class RefusedStream final : public grpc::ServerWriteReactor<v1::Job> {
 public:
  explicit RefusedStream(const absl::Status& why) { Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

// Returns whether the job will not change any more.
bool HasEnded(const JobVersion& version) {
  return IsFinal(version.job.state) || version.change == UINT64_MAX;
}

}  // namespace

// One client's stream. gRPC calls its On… functions on gRPC's threads.
class JobWatchers::Stream final : public grpc::ServerWriteReactor<v1::Job> {
 public:
  Stream(JobWatchers* watchers, uid_t user, std::string job_id)
      : watchers_(watchers), user_(user), job_id_(std::move(job_id)) {}

  uid_t user() const { return user_; }
  const std::string& job_id() const { return job_id_; }

  // Sends `job` once the message before it is written, unless a newer one comes
  // first. With `is_last`, ends the stream after that.
  void Send(std::shared_ptr<const v1::Job> job, bool is_last) {
    Step([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      next_ = std::move(job);
      is_last_ = is_last;
    });
  }
  // Ends the stream.
  void End(const absl::Status& why) {
    Step([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { end_ = why; });
  }

  void OnWriteDone(bool ok) override {
    Step([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      writing_.reset();
      if (!ok) end_ = absl::CancelledError("the client went away");
    });
  }
  void OnCancel() override { End(absl::CancelledError("the client left")); }
  void OnDone() override {
    watchers_->Forget(*this);
    const std::shared_ptr<Stream> last = std::move(self_);
  }
  // Keeps the stream alive until gRPC is done with it.
  void KeepUntilDone(std::shared_ptr<Stream> self) { self_ = std::move(self); }

 private:
  // Makes a change under the mutex, then begins the next write or the end if
  // none is under way. gRPC is called without the mutex, since it may call back
  // at once.
  void Step(absl::FunctionRef<void()> change) {
    std::shared_ptr<const v1::Job> job;
    bool finishes = false;
    absl::Status end;
    {
      const MutexLock lock(&mutex_);
      change();
      if (writing_ != nullptr || is_finished_) return;
      if (!end_.ok()) {
        end = end_;
        is_finished_ = true;
      } else if (next_ != nullptr) {
        writing_ = job = std::move(next_);
        next_.reset();
        finishes = is_finished_ = is_last_;
      } else {
        return;
      }
    }
    if (job == nullptr) {
      Finish(ToGrpc(end));
    } else if (finishes) {
      StartWriteAndFinish(job.get(), grpc::WriteOptions(), grpc::Status::OK);
    } else {
      StartWrite(job.get());
    }
  }

  JobWatchers* const watchers_;
  const uid_t user_;
  const std::string job_id_;
  std::shared_ptr<Stream> self_;
  Mutex mutex_;
  // Message that gRPC writes; nullptr: none.
  std::shared_ptr<const v1::Job> writing_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const v1::Job> next_ ABSL_GUARDED_BY(mutex_);
  // Whether next_ is the last message.
  bool is_last_ ABSL_GUARDED_BY(mutex_) = false;
  // Whether gRPC was told of the end.
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
  // Status to end the stream with; OK: it goes on.
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
};

JobWatchers::JobWatchers(JobTable* table, WatchLimits limits)
    : table_(table), limits_(limits), thread_("watchers", [this] { Run(); }) {}

JobWatchers::~JobWatchers() { EndAll(); }

grpc::ServerWriteReactor<v1::Job>* JobWatchers::Watch(
    uid_t user, const absl::Status& check, const std::string& job_id) {
  if (!check.ok()) return new RefusedStream(check);
  const absl::StatusOr<std::shared_ptr<Stream>> stream = Open(user, job_id);
  if (!stream.ok()) return new RefusedStream(stream.status());
  return stream->get();
}

absl::StatusOr<std::shared_ptr<JobWatchers::Stream>> JobWatchers::Open(
    uid_t user, const std::string& job_id) {
  FGNN_ASSIGN_OR_RETURN(const JobVersion now, table_->Get(job_id));
  const bool has_ended = HasEnded(now);
  std::shared_ptr<Stream> stream;
  {
    const MutexLock lock(&mutex_);
    FGNN_RETURN_IF_ERROR(CheckRoomLocked(user));
    stream = std::make_shared<Stream>(this, user, now.job.id);
    stream->KeepUntilDone(stream);
    ++num_streams_;
    ++num_of_[user];
  }
  // The job is sent before the watching thread knows the stream, so that it
  // does not follow a newer state.
  stream->Send(MessageOfJob(now.job), has_ended);
  bool is_ending = false;
  {
    const MutexLock lock(&mutex_);
    is_ending = ending_;
    if (!has_ended && !is_ending) {
      WatchedJob& job =
          jobs_.try_emplace(now.job.id, WatchedJob{now.change, {}})
              .first->second;
      // Other clients may have been told of a change since the job was read.
      job.change = std::min(job.change, now.change);
      job.streams.push_back(stream);
    }
  }
  if (is_ending) stream->End(absl::UnavailableError("the service is ending"));
  changed_.NotifyAll();
  if (IsFinal(now.job.state)) table_->MarkSeen(now.job.id);
  return stream;
}

absl::Status JobWatchers::CheckRoomLocked(uid_t user) const {
  if (ending_) return absl::UnavailableError("the service is ending");
  const auto own = num_of_.find(user);
  const size_t num_own = own == num_of_.end() ? 0 : own->second;
  if (num_own < limits_.per_user && num_streams_ < limits_.in_all) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      num_own, " clients of ", UserName(user), " (at most ", limits_.per_user,
      ") and ", num_streams_, " in all (at most ", limits_.in_all,
      ") watch jobs; end some, or ask for the job now and then"));
}

void JobWatchers::Run() {
  while (true) {
    {
      MutexLock lock(&mutex_);
      changed_.WaitUntil(&lock, DeadlineIn(kLongestWait),
                         [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                           return ending_ || !jobs_.empty();
                         });
      if (ending_) return;
    }
    // This thread serves the clients of all jobs, so an exception must not end
    // it.
    const absl::Status told = CatchExceptions([&] {
      const std::map<std::string, uint64_t> seen = Seen();
      if (seen.empty()) return absl::OkStatus();
      for (const auto& [id, version] :
           table_->WaitForChanges(seen, DeadlineIn(kTick))) {
        Tell(id, version);
      }
      return absl::OkStatus();
    });
    if (told.ok()) continue;
    LogError("telling watchers: {}; goes on", MessageOf(told));
    // The pause keeps a repeated failure from spinning.
    MutexLock lock(&mutex_);
    changed_.WaitUntil(
        &lock, DeadlineIn(kLongestWait),
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_; });
  }
}

std::map<std::string, uint64_t> JobWatchers::Seen() {
  const MutexLock lock(&mutex_);
  std::map<std::string, uint64_t> seen;
  for (const auto& [id, job] : jobs_) seen.emplace(id, job.change);
  return seen;
}

void JobWatchers::Tell(const std::string& id,
                       const absl::StatusOr<JobVersion>& version) {
  std::shared_ptr<const v1::Job> message;
  if (version.ok()) message = MessageOfJob(version->job);
  const bool is_last = !version.ok() || HasEnded(*version);
  // gRPC is called without the mutex: it may call back at once.
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const MutexLock lock(&mutex_);
    const auto place = jobs_.find(id);
    if (place == jobs_.end()) return;
    // The copy may throw. Then the job counts as not told, and the next round
    // tells it.
    streams = place->second.streams;
    if (version.ok()) place->second.change = version->change;
    if (is_last) jobs_.erase(place);
  }
  for (const std::shared_ptr<Stream>& stream : streams) {
    if (version.ok()) {
      stream->Send(message, is_last);
    } else {
      stream->End(version.status());
    }
  }
  if (version.ok() && is_last) table_->MarkSeen(id);
}

void JobWatchers::Forget(const Stream& stream) {
  const MutexLock lock(&mutex_);
  --num_streams_;
  if (--num_of_[stream.user()] == 0) num_of_.erase(stream.user());
  const auto job = jobs_.find(stream.job_id());
  if (job == jobs_.end()) return;
  std::erase_if(job->second.streams, [&](const std::shared_ptr<Stream>& other) {
    return other.get() == &stream;
  });
  if (job->second.streams.empty()) jobs_.erase(job);
}

void JobWatchers::EndAll() {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const MutexLock lock(&mutex_);
    ending_ = true;
    for (const auto& [id, job] : jobs_) {
      streams.insert(streams.end(), job.streams.begin(), job.streams.end());
    }
  }
  for (const std::shared_ptr<Stream>& stream : streams) {
    stream->End(absl::UnavailableError("the service is ending"));
  }
  changed_.NotifyAll();
  thread_.Join();
}

}  // namespace fgnn
