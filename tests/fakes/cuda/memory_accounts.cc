#include "tests/fakes/cuda/memory_accounts.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace fgnn::simt {
namespace {

struct Account {
  pid_t pid;
  size_t bytes;
};

// Also of a process that has ended but has not been waited for.
bool HasEnded(pid_t pid) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return true;
  pollfd ended = {fd, POLLIN, 0};
  const bool has_ended = ::poll(&ended, 1, 0) == 1;
  ::close(fd);
  return has_ended;
}

// The file, locked until the object's end.
class Accounts {
 public:
  explicit Accounts(const std::string& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0 || ::flock(fd_, LOCK_EX) != 0) Die(path.c_str());
    for (Account a; ::read(fd_, &a, sizeof(a)) == ssize_t{sizeof(a)};) {
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
    others_.push_back({::getpid(), mine});
    const size_t size = others_.size() * sizeof(Account);
    if (::ftruncate(fd_, 0) != 0 ||
        ::pwrite(fd_, others_.data(), size, 0) != static_cast<ssize_t>(size)) {
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
