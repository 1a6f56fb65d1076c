#include "shared/http/http_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HttpProtocolTest : public testing::Test {
 protected:
  static HttpResponse Echo(const HttpRequest& request) {
    std::string body = request.path;
    for (const auto& [name, value] : request.query) {
      absl::StrAppend(&body, " ", name, "=", value);
    }
    return {.body = body};
  }

  HttpProtocol::Answer Ask(const std::string& first_line,
                           const std::string& headers = "Host: localhost\r\n") {
    return protocol_.AnswerTo(
        absl::StrCat(first_line, " HTTP/1.1\r\n", headers, "\r\n"),
        /*ends_connection=*/false);
  }

  HttpProtocol protocol_{
      "127.0.0.1",
      {{"/page", Echo}, {"/bad", [](const HttpRequest&) -> HttpResponse {
                           throw std::runtime_error("secret");
                         }}}};
};

TEST_F(HttpProtocolTest, AHandlerGetsPathAndDecodedQuery) {
  const HttpProtocol::Answer answer = Ask("GET /page?b=2%203&a=%3Cx%3E&b=4");
  EXPECT_THAT(answer.bytes, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer.bytes, EndsWith("\r\n\r\n/page a=<x> b=4"));
  EXPECT_THAT(answer.bytes, HasSubstr("Content-Type: text/plain"));
  EXPECT_FALSE(answer.ends_connection);
}

TEST_F(HttpProtocolTest, TwoHostsAreRefused) {
  EXPECT_THAT(
      Ask("GET /page", "Host: localhost\r\nhost: evil.example\r\n").bytes,
      StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Ask("GET /page", "Host: localhost\r\nHost: localhost\r\n").bytes,
              StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpProtocolTest, HeadHasTheHeadersOfGet) {
  const HttpProtocol::Answer answer = Ask("HEAD /page");
  EXPECT_THAT(answer.bytes, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer.bytes, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(answer.bytes, EndsWith("\r\n\r\n"));
}

TEST_F(HttpProtocolTest, EveryAnswerHasTheSecurityHeaders) {
  for (const char* path : {"/page", "/none", "/bad"}) {
    const std::string bytes = Ask(absl::StrCat("GET ", path)).bytes;
    EXPECT_THAT(bytes,
                HasSubstr("Content-Security-Policy: default-src 'self'"));
    EXPECT_THAT(bytes, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
    EXPECT_THAT(bytes, HasSubstr("Cache-Control: no-store\r\n"));
  }
}

TEST_F(HttpProtocolTest, OtherPathsAndMethodsAreRefused) {
  EXPECT_THAT(Ask("GET /page/").bytes, StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Ask("GET /../page").bytes, StartsWith("HTTP/1.1 404"));
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    const HttpProtocol::Answer answer =
        Ask(absl::StrCat(method, " /page"),
            "Host: localhost\r\nContent-Length: 3\r\n");
    EXPECT_THAT(answer.bytes, StartsWith("HTTP/1.1 405")) << method;
    EXPECT_TRUE(answer.ends_connection) << method;
  }
  EXPECT_THAT(Ask("BREW /page").bytes, StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpProtocolTest, ANameOfAnotherSiteIsRefused) {
  EXPECT_THAT(Ask("GET /page", "Host: evil.example\r\n").bytes,
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Ask("GET /page", "").bytes, StartsWith("HTTP/1.1 403"));
}

TEST_F(HttpProtocolTest, AnExceptionShowsNothingToTheClient) {
  const HttpProtocol::Answer answer = Ask("GET /bad");
  EXPECT_THAT(answer.bytes, StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(answer.bytes, Not(HasSubstr("secret")));
}

TEST_F(HttpProtocolTest, ABodyIsNotReadAndEndsTheConnection) {
  for (const char* header :
       {"Content-Length: 5", "Transfer-Encoding: chunked"}) {
    const HttpProtocol::Answer answer =
        Ask("GET /page", absl::StrCat("Host: localhost\r\n", header, "\r\n"));
    EXPECT_THAT(answer.bytes, EndsWith("\r\n\r\n/page")) << header;
    EXPECT_TRUE(answer.ends_connection) << header;
  }
}

TEST_F(HttpProtocolTest, RangesAndCompressionMakeNoLongerAnswer) {
  std::string ranges = "bytes=0-1";
  while (ranges.size() < 8000) ranges += ",0-1";
  const HttpProtocol::Answer answer =
      Ask("GET /page", absl::StrCat("Host: localhost\r\nAccept-Encoding: gzip"
                                    "\r\nRange: ",
                                    ranges, "\r\n"));
  EXPECT_THAT(answer.bytes, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer.bytes, EndsWith("\r\n\r\n/page"));
}

TEST_F(HttpProtocolTest, TheClientsWishToEndIsKept) {
  EXPECT_TRUE(Ask("GET /page", "Host: localhost\r\nConnection: close\r\n")
                  .ends_connection);
  EXPECT_TRUE(protocol_
                  .AnswerTo("GET /page HTTP/1.0\r\nHost: localhost\r\n\r\n",
                            /*ends_connection=*/false)
                  .ends_connection);
}

}  // namespace
}  // namespace fgnn
