#include "tests/fakes/cuda/memory_accounts.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace fgnn::simt {
namespace {

struct Account {
  int64_t pid;
  uint64_t bytes;
};

// Also of a process that has ended but has not been waited for.
bool HasEnded(int64_t pid) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return true;
  pollfd ended = {fd, POLLIN, 0};
  const bool has_ended = ::poll(&ended, 1, 0) == 1;
  ::close(fd);
  return has_ended;
}

// The file, locked until the object's end: a number, and as many accounts. A
// write is one call, so that a process that is killed leaves the old accounts
// or the new ones.
class Accounts {
 public:
  explicit Accounts(const std::string& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0 || ::flock(fd_, LOCK_EX) != 0) Die(path.c_str());
    uint64_t count = 0;
    if (::read(fd_, &count, sizeof(count)) < 0) Die("its reading");
    for (uint64_t i = 0; i < count; ++i) {
      Account a;
      if (::read(fd_, &a, sizeof(a)) != ssize_t{sizeof(a)}) Die("its reading");
      if (a.pid != ::getpid() && !HasEnded(a.pid)) others_.push_back(a);
    }
  }
  ~Accounts() { ::close(fd_); }
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  size_t of_others() const {
    size_t sum = 0;
    for (const Account& account : others_) sum += account.bytes;
    return sum;
  }
  void Write(size_t mine) {
    std::vector<Account> accounts = others_;
    accounts.push_back({::getpid(), mine});
    uint64_t count = accounts.size();
    const iovec parts[] = {{&count, sizeof(count)},
                           {accounts.data(), count * sizeof(Account)}};
    const size_t size = parts[0].iov_len + parts[1].iov_len;
    if (::pwritev(fd_, parts, 2, 0) != static_cast<ssize_t>(size)) {
      Die("its writing");
    }
  }

 private:
  [[noreturn]] static void Die(const char* what) {
    std::fprintf(stderr, "fake cudart: the file of accounts: %s\n", what);
    std::abort();
  }

  int fd_;
  std::vector<Account> others_;
};

}  // namespace

bool BookMemory(const std::string& path, size_t mine, size_t limit) {
  if (path.empty()) return mine <= limit;
  Accounts accounts(path);
  if (accounts.of_others() + mine > limit) return false;
  accounts.Write(mine);
  return true;
}

size_t BookedMemory(const std::string& path, size_t mine) {
  return path.empty() ? mine : Accounts(path).of_others() + mine;
}

}  // namespace fgnn::simt
