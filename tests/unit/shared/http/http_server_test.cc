#include "shared/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <optional>

#include "shared/base/clock.h"
#include "shared/base/threads/notification.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

constexpr seconds kPatience{30};
constexpr char kGet[] = "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr char kLastGet[] =
    "GET /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

class Client {
 public:
  // Connects with a server on 127.0.0.1.
  explicit Client(const HttpServer& server) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.address().port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd_.Reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address),
                        sizeof(address)),
              0);
  }

  void Send(const std::string& text) {
    ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  // Returns what the server says until it ends the connection, or nullopt if
  // it does not end it in time.
  std::optional<std::string> ReadAll() { return ReadUntil(""); }
  // Returns what the server says until `end`; empty: until it ends the
  // connection.
  std::optional<std::string> ReadUntil(const std::string& end) {
    std::string said;
    char bytes[4096];
    while (end.empty() || said.find(end) == std::string::npos) {
      pollfd waited = {fd_.get(), POLLIN, 0};
      if (::poll(&waited, 1,
                 static_cast<int>(milliseconds(kPatience).count())) <= 0) {
        return std::nullopt;
      }
      const ssize_t size = ::recv(fd_.get(), bytes, sizeof(bytes), 0);
      if (size <= 0) return said;
      said.append(bytes, static_cast<size_t>(size));
    }
    return said;
  }

 private:
  UniqueFd fd_;
};

class HttpServerTest : public testing::Test {
 protected:
  void Start(const HttpLimits& limits = {}) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        server_,
        HttpServer::Start({.host = "127.0.0.1", .port = 0},
                          {{"/page",
                            [](const HttpRequest&) -> HttpResponse {
                              return {.body = "text"};
                            }},
                           {"/large",
                            [](const HttpRequest&) -> HttpResponse {
                              return {.body = std::string(64 << 20, 'x')};
                            }},
                           {"/slow",
                            [this](const HttpRequest&) -> HttpResponse {
                              is_asked_.Notify();
                              may_answer_.WaitUntil(DeadlineIn(kPatience));
                              return {.body = "text"};
                            }}},
                          limits));
  }

  Notification is_asked_;
  Notification may_answer_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOfOneConnection) {
  Start();
  Client client(*server_);
  for (int i = 0; i < 3; ++i) {
    client.Send(kGet);
    EXPECT_THAT(client.ReadUntil("text").value_or("late"),
                StartsWith("HTTP/1.1 200"));
  }
  client.Send(std::string(kGet) + kLastGet);  // At once.
  const std::string said = client.ReadAll().value_or("late");
  EXPECT_NE(said.find("HTTP/1.1", 1), std::string::npos) << said;
}

TEST_F(HttpServerTest, ARequestInPiecesIsOneRequest) {
  Start();
  Client client(*server_);
  for (const char byte : std::string(kLastGet)) client.Send({byte});
  EXPECT_THAT(client.ReadAll().value_or("late"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, HeadsThatAreTooLongAreRefused) {
  Start();
  const std::string long_word(9000, 'x');
  for (const std::string& head :
       {"GET /" + long_word, "GET /page HTTP/1.1\r\nX: " + long_word}) {
    Client client(*server_);
    client.Send(head);
    EXPECT_THAT(client.ReadAll().value_or("late"), StartsWith("HTTP/1.1 431"));
  }
  Client client(*server_);
  std::string many = "GET /page HTTP/1.1\r\n";
  while (many.size() < 9000) many += "A: b\r\n";
  client.Send(many + "\r\n");
  EXPECT_THAT(client.ReadAll().value_or("late"), StartsWith("HTTP/1.1 431"));
}

TEST_F(HttpServerTest, SilentAndSlowClientsAreCutOff) {
  Start({.idle = milliseconds(50), .read = milliseconds(50)});
  Client silent(*server_);
  EXPECT_EQ(silent.ReadAll(), "");
  Client slow(*server_);
  slow.Send("GET /page HTTP/1.1\r\n");
  EXPECT_EQ(slow.ReadAll(), "");
}

TEST_F(HttpServerTest, AClientThatReadsNothingIsCutOff) {
  Start({.connections = 1, .write = milliseconds(50)});
  Client client(*server_);
  client.Send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Client next(*server_);  // Takes the only place.
  next.Send(kLastGet);
  EXPECT_THAT(next.ReadAll().value_or("late"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, WhoKeepsTheServerWaitingLongestMakesRoom) {
  Start({.connections = 3, .idle = 2 * kPatience, .read = 2 * kPatience});
  Client drips(*server_);
  drips.Send("GET /page HTTP/1.1\r\n");
  Client idle(*server_);
  idle.Send(kGet);
  EXPECT_THAT(idle.ReadUntil("text").value_or("late"), HasSubstr("text"));
  Client slow(*server_);
  slow.Send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(is_asked_.WaitUntil(DeadlineIn(kPatience)));
  Client next(*server_);
  next.Send(kLastGet);
  EXPECT_THAT(next.ReadAll().value_or("late"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(drips.ReadAll(), "");
  idle.Send(kGet);
  EXPECT_THAT(idle.ReadUntil("text").value_or("late"), HasSubstr("text"));
  // A response that is being made is not lost.
  may_answer_.Notify();
  EXPECT_THAT(slow.ReadUntil("text").value_or("late"), HasSubstr("text"));
}

TEST(ClientWaitTest, AWaitIsCutOnceAndOnlyWhileItLasts) {
  ClientWait wait;
  const int64_t since = wait.since();
  EXPECT_NE(since, ClientWait::kNever) << "a new connection waits";
  EXPECT_TRUE(wait.End());
  EXPECT_FALSE(wait.Cut(since)) << "a response that is being made is lost";
  wait.Begin();
  EXPECT_TRUE(wait.Cut(wait.since()));
  EXPECT_EQ(wait.since(), ClientWait::kCut);
  EXPECT_FALSE(wait.End()) << "a request of a cut connection is answered";
}

TEST_F(HttpServerTest, WhereAllAreAnsweredTheNextWaits) {
  Start({.connections = 1});
  Client slow(*server_);
  slow.Send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(is_asked_.WaitUntil(DeadlineIn(kPatience)));
  Client next(*server_);
  next.Send(kLastGet);
  may_answer_.Notify();
  EXPECT_THAT(slow.ReadAll().value_or("late"), HasSubstr("text"));
  EXPECT_THAT(next.ReadAll().value_or("late"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, StopsAtOnceWithOpenConnections) {
  Start({.idle = 2 * kPatience});
  Client idle(*server_);
  idle.Send(kGet);
  EXPECT_THAT(idle.ReadUntil("text").value_or("late"), HasSubstr("text"));
  Client slow(*server_);
  slow.Send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(is_asked_.WaitUntil(DeadlineIn(kPatience)));
  may_answer_.Notify();
  const Stopwatch watch;
  server_.reset();
  EXPECT_LT(watch.Seconds(), seconds(kPatience).count());
  EXPECT_EQ(idle.ReadAll(), "");
}

TEST_F(HttpServerTest, SaysWhichAddressIsTaken) {
  Start();
  EXPECT_THAT(HttpServer::Start(server_->address(), {}).status(),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr(server_->address().Text())));
}

}  // namespace
}  // namespace fgnn
