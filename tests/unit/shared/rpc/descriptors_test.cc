#include "shared/rpc/sockets/descriptors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "shared/base/threads/thread.h"
#include "shared/rpc/sockets/socket_name.h"
#include "tests/fakes/descriptor_limit.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Deadline Soon() { return DeadlineIn(std::chrono::seconds(30)); }

class DescriptorServerTest : public testing::Test {
 protected:
  void SetUp() override {
    segment_.Reset(::memfd_create("segment", MFD_CLOEXEC));
    ASSERT_TRUE(segment_.valid());
    ASSERT_EQ(::write(segment_.get(), "hello", 5), 5);
  }

  absl::StatusOr<std::unique_ptr<DescriptorServer>> Start() {
    return DescriptorServer::Start(
        path_,
        {.give = [this](pid_t peer,
                        const std::string& job_id) -> absl::StatusOr<int> {
          last_peer_ = peer;
          if (job_id == "job-1") return segment_.get();
          return absl::NotFoundError("no job " + job_id + " on this host");
        }});
  }

  // What a client that does not know the protocol gets back.
  std::string SendRaw(const std::string& packet,
                      const std::vector<int>& descriptors = {}) {
    const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const sockaddr_un address = *MakeSocketAddress(path_);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                        sizeof(address)),
              0);
    iovec part = {const_cast<char*>(packet.data()), packet.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    std::vector<std::byte> control(
        CMSG_SPACE(descriptors.size() * sizeof(int)));
    if (!descriptors.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), descriptors.data(),
                  descriptors.size() * sizeof(int));
    }
    EXPECT_EQ(::sendmsg(fd.get(), &message, MSG_NOSIGNAL),
              static_cast<ssize_t>(packet.size()));
    std::array<char, 4096> reply;
    const ssize_t size = ::recv(fd.get(), reply.data(), reply.size(), 0);
    return size < 0 ? "" : std::string(reply.data(), static_cast<size_t>(size));
  }

  TempFolder folder_;
  fs::path path_ = folder_ / "host.sock";
  UniqueFd segment_;
  std::atomic<pid_t> last_peer_{0};
};

TEST_F(DescriptorServerTest, HandsOverTheVeryFile) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
  FGNN_ASSERT_OK_AND_ASSIGN(const UniqueFd fd,
                            RequestSegment(path_, "job-1", Soon()));
  struct stat ours;
  struct stat theirs;
  ASSERT_EQ(::fstat(segment_.get(), &ours), 0);
  ASSERT_EQ(::fstat(fd.get(), &theirs), 0);
  EXPECT_EQ(ours.st_ino, theirs.st_ino);
  EXPECT_NE(fd.get(), segment_.get());
  EXPECT_EQ(last_peer_, ::getpid());
}

TEST_F(DescriptorServerTest, HandsOverSharedMemoryByItsNumber) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto server,
      DescriptorServer::Start(
          path_,
          {.give = nullptr,
           .give_scratch = [this](pid_t peer, const std::string& job_id,
                                  uint64_t number) -> absl::StatusOr<UniqueFd> {
             last_peer_ = peer;
             if (job_id == "a job" && number == 7) {
               return Duplicate(segment_.get());
             }
             return absl::NotFoundError("closed");
           }}));
  FGNN_ASSERT_OK_AND_ASSIGN(const UniqueFd fd,
                            RequestScratch(path_, "a job", 7, Soon()));
  struct stat ours;
  struct stat theirs;
  ASSERT_EQ(::fstat(segment_.get(), &ours), 0);
  ASSERT_EQ(::fstat(fd.get(), &theirs), 0);
  EXPECT_EQ(ours.st_ino, theirs.st_ino);
  EXPECT_EQ(last_peer_, ::getpid());
  EXPECT_THAT(RequestScratch(path_, "a job", 6, Soon()),
              StatusIs(absl::StatusCode::kNotFound, "closed"));
  for (const std::string packet :
       {"scratch", "scratch ", "scratch 7", "scratch 7 ", "scratch x a job",
        "scratch -1 a job"}) {
    EXPECT_THAT(SendRaw(packet), HasSubstr("error 3 ")) << packet;
  }
}

