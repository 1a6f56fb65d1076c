#include "scheduler/gate/gate_loop.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/gate/packets/leave.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr int kLongestWaitMs = 500;
constexpr size_t kEventsAtOnce = 64;
constexpr int kConnectionsAtOnce = 16;

// Tags of epoll: 0 is the scheduler's socket, and a connection has two.
uint64_t TagOf(uint64_t number, bool is_server) {
  return 2 * number + (is_server ? 1 : 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<GateLoop>> GateLoop::Start(
    const GateOptions& options, UniqueFd control) {
  UniqueFd events(::epoll_create1(EPOLL_CLOEXEC));
  if (!events.valid()) return ErrnoToStatus(errno, "make a set of sockets");
  std::unique_ptr<GateLoop> loop(
      new GateLoop(std::move(control), std::move(events)));
  if (!options.tls_dir.empty()) {
    auto tls = ServerTls::Open(options.tls_dir, options.tokens);
    if (!tls.ok()) {
      loop->Report(absl::StrCat(kFailedWord, " ", tls.status().raw_code(), " ",
                                tls.status().message()));
      return tls.status();
    }
    loop->tls_ = *std::move(tls);
  }
  uint32_t present = 0;
  loop->Watch(loop->control_.get(), /*tag=*/0, EPOLLIN, present);
  loop->Report(std::string(kReadyWord));
  if (loop->tls_ != nullptr) {
    loop->Report(absl::StrCat(kExpiresWord, " ", loop->tls_->expires()));
  }
  return loop;
}

absl::Status GateLoop::Run() {
  std::array<epoll_event, kEventsAtOnce> events;
  Deadline next_look = DeadlineIn(kLookEvery);
  while (true) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce,
                                   kLongestWaitMs);
    if (count < 0 && errno != EINTR) {
      return ErrnoToStatus(errno, "wait for bytes");
    }
    const Deadline now = MonotonicClock::now();
    for (int i = 0; i < count; ++i) {
      const uint64_t tag = events[static_cast<size_t>(i)].data.u64;
      if (tag != 0) {
        Serve(tag / 2, tag % 2 == 1, now);
      } else if (const absl::Status taken = TakeConnections(now); !taken.ok()) {
        return absl::IsUnavailable(taken) ? absl::OkStatus() : taken;
      }
    }
    if (now < next_look) continue;
    next_look = now + kLookEvery;
    LookAtAll(now);
    LookAtTls();
  }
}

absl::Status GateLoop::TakeConnections(Deadline now) {
  for (int i = 0; i < kConnectionsAtOnce; ++i) {
    FGNN_ASSIGN_OR_RETURN(std::optional<HandedConnection> handed,
                          ReceiveConnection(control_.get()));
    if (!handed.has_value()) break;
    if (handed->client.valid()) Take(*std::move(handed), now);
  }
  return absl::OkStatus();
}

void GateLoop::Take(HandedConnection handed, Deadline now) {
  if (marks_.IsShut(handed.key, now)) {
    ReportFlood(handed.key);
    if (tls_ != nullptr) return;  // A handshake would cost too much.
    const std::string why = MakeLeave(kFloods);
    [[maybe_unused]] const ssize_t size =
        ::send(handed.client.get(), why.data(), why.size(),
               MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  auto taken = GatedConnection::Take(std::move(handed), tls_.get(), now);
  if (!taken.ok()) return;  // Closed: no memory.
  const uint64_t number = ++last_number_;
  Served& served = served_[number];
  served.connection = *std::move(taken);
  served.connection->Turn(false, false, now);
  if (!Settle(number, served, now)) served_.erase(number);
}

void GateLoop::Serve(uint64_t number, bool is_server, Deadline now) {
  const auto found = served_.find(number);
  if (found == served_.end()) return;  // It ended in this round.
  found->second.connection->Turn(!is_server, is_server, now);
  if (!Settle(number, found->second, now)) served_.erase(found);
}

bool GateLoop::Settle(uint64_t number, Served& served, Deadline now) {
  GatedConnection& connection = *served.connection;
  if (const auto refusal = connection.TakeRefusal(); refusal.has_value()) {
    Report(absl::StrCat(kRefusedWord,
                        absl::IsUnauthenticated(*refusal)
                            ? " wrong_credentials "
                            : " no_credentials ",
                        connection.key(), " ", refusal->message()));
  }
  if (const uint32_t marks = connection.TakeMarks(); marks > 0) {
    const bool was_shut = marks_.IsShut(connection.key(), now);
    if (!marks_.Take(connection.key(), marks, now)) {
      connection.Leave(NGHTTP2_ENHANCE_YOUR_CALM, std::string(kFloods), now);
      if (!was_shut) ReportFlood(connection.key());
    }
  }
  if (connection.is_over()) return false;
  Watch(connection.client_fd(), TagOf(number, false),
        connection.client_events(), served.client_events);
  Watch(connection.server_fd(), TagOf(number, true), connection.server_events(),
        served.server_events);
  return true;
}

// A socket that nothing is wanted of leaves the set: epoll tells of a closed
// one always.
void GateLoop::Watch(int fd, uint64_t tag, uint32_t wanted,
                     uint32_t& present) const {
  if (wanted == present) return;
  epoll_event event = {};
  event.events = wanted;
  event.data.u64 = tag;
  const int change = wanted == 0    ? EPOLL_CTL_DEL
                     : present == 0 ? EPOLL_CTL_ADD
                                    : EPOLL_CTL_MOD;
  if (::epoll_ctl(epoll_.get(), change, fd, &event) == 0) present = wanted;
}

void GateLoop::LookAtAll(Deadline now) {
  for (auto one = served_.begin(); one != served_.end();) {
    one->second.connection->LookAtTime(now);
    one = Settle(one->first, one->second, now) ? std::next(one)
                                               : served_.erase(one);
  }
  marks_.ForgetFull(now);
}

void GateLoop::LookAtTls() {
  if (tls_ == nullptr) return;
  const absl::StatusOr<bool> taken = tls_->Refresh();
  if (taken.ok()) {
    if (*taken) {
      Report(absl::StrCat(kExpiresWord, " ", tls_->expires()));
      Report(absl::StrCat(kSaysWord, " the port has a new certificate"));
      last_fault_.clear();
    }
    return;
  }
  std::string fault = MessageOf(taken.status());
  if (fault == last_fault_) return;
  Report(absl::StrCat(kSaysWord, " ", fault,
                      "; the port goes on with what it read before"));
  last_fault_ = std::move(fault);
}

// The scheduler closes the key's next connections itself, for a while.
void GateLoop::ReportFlood(const std::string& key) const {
  Report(absl::StrCat(kRefusedWord, " flood ", key, " ", kFloods));
}

// A scheduler that does not read loses lines, and nothing else.
void GateLoop::Report(const std::string& text) const {
  (void)SendReport(control_.get(), text);
}

}  // namespace fgnn
