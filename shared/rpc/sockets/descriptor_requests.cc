// The daemons' side of descriptors.h.
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/rpc/sockets/descriptor_packet.h"
#include "shared/rpc/sockets/descriptors.h"
#include "shared/rpc/sockets/socket_name.h"

namespace fgnn {
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
  FGNN_RETURN_IF_ERROR(PeerOfSameUser(socket.get(), what).status());
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

absl::Status ReturnDescriptor(const std::filesystem::path& socket_path,
                              const std::string& request, int fd,
                              Deadline deadline, const std::string& what) {
  FGNN_ASSIGN_OR_RETURN(const Packet reply,
                        Exchange(socket_path, request, fd, deadline, what));
  return reply.text == kDoneWord ? absl::OkStatus()
                                 : ParseError(reply.text, what);
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
  return ReturnDescriptor(socket_path, absl::StrCat(kReturnWord, " ", job_id),
                          fd, deadline,
                          absl::StrCat("return the segment of job ", job_id,
                                       " to ", socket_path.string()));
}

absl::Status ReturnTable(const std::filesystem::path& socket_path,
                         const std::string& job_id, int fd, Deadline deadline) {
  return ReturnDescriptor(socket_path, absl::StrCat(kTableWord, " ", job_id),
                          fd, deadline,
                          absl::StrCat("return the hot table of job ", job_id,
                                       " to ", socket_path.string()));
}

}  // namespace fgnn
