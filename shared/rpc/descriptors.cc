#include "shared/rpc/descriptors.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "shared/base/status.h"
#include "shared/base/threads/thread.h"
#include "shared/rpc/accept_connection.h"
#include "shared/rpc/socket_name.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr size_t kMaxPacketBytes = 4096;
constexpr absl::string_view kRequestWord = "segment";
constexpr absl::string_view kScratchWord = "scratch";
constexpr absl::string_view kReturnWord = "return";
constexpr absl::string_view kDoneWord = "ok";
constexpr absl::string_view kErrorWord = "error";
// Time in which a peer must send its request after it has connected.
constexpr std::chrono::milliseconds kRequestTimeout{1'000};
constexpr std::chrono::milliseconds kLook{200};
constexpr size_t kMostConnections = 64;
constexpr int kBacklog = 64;

struct Packet {
  std::string text;
  UniqueFd fd;
};

// Room for the control message of one descriptor, with the alignment that it
// needs. The padding behind it has room for a second descriptor.
union ControlBuffer {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

// Takes every descriptor that came with the message, so that none stays open
// without an owner.
std::vector<UniqueFd> TakeDescriptors(const msghdr& message) {
  std::vector<UniqueFd> taken;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET ||
      header->cmsg_type != SCM_RIGHTS) {
    return taken;
  }
  const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
    taken.emplace_back(fd);
  }
  return taken;
}

// Waits until `fd` has one of `events` or is closed. DeadlineExceeded.
absl::Status WaitFor(int fd, int16_t events, Deadline deadline,
                     const std::string& what) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
                          deadline - MonotonicClock::now())
                          .count();
    pollfd poll_fd = {fd, events, 0};
    const int ready = ::poll(
        &poll_fd, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return ErrnoToStatus(errno, what);
    if (left <= 0) {
      return absl::DeadlineExceededError(absl::StrCat(what, ": no answer"));
    }
  }
}

absl::Status SendPacket(int socket, absl::string_view text, int fd,
                        const std::string& what) {
  iovec part = {const_cast<char*>(text.data()), text.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control = {};
  if (fd >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    return ErrnoToStatus(errno, what);
  }
  return absl::OkStatus();
}

absl::StatusOr<Packet> ReceivePacket(int socket, Deadline deadline,
                                     const std::string& what) {
  FGNN_RETURN_IF_ERROR(WaitFor(socket, POLLIN, deadline, what));
  std::array<char, kMaxPacketBytes> buffer;
  iovec part = {buffer.data(), buffer.size()};
  ControlBuffer control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  const ssize_t received =
      ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (received < 0) return ErrnoToStatus(errno, what);
  Packet packet;
  std::vector<UniqueFd> descriptors = TakeDescriptors(message);
  if (descriptors.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": more than one descriptor"));
  }
  if (!descriptors.empty()) packet.fd = std::move(descriptors.front());
  if (received == 0) {
    return absl::UnavailableError(absl::StrCat(what, ": the peer went away"));
  }
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": packet too long"));
  }
  packet.text.assign(buffer.data(), static_cast<size_t>(received));
  return packet;
}

absl::StatusOr<ucred> PeerOf(int socket, const std::string& what) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return ErrnoToStatus(errno, what);
  }
  if (peer.uid != ::geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(what, ": process ", peer.pid, " runs as user ", peer.uid,
                     ", this one as ", ::geteuid(),
                     "; the daemons of a service run as one user"));
  }
  return peer;
}

// Returns the Status that the text "error 5 no such job" stands for.
absl::Status ParseError(const std::string& text, const std::string& what) {
  const std::vector<std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(' ', 2));
  int code = 0;
  if (parts.size() == 3 && parts[0] == kErrorWord &&
      absl::SimpleAtoi(parts[1], &code) && code > 0 &&
      code <= static_cast<int>(absl::StatusCode::kUnauthenticated)) {
    return absl::Status(static_cast<absl::StatusCode>(code), parts[2]);
  }
  return absl::InternalError(
      absl::StrCat(what, ": not a reply: '", text.substr(0, 64), "'"));
}

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
  FGNN_ASSIGN_OR_RETURN(const ucred peer, PeerOf(connection, what));
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
  if (word == kReturnWord && !job_id.empty() && request->fd.valid() &&
      handlers.take_back) {
    FGNN_RETURN_IF_ERROR(handlers.take_back(job_id, std::move(request->fd)));
    return SendPacket(connection, kDoneWord, /*fd=*/-1, what);
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
                        name.Listen(SOCK_SEQPACKET, kBacklog));
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return ErrnoToStatus(errno, "make an event");
  FGNN_RETURN_IF_ERROR(name.Publish(0600));
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

