// Watches a job from many connections at once until its standard input ends.
// Prints a line once each client has its first answer, and a JSON line of what
// became of them for each byte of its input. For the campaign's row watchers.
//
//   watch_clients STATE_DIR JOB CLIENTS
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "fgnn/v1/job_service.grpc.pb.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/channel.h"

namespace fgnn {
namespace {

constexpr std::chrono::minutes kWatchTimeout{30};
constexpr absl::Duration kFirstAnswer = absl::Seconds(30);
constexpr absl::Duration kEnd = absl::Seconds(30);

// One client with a connection of its own.
class Watcher : public grpc::ClientReadReactor<v1::Job> {
 public:
  Watcher(const std::shared_ptr<grpc::Channel>& channel, std::string job_id)
      : stub_(v1::JobService::NewStub(channel)) {
    request_.set_job_id(std::move(job_id));
    SetDeadline(context_, kWatchTimeout);
    stub_->async()->WatchJob(&context_, &request_, this);
    StartRead(&job_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      const absl::MutexLock lock(&mutex_);
      ++messages_;
    }
    StartRead(&job_);
  }

  void OnDone(const grpc::Status& status) override {
    const absl::MutexLock lock(&mutex_);
    status_ = status;
    has_ended_ = true;
  }

  // Returns false if neither an answer nor the end came before the deadline.
  bool WaitForAnswer(absl::Time deadline) {
    const absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithDeadline(
        absl::Condition(this, &Watcher::WasAnswered), deadline);
  }

  void Cancel() { context_.TryCancel(); }

  // Returns false if the call did not end before the deadline.
  bool WaitForEnd(absl::Time deadline) {
    const absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithDeadline(absl::Condition(&has_ended_), deadline);
  }

  uint64_t messages() const {
    const absl::MutexLock lock(&mutex_);
    return messages_;
  }

  // Why the service ended the call; empty: the service did not.
  std::string refusal() const {
    const absl::MutexLock lock(&mutex_);
    if (!has_ended_ || status_.ok()) return "";
    return absl::StrCat("code ", static_cast<int>(status_.error_code()), ": ",
                        status_.error_message());
  }

 private:
  bool WasAnswered() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return messages_ > 0 || has_ended_;
  }

  const std::unique_ptr<v1::JobService::Stub> stub_;
  grpc::ClientContext context_;
  v1::WatchJobRequest request_;
  v1::Job job_;
  mutable absl::Mutex mutex_;
  uint64_t messages_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

// The next byte of the standard input; 0 at its end.
char ReadByte() {
  char byte = 0;
  ssize_t got = -1;
  do {
    got = ::read(STDIN_FILENO, &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1 ? byte : '\0';
}

std::string OnOneLine(std::string text) {
  for (char& letter : text) {
    if (letter == '"' || letter == '\\' || letter < ' ') letter = ' ';
  }
  return text;
}

void Report(const std::vector<std::unique_ptr<Watcher>>& watchers) {
  uint64_t messages = 0;
  int refused = 0;
  std::string words;
  for (const auto& watcher : watchers) {
    messages += watcher->messages();
    const std::string refusal = watcher->refusal();
    refused += !refusal.empty();
    if (words.empty()) words = refusal;
  }
  absl::PrintF("{\"messages\": %d, \"refused\": %d, \"words\": \"%s\"}\n",
               messages, refused, OnOneLine(words));
  std::fflush(stdout);
}

int Watch(const std::string& state_dir, const std::string& job_id,
          int clients) {
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int client = 0; client < clients; ++client) {
    const auto channel = MakeChannel(SchedulerSocketPath(state_dir));
    if (!channel.ok()) {
      absl::FPrintF(stderr, "%s\n", channel.status().ToString());
      return 1;
    }
    watchers.push_back(std::make_unique<Watcher>(*channel, job_id));
  }
  int answered = 0;
  const absl::Time first = absl::Now() + kFirstAnswer;
  for (const auto& watcher : watchers)
    answered += watcher->WaitForAnswer(first);
  absl::PrintF("%d answered\n", answered);
  std::fflush(stdout);
  while (ReadByte() != '\0') Report(watchers);
  for (const auto& watcher : watchers) watcher->Cancel();
  const absl::Time end = absl::Now() + kEnd;
  int hanging = 0;
  for (const auto& watcher : watchers) hanging += !watcher->WaitForEnd(end);
  absl::PrintF("%d hang\n", hanging);
  std::fflush(stdout);
  // gRPC goes on with a call that does not end: its watcher cannot be
  // destroyed.
  if (hanging > 0) std::_Exit(1);
  return 0;
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("watch_clients STATE_DIR JOB CLIENTS\n", stderr);
    return 2;
  }
  return fgnn::Watch(argv[1], argv[2], std::atoi(argv[3]));
}
