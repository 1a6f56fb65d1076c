// What a client of the port is told.
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include "shared/base/files/unique_fd.h"
#include "tests/unit/scheduler/rpc/port/port_server_fixture.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(PortServerTest, AClientTellsWhyItCannotReachTheService) {
  Start();
  const RemoteService right = Service(Mine());
  EXPECT_THAT(ExplainUnreachable(right), IsOk());
  const auto wrong_for = [](const std::string& words) {
    return StatusIs(StatusCode::kFailedPrecondition, HasSubstr(words));
  };
  RemoteService wrong = right;
  wrong.address.host = "localhost";
  EXPECT_THAT(ExplainUnreachable(wrong),
              wrong_for("other names than localhost"));
  wrong = right;
  wrong.insecure = true;
  EXPECT_THAT(ExplainUnreachable(wrong), wrong_for("leave --insecure out"));
  Make("ca", temp_ / "other");
  wrong = right;
  wrong.tls_dir = temp_ / "other";
  EXPECT_THAT(ExplainUnreachable(wrong),
              wrong_for("not signed by the authority"));
  EXPECT_THAT(MakeRemoteChannel(wrong),
              StatusIs(StatusCode::kNotFound, HasSubstr("user.pem")));
  server_.reset();
  EXPECT_THAT(ExplainUnreachable(right), StatusIs(StatusCode::kUnavailable));
}

// Accepts one connection, sends `answer`, and closes it. What comes meanwhile
// is read, or breaks the connection.
absl::Status ExplainAnswer(const std::string& answer, RemoteService service,
                           bool reads_all = true) {
  FGNN_ASSIGN_OR_RETURN(const UniqueFd socket,
                        ListenOn({.host = "127.0.0.1", .port = 0}));
  FGNN_ASSIGN_OR_RETURN(service.address, BoundAddress(socket.get()));
  std::thread peer([&] {
    pollfd comes = {.fd = socket.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&comes, 1, 100'000), 1);
    const UniqueFd connection(::accept(socket.get(), nullptr, nullptr));
    std::string hello(16, ' ');
    EXPECT_GT(::recv(connection.get(), hello.data(), hello.size(), 0), 0);
    EXPECT_EQ(::send(connection.get(), answer.data(), answer.size(), 0),
              static_cast<ssize_t>(answer.size()));
    ::shutdown(connection.get(), SHUT_WR);
    while (reads_all &&
           ::recv(connection.get(), hello.data(), hello.size(), 0) > 0) {
    }
  });
  absl::Status why = ExplainUnreachable(service);
  peer.join();
  return why;
}

TEST_F(PortServerTest, OnlyAnAnswerInTheClearLeadsToInsecure) {
  const RemoteService service = {.address = {}, .tls_dir = Mine()};
  EXPECT_THAT(
      ExplainAnswer("", service),
      StatusIs(StatusCode::kUnavailable,
               AllOf(HasSubstr("try again"), Not(HasSubstr("--insecure")))));
  // TLS's alert "internal error".
  EXPECT_THAT(
      ExplainAnswer({"\x15\x03\x03\x00\x02\x02\x50", 7}, service),
      StatusIs(StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("alert"), Not(HasSubstr("--insecure")))));
  // An empty SETTINGS of HTTP/2, and the answer of an HTTP/1.1 server.
  for (const std::string& clear :
       {std::string("\0\0\0\4\0\0\0\0\0", 9),
        std::string("HTTP/1.1 400 Bad Request\r\n\r\n")}) {
    EXPECT_THAT(
        ExplainAnswer(clear, service),
        StatusIs(StatusCode::kFailedPrecondition, HasSubstr("add --insecure")));
  }
}

TEST_F(PortServerTest, AServiceThatBreaksTheConnectionDoesNotEndItsClient) {
  const RemoteService service = {.address = {}, .tls_dir = Mine()};
  // The client writes to nobody that this is no greeting of TLS's.
  const std::string empty_greeting("\x16\x03\x03\0\x04\x02\0\0\0", 9);
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(
        ExplainAnswer(empty_greeting, service, /*reads_all=*/false).ok());
  }
}

}  // namespace
}  // namespace fgnn