namespace {

absl::Status LimitSends(int socket, Deadline deadline,
                        const std::string& what) {
  // A timeout of 0 would mean no timeout.
  const auto left = std::max(std::chrono::ceil<std::chrono::microseconds>(
                                 deadline - MonotonicClock::now()),
                             std::chrono::microseconds(1'000));
  timeval limit = {};
  limit.tv_sec = left.count() / 1'000'000;
  limit.tv_usec = left.count() % 1'000'000;
  if (::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) !=
      0) {
    return ErrnoToStatus(errno, what);
  }
  return absl::OkStatus();
}

absl::StatusOr<Packet> Exchange(const std::filesystem::path& socket_path,
                                const std::string& request, int fd,
                                Deadline deadline, const std::string& what) {
  FGNN_ASSIGN_OR_RETURN(const sockaddr_un address,
                        MakeSocketAddress(socket_path));
  const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return ErrnoToStatus(errno, what);
  int error = EINTR;
  while (error == EINTR && MonotonicClock::now() < deadline) {
    // connect() waits while the server's queue of connections is full.
    FGNN_RETURN_IF_ERROR(LimitSends(socket.get(), deadline, what));
    const int result =
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                  sizeof(address));
    error = result == 0 ? 0 : errno;
  }
  if (error == ENOENT || error == ECONNREFUSED || error == EAGAIN ||
      error == EINTR) {
    return absl::UnavailableError(
        absl::StrCat(what, ": ", std::strerror(error)));
  }
  if (error != 0) return ErrnoToStatus(error, what);
  FGNN_RETURN_IF_ERROR(PeerOf(socket.get(), what).status());
  FGNN_RETURN_IF_ERROR(SendPacket(socket.get(), request, fd, what));
  return ReceivePacket(socket.get(), deadline, what);
}

absl::StatusOr<UniqueFd> RequestDescriptor(
    const std::filesystem::path& socket_path, const std::string& request,
    Deadline deadline, const std::string& what) {
  FGNN_ASSIGN_OR_RETURN(
      Packet reply, Exchange(socket_path, request, /*fd=*/-1, deadline, what));
  if (reply.text == kDoneWord && reply.fd.valid()) return std::move(reply.fd);
  return ParseError(reply.text, what);
}

}  // namespace

absl::StatusOr<UniqueFd> RequestSegment(
    const std::filesystem::path& socket_path, const std::string& job_id,
    Deadline deadline) {
  return RequestDescriptor(socket_path, absl::StrCat(kRequestWord, " ", job_id),
                           deadline,
                           absl::StrCat("ask ", socket_path.string(),
                                        " for the segment of job ", job_id));
}

absl::StatusOr<UniqueFd> RequestScratch(
    const std::filesystem::path& socket_path, const std::string& job_id,
    uint64_t number, Deadline deadline) {
  return RequestDescriptor(
      socket_path, absl::StrCat(kScratchWord, " ", number, " ", job_id),
      deadline,
      absl::StrCat("ask ", socket_path.string(), " for shared memory ", number,
                   " of job ", job_id));
}

absl::Status ReturnSegment(const std::filesystem::path& socket_path,
                           const std::string& job_id, int fd,
                           Deadline deadline) {
  const std::string what = absl::StrCat("return the segment of job ", job_id,
                                        " to ", socket_path.string());
  FGNN_ASSIGN_OR_RETURN(
      const Packet reply,
      Exchange(socket_path, absl::StrCat(kReturnWord, " ", job_id), fd,
               deadline, what));
  return reply.text == kDoneWord ? absl::OkStatus()
                                 : ParseError(reply.text, what);
}

}  // namespace fgnn
