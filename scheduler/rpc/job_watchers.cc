#include "scheduler/rpc/job_watchers.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "fgnn/v1/job_service.pb.h"
#include "scheduler/rpc/callers/user_calls.h"
#include "scheduler/rpc/job_messages.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/base/user_name.h"
#include "shared/rpc/refused_call.h"
#include "shared/rpc/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kLongestWait{1};

using WatchMessage = std::shared_ptr<const grpc::ByteBuffer>;

// Returns the bytes of the job, which all of its streams share.
WatchMessage MessageOfJob(const Job& job) {
  v1::Job message;
  ToMessage(job, &message);
  const grpc::Slice bytes(message.SerializeAsString());
  return std::make_shared<const grpc::ByteBuffer>(&bytes, 1);
}

// Returns whether the job will not change any more.
bool HasEnded(const JobVersion& version) {
  return IsFinal(version.job.state) || version.change == UINT64_MAX;
}

}  // namespace

// One client's stream. gRPC calls its On… functions on gRPC's threads.
class JobWatchers::Stream final : public grpc::ServerGenericBidiReactor {
 public:
  Stream(JobWatchers* watchers, AdmittedCall call)
      : watchers_(watchers), call_(std::move(call)) {}

  const Caller& caller() const { return call_.caller; }
  const std::string& job_id() const { return job_id_; }
  void set_job_id(const std::string& job_id) { job_id_ = job_id; }

  // Keeps the stream alive until gRPC is done with it, and reads the request.
  void Start(std::shared_ptr<Stream> self) {
    self_ = std::move(self);
    StartRead(&request_);
  }
  // Sends `job` once the message before it is written, unless a newer one comes
  // first. With `is_last`, ends the stream after that.
  void Send(WatchMessage job, bool is_last) {
    Step([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      next_ = std::move(job);
      is_last_ = is_last;
    });
  }
  // Ends the stream.
  void End(const absl::Status& why) {
    Step([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { end_ = why; });
  }

  void OnReadDone(bool ok) override {
    // gRPC's thread is not to see an exception.
    const absl::Status joined = CatchExceptions([&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const auto request,
                            ParseRequest<v1::WatchJobRequest>(ok, request_));
      return watchers_->Join(self_, request.job_id());
    });
    if (!joined.ok()) End(joined);
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

 private:
  // Makes a change under the mutex, then begins the next write or the end if
  // none is under way. gRPC is called without the mutex, since it may call back
  // at once.
  void Step(absl::FunctionRef<void()> change) {
    WatchMessage job;
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
  const AdmittedCall call_;
  grpc::ByteBuffer request_;
  std::string job_id_;  // Whole id; empty until the stream has joined.
  std::shared_ptr<Stream> self_;
  Mutex mutex_;
  // Message that gRPC writes; nullptr: none.
  WatchMessage writing_ ABSL_GUARDED_BY(mutex_);
  WatchMessage next_ ABSL_GUARDED_BY(mutex_);
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

grpc::ServerGenericBidiReactor* JobWatchers::Watch(AdmittedCall call) {
  const auto stream = std::make_shared<Stream>(this, std::move(call));
  const uid_t user = stream->caller().uid;
  {
    const MutexLock lock(&mutex_);
    const absl::Status room = CheckRoomLocked(user);
    if (!room.ok()) return new RefusedCall(room);
    ++num_streams_;
    ++num_of_[user];
  }
  stream->Start(stream);
  return stream.get();
}

absl::Status JobWatchers::Join(const std::shared_ptr<Stream>& stream,
                               const std::string& word) {
  FGNN_ASSIGN_OR_RETURN(const JobVersion now,
                        table_->Get(word, stream->caller().name));
  const bool has_ended = HasEnded(now);
  // The job is sent before the watching thread knows the stream, so that it
  // does not follow a newer state.
  stream->set_job_id(now.job.id);
  stream->Send(MessageOfJob(now.job), has_ended);
  {
    const MutexLock lock(&mutex_);
    if (ending_) return absl::UnavailableError("the service is ending");
    if (!has_ended) {
      WatchedJob& job =
          jobs_.try_emplace(now.job.id, WatchedJob{now.change, {}})
              .first->second;
      // Other clients may have been told of a change since the job was read.
      job.change = std::min(job.change, now.change);
      job.streams.push_back(stream);
    }
  }
  changed_.NotifyAll();
  if (IsFinal(now.job.state)) table_->MarkSeen(now.job.id);
  return absl::OkStatus();
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
  WatchMessage message;
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
  const uid_t user = stream.caller().uid;
  if (--num_of_[user] == 0) num_of_.erase(user);
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
