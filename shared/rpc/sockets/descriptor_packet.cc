#include "shared/rpc/sockets/descriptor_packet.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

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

}  // namespace

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

absl::StatusOr<ucred> PeerOfSameUser(int socket, const std::string& what) {
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

}  // namespace fgnn