TEST_F(DescriptorServerTest, TheSocketIsForItsUserAloneAndGoesAway) {
  {
    FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
    struct stat info;
    ASSERT_EQ(::lstat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode, static_cast<mode_t>(S_IFSOCK | 0600));
    EXPECT_THAT(Start(), StatusIs(absl::StatusCode::kAlreadyExists,
                                  HasSubstr("socket in use")));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(DescriptorServerTest, TakesBackTheVeryFile) {
  UniqueFd returned;
  std::string table_of;
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto server,
      DescriptorServer::Start(path_,
                              {.give = nullptr,
                               .take_back =
                                   [&](const std::string& job_id, UniqueFd fd) {
                                     if (job_id != "job-1")
                                       return absl::NotFoundError("none");
                                     returned = std::move(fd);
                                     return absl::OkStatus();
                                   },
                               .take_table =
                                   [&](const std::string& job_id, UniqueFd fd) {
                                     table_of = fd.valid() ? job_id : "";
                                     return absl::OkStatus();
                                   }}));
  EXPECT_THAT(ReturnSegment(path_, "job-2", segment_.get(), Soon()),
              StatusIs(absl::StatusCode::kNotFound, "none"));
  FGNN_ASSERT_OK(ReturnSegment(path_, "job-1", segment_.get(), Soon()));
  struct stat ours;
  struct stat theirs;
  ASSERT_EQ(::fstat(segment_.get(), &ours), 0);
  ASSERT_EQ(::fstat(returned.get(), &theirs), 0);
  EXPECT_EQ(ours.st_ino, theirs.st_ino);
  FGNN_ASSERT_OK(ReturnTable(path_, "job-3", segment_.get(), Soon()));
  EXPECT_EQ(table_of, "job-3");
  EXPECT_THAT(SendRaw("table job-3"), HasSubstr("with a descriptor"));
  // Without a descriptor there is nothing to take.
  EXPECT_THAT(SendRaw("return job-1"), HasSubstr("with a descriptor"));
}

TEST_F(DescriptorServerTest, OwnsEveryDescriptorThatItIsSent) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
  const auto num_open = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"),
                         fs::directory_iterator());
  };
  // Once, for what the process opens with its first request.
  EXPECT_THAT(SendRaw("junk", {segment_.get(), segment_.get()}),
              HasSubstr("more than one descriptor"));
  const auto before = num_open();
  for (int i = 0; i < 10; ++i) {
    SendRaw("junk", {segment_.get(), segment_.get()});
    SendRaw("junk", {segment_.get()});
  }
  // The server closes its end right behind its answer.
  const Deadline deadline = Soon();
  while (num_open() > before && MonotonicClock::now() < deadline) {
    EXPECT_THAT(RequestSegment(path_, "job-1", Soon()), IsOk());
  }
  EXPECT_LE(num_open(), before);
}

TEST_F(DescriptorServerTest, SilentConnectionsKeepNobodyWaiting) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
  const sockaddr_un address = *MakeSocketAddress(path_);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 200; ++i) {
    silent.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(
        ::connect(silent.back().get(),
                  reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
        0);
  }
  // One after the other they would take 64 s at least.
  EXPECT_THAT(RequestSegment(path_, "job-1", Soon()), IsOk());
}

TEST_F(DescriptorServerTest, NobodyTakesBackWhatIsNotAskedFor) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
  EXPECT_THAT(ReturnSegment(path_, "job-1", segment_.get(), Soon()),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ReturnTable(path_, "job-1", segment_.get(), Soon()),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// In another process: the descriptor crosses, the kernel names the peer, a
// wrong job is refused in words.
TEST_F(DescriptorServerTest, ServesAnotherProcess) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Plain exit codes: this is not the test's process.
    const absl::StatusOr<UniqueFd> fd = RequestSegment(path_, "job-1", Soon());
    std::array<char, 5> text{};
    if (!fd.ok()) ::_exit(1);
    if (::pread(fd->get(), text.data(), text.size(), 0) != 5) ::_exit(2);
    if (std::string(text.data(), 5) != "hello") ::_exit(3);
    const absl::StatusOr<UniqueFd> none =
        RequestSegment(path_, "job-2", Soon());
    if (!absl::IsNotFound(none.status())) ::_exit(4);
    if (none.status().message() != "no job job-2 on this host") ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(last_peer_, child);
}

