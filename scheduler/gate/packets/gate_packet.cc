#include "scheduler/gate/packets/gate_packet.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr size_t kMostBytes = 4'000;
constexpr size_t kDescriptors = 2;

union ControlBuffer {
  cmsghdr header;
  char bytes[CMSG_SPACE(kDescriptors * sizeof(int))];
};

absl::Status SendPacket(int socket, absl::string_view text,
                        const std::array<int, kDescriptors>* descriptors) {
  text = text.substr(0, kMostBytes);
  iovec part = {const_cast<char*>(text.data()), text.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control = {};
  if (descriptors != nullptr) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(*descriptors));
    std::memcpy(CMSG_DATA(header), descriptors->data(), sizeof(*descriptors));
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
    return absl::OkStatus();
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETOOMANYREFS) {
    return absl::ResourceExhaustedError("the gate is busy; try again later");
  }
  if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
    return absl::UnavailableError("the gate has ended");
  }
  return ErrnoToStatus(errno, "hand a connection to the gate");
}

struct Packet {
  std::string text;
  std::vector<UniqueFd> descriptors;
};

absl::StatusOr<std::optional<Packet>> ReceivePacket(int socket) {
  Packet packet;
  packet.text.resize(kMostBytes);
  iovec part = {packet.text.data(), packet.text.size()};
  ControlBuffer control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  const ssize_t size =
      ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
      return std::nullopt;
    }
    if (errno == ECONNRESET) return absl::UnavailableError("the peer ended");
    return ErrnoToStatus(errno, "hear from the peer");
  }
  if (size == 0) return absl::UnavailableError("the peer ended");
  packet.text.resize(static_cast<size_t>(size));
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET &&
      header->cmsg_type == SCM_RIGHTS) {
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      packet.descriptors.emplace_back(fd);
    }
  }
  return packet;
}

}  // namespace

absl::Status SendConnection(int socket, const HandedConnection& connection) {
  const std::array<int, kDescriptors> descriptors = {connection.client.get(),
                                                     connection.server.get()};
  return SendPacket(socket, connection.key, &descriptors);
}

absl::StatusOr<std::optional<HandedConnection>> ReceiveConnection(int socket) {
  FGNN_ASSIGN_OR_RETURN(std::optional<Packet> packet, ReceivePacket(socket));
  if (!packet.has_value()) return std::nullopt;
  HandedConnection handed;
  handed.key = std::move(packet->text);
  // Without descriptors left, the kernel closes those that it cannot hand over:
  // the client learns of it at once.
  if (packet->descriptors.size() != kDescriptors) return handed;
  handed.client = std::move(packet->descriptors[0]);
  handed.server = std::move(packet->descriptors[1]);
  return handed;
}

absl::Status SendReport(int socket, absl::string_view text) {
  return SendPacket(socket, text, nullptr);
}

absl::StatusOr<std::optional<std::string>> ReceiveReport(int socket) {
  FGNN_ASSIGN_OR_RETURN(std::optional<Packet> packet, ReceivePacket(socket));
  if (!packet.has_value()) return std::nullopt;
  return std::move(packet->text);
}

}  // namespace fgnn
