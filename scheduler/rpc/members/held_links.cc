#include "scheduler/rpc/members/held_links.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "fgnn/v1/member.pb.h"
#include "scheduler/rpc/callers/user_calls.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/rpc/status.h"

namespace fgnn {

// One member's call. gRPC calls its On… functions on gRPC's threads.
class HeldLinks::Link final : public grpc::ServerGenericBidiReactor {
 public:
  Link(HeldLinks* links, AdmittedCall call)
      : links_(links), call_(std::move(call)) {}

  // Keeps the call alive until gRPC is done with it, and reads the request.
  void Start(std::shared_ptr<Link> self) {
    self_ = std::move(self);
    StartRead(&request_);
  }
  void End(const absl::Status& why) {
    {
      const MutexLock lock(&mutex_);
      if (std::exchange(has_ended_, true)) return;
    }
    Finish(ToGrpc(why));
  }

  void OnReadDone(bool ok) override {
    // gRPC's thread is not to see an exception.
    const absl::Status joined = CatchExceptions([&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const auto request,
                            ParseRequest<v1::HoldLinkRequest>(ok, request_));
      {
        const MutexLock lock(&mutex_);
        name_ = request.name();
      }
      return links_->Join(self_);
    });
    if (!joined.ok()) End(joined);
  }
  // The member's process has ended, or has let go of the call.
  void OnCancel() override {
    std::string name;
    {
      const MutexLock lock(&mutex_);
      name = name_;
    }
    links_->members_->NoteBreak(name);
    End(absl::CancelledError("the member left"));
  }
  void OnDone() override {
    {
      const MutexLock lock(&links_->mutex_);
      std::erase(links_->links_, self_);
    }
    const std::shared_ptr<Link> last = std::move(self_);
  }

 private:
  HeldLinks* const links_;
  const AdmittedCall call_;
  grpc::ByteBuffer request_;
  std::shared_ptr<Link> self_;
  Mutex mutex_;
  // Name of the member; empty until the request is read.
  std::string name_ ABSL_GUARDED_BY(mutex_);
  // Whether gRPC was told of the end.
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

grpc::ServerGenericBidiReactor* HeldLinks::Hold(AdmittedCall call) {
  const auto link = std::make_shared<Link>(this, std::move(call));
  link->Start(link);
  return link.get();
}

absl::Status HeldLinks::Join(std::shared_ptr<Link> link) {
  const MutexLock lock(&mutex_);
  if (is_ending_) return absl::UnavailableError("the service is ending");
  links_.push_back(std::move(link));
  return absl::OkStatus();
}

size_t HeldLinks::num_held() const {
  const MutexLock lock(&mutex_);
  return links_.size();
}

void HeldLinks::EndAll() {
  std::vector<std::shared_ptr<Link>> links;
  {
    const MutexLock lock(&mutex_);
    is_ending_ = true;
    links.swap(links_);
  }
  // gRPC is called without the mutex: it may call back at once.
  for (const std::shared_ptr<Link>& link : links) {
    link->End(absl::UnavailableError("the service is ending"));
  }
}

}  // namespace fgnn