// Both sides ask the kernel who the other is.
TEST_F(DescriptorServerTest, RefusesProcessesOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
  // As if somebody had opened the folder to all.
  fs::permissions(folder_.path(), fs::perms(0711));
  fs::permissions(path_, fs::perms(0666));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65'534;
    if (::setuid(kNobody) != 0) ::_exit(1);
    if (SendRaw("segment job-1").rfind("error 7 ", 0) != 0) ::_exit(2);
    const absl::StatusOr<UniqueFd> fd = RequestSegment(path_, "job-1", Soon());
    ::_exit(absl::IsPermissionDenied(fd.status()) ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(last_peer_, 0);  // The handler was not asked.
}

TEST_F(DescriptorServerTest, PassesTheHandlersErrorOn) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
  EXPECT_THAT(RequestSegment(path_, "a job with blanks", Soon()),
              StatusIs(absl::StatusCode::kNotFound,
                       "no job a job with blanks on this host"));
}

TEST_F(DescriptorServerTest, AnswersNonsenseAndLives) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
  for (const std::string packet :
       {"x", "segment", "segment ", "give job-1", "scratch 1 job-1", " "}) {
    EXPECT_THAT(SendRaw(packet), HasSubstr("error 3 ")) << packet;
  }
  EXPECT_THAT(SendRaw(std::string(10'000, 'x')), HasSubstr("too long"));
  EXPECT_THAT(RequestSegment(path_, "job-1", Soon()), IsOk());
}

// Descriptors that a peer sends along are closed, not kept.
TEST_F(DescriptorServerTest, KeepsNoDescriptors) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
  const auto count = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), {});
  };
  FGNN_ASSERT_OK(RequestSegment(path_, "job-1", Soon()));
  const auto before = count();
  for (int i = 0; i < 20; ++i) {
    FGNN_ASSERT_OK(RequestSegment(path_, "job-1", Soon()));
    EXPECT_FALSE(RequestSegment(path_, "job-2", Soon()).ok());
  }
  // The server may still be closing its end of the last connection.
  EXPECT_LE(count(), before + 1);
}

TEST_F(DescriptorServerTest, APeerThatSaysNothingDoesNotStopOthers) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
  const UniqueFd silent(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const sockaddr_un address = *MakeSocketAddress(path_);
  ASSERT_EQ(::connect(silent.get(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof(address)),
            0);
  EXPECT_THAT(RequestSegment(path_, "job-1", Soon()), IsOk());
}

// The client learns of it; before, the server's thread would spin.
TEST_F(DescriptorServerTest, WithoutADescriptorLeftAConnectionIsClosed) {
  if (!kMayRunOutOfDescriptors) {
    GTEST_SKIP() << "UndefinedBehaviorSanitizer needs descriptors";
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start());
  const UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const timeval limit = {.tv_sec = 30, .tv_usec = 0};
  ASSERT_EQ(::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &limit,
                         sizeof(limit)),
            0);
  const sockaddr_un address = *MakeSocketAddress(path_);
  char byte = 0;
  {
    const DescriptorLimit none_left = DescriptorLimit::NoneLeft();
    ASSERT_EQ(
        ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address),
                  sizeof(address)),
        0);
    EXPECT_EQ(::recv(client.get(), &byte, 1, 0), 0);
  }
  EXPECT_THAT(RequestSegment(path_, "job-1", Soon()), IsOk());
}

TEST_F(DescriptorServerTest, WithoutAServerItIsUnavailable) {
  EXPECT_THAT(
      RequestSegment(path_, "job-1", Soon()),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path_.string())));
  { FGNN_ASSERT_OK_AND_ASSIGN(const auto server, Start()); }
  EXPECT_THAT(RequestSegment(path_, "job-1", Soon()),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(DescriptorServerTest, ASchedulerThatHangsOrDiesIsAnError) {
  const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const sockaddr_un address = *MakeSocketAddress(path_);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
            0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  EXPECT_THAT(
      RequestSegment(path_, "job-1", DeadlineIn(std::chrono::milliseconds(30))),
      StatusIs(absl::StatusCode::kDeadlineExceeded));
  Thread dies("dies", [&] {
    ::close(::accept(listener.get(), nullptr, nullptr));
    ::close(::accept(listener.get(), nullptr, nullptr));
  });
  EXPECT_THAT(RequestSegment(path_, "job-1", Soon()),
              StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace fgnn
