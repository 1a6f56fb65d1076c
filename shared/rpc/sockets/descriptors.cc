#include "shared/rpc/sockets/descriptors.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "shared/base/status.h"
#include "shared/base/threads/thread.h"
#include "shared/rpc/sockets/accept_connection.h"
#include "shared/rpc/sockets/descriptor_packet.h"
#include "shared/rpc/sockets/socket_name.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Time in which a peer must send its request after it has connected.
constexpr std::chrono::milliseconds kRequestTimeout{1'000};
constexpr std::chrono::milliseconds kLook{200};
constexpr size_t kMostConnections = 64;
constexpr int kPrivateBacklog = 64;

}  // namespace

struct DescriptorServer::State {
  State(SocketName socket_name, UniqueFd listener_fd, UniqueFd stop_fd,
        DescriptorHandlers request_handlers)
      : name(std::move(socket_name)),
        listener(std::move(listener_fd)),
        stop(std::move(stop_fd)),
        handlers(std::move(request_handlers)) {}

  struct Connection {
    UniqueFd fd;
    Deadline until;  // Time until which the peer must send its request.
  };

  void Run();
  void Accept(Deadline now);
  // Answers the connection's request, or replies with its error.
  void Serve(int connection);
  absl::Status Answer(int connection);
  // `words` are the number and the job id.
  absl::StatusOr<UniqueFd> ScratchFor(pid_t peer, const std::string& words);

  SocketName name;
  UniqueFd listener;
  UniqueFd stop;
  DescriptorHandlers handlers;
  // Only the server's thread uses the following three.
  ConnectionAcceptor acceptor;
  // Time before which no connection is accepted, as no descriptor was left.
  Deadline accepts_from = Deadline::min();
  std::vector<Connection> waiting;  // Waiting connections, oldest first.
  Thread thread;
};

void DescriptorServer::State::Run() {
  while (true) {
    const bool accepts = MonotonicClock::now() >= accepts_from;
    std::vector<pollfd> fds = {{stop.get(), POLLIN, 0},
                               // poll() overlooks negative descriptors.
                               {accepts ? listener.get() : -1, POLLIN, 0}};
    for (const Connection& connection : waiting) {
      fds.push_back({connection.fd.get(), POLLIN, 0});
    }
    // The stop descriptor ends the wait. The time limit is for connections that
    // send no request, and for a lost wake-up, which could hang the process.
    ::poll(fds.data(), static_cast<nfds_t>(fds.size()),
           static_cast<int>(
               (accepts ? kLook : ConnectionAcceptor::kPause).count()));
    if (fds[0].revents != 0) return;
    const Deadline now = MonotonicClock::now();
    std::vector<Connection> still;
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (fds[i + 2].revents != 0 || now >= waiting[i].until) {
        Serve(waiting[i].fd.get());
      } else {
        still.push_back(std::move(waiting[i]));
      }
    }
    waiting = std::move(still);
    if (fds[1].revents != 0) Accept(now);
  }
}

void DescriptorServer::State::Accept(Deadline now) {
  for (size_t i = 0; i < kMostConnections; ++i) {
    ConnectionAcceptor::Result result = acceptor.AcceptOne(listener.get());
    switch (result.outcome) {
      case ConnectionAcceptor::Outcome::kAccepted:
        // Connections that send nothing must not keep others out.
        if (waiting.size() == kMostConnections) waiting.erase(waiting.begin());
        waiting.push_back(
            {std::move(result.connection), now + kRequestTimeout});
        break;
      case ConnectionAcceptor::Outcome::kRefused:
        break;
      case ConnectionAcceptor::Outcome::kExhausted:
        accepts_from = now + ConnectionAcceptor::kPause;
        return;
      case ConnectionAcceptor::Outcome::kNone:
        return;
    }
  }
}

void DescriptorServer::State::Serve(int connection) {
  const absl::Status answered = Answer(connection);
  if (answered.ok()) return;
  LogWarning("refused a descriptor: {}", MessageOf(answered));
  const absl::Status told = SendPacket(
      connection,
      absl::StrCat(kErrorWord, " ", static_cast<int>(answered.code()), " ",
                   answered.message().substr(0, kMaxPacketBytes / 2)),
      /*fd=*/-1, "send an error");
  if (!told.ok()) LogWarning("{}", MessageOf(told));
}

absl::Status DescriptorServer::State::Answer(int connection) {
  const std::string what = absl::StrCat("request on ", name.path().string());
  absl::StatusOr<Packet> request =
      ReceivePacket(connection, MonotonicClock::now(), what);
  if (!request.ok()) return request.status();
  // Checked after the request was read: closing a socket with unread bytes
  // would discard the reply.
  FGNN_ASSIGN_OR_RETURN(const ucred peer, PeerOfSameUser(connection, what));
  const std::pair<std::string, std::string> words =
      absl::StrSplit(request->text, absl::MaxSplits(' ', 1));
  const auto& [word, job_id] = words;
  if (word == kRequestWord && !job_id.empty()) {
    FGNN_ASSIGN_OR_RETURN(const int fd, handlers.give(peer.pid, job_id));
    return SendPacket(connection, kDoneWord, fd, what);
  }
  if (word == kScratchWord && handlers.give_scratch) {
    FGNN_ASSIGN_OR_RETURN(const UniqueFd fd, ScratchFor(peer.pid, job_id));
    return SendPacket(connection, kDoneWord, fd.get(), what);
  }
  if (!job_id.empty() && request->fd.valid()) {
    const auto& take = word == kReturnWord  ? handlers.take_back
                       : word == kTableWord ? handlers.take_table
                                            : nullptr;
    if (take) {
      FGNN_RETURN_IF_ERROR(take(job_id, std::move(request->fd)));
      return SendPacket(connection, kDoneWord, /*fd=*/-1, what);
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      what,
      ": neither 'segment JOB_ID' nor 'return JOB_ID' with a descriptor"));
}

absl::StatusOr<UniqueFd> DescriptorServer::State::ScratchFor(
    pid_t peer, const std::string& words) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(words, absl::MaxSplits(' ', 1));
  uint64_t number = 0;
  if (parts.second.empty() || !absl::SimpleAtoi(parts.first, &number)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "request on ", name.path().string(), ": not 'scratch NUMBER JOB_ID'"));
  }
  return handlers.give_scratch(peer, parts.second, number);
}

DescriptorServer::DescriptorServer(std::unique_ptr<State> state)
    : state_(std::move(state)) {
  state_->thread =
      Thread("descriptors", [borrowed = state_.get()] { borrowed->Run(); });
}

absl::StatusOr<std::unique_ptr<DescriptorServer>> DescriptorServer::Start(
    const std::filesystem::path& socket_path, DescriptorHandlers handlers) {
  FGNN_ASSIGN_OR_RETURN(SocketName name, SocketName::Claim(socket_path));
  FGNN_ASSIGN_OR_RETURN(UniqueFd listener,
                        name.Listen(SOCK_SEQPACKET, kPrivateBacklog));
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return ErrnoToStatus(errno, "make an event");
  FGNN_RETURN_IF_ERROR(name.Publish({.mode = 0600}));
  return std::unique_ptr<DescriptorServer>(new DescriptorServer(
      std::make_unique<State>(std::move(name), std::move(listener),
                              std::move(stop), std::move(handlers))));
}

DescriptorServer::~DescriptorServer() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written =
      ::write(state_->stop.get(), &one, sizeof(one));
  state_->thread.Join();
}

}  // namespace fgnn
