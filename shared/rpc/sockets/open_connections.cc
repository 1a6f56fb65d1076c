#include "shared/rpc/sockets/open_connections.h"

#include <sys/stat.h>

namespace fgnn {
namespace {

ino_t InodeOf(int fd) {
  struct stat info;
  return ::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

}  // namespace

void OpenConnections::Add(int fd) {
  connections_.push_back({.fd = fd, .inode = InodeOf(fd)});
}

void OpenConnections::ForgetClosed() {
  std::erase_if(connections_, [](const Connection& connection) {
    return InodeOf(connection.fd) != connection.inode;
  });
}

}  // namespace fgnn
