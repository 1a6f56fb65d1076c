#include "scheduler/gate/http2/http2_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "scheduler/gate/packets/leave.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/scheduler/gate/frames.h"

namespace fgnn {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;

// One end of HTTP/2 that notes what it hears. A server answers each call with
// its headers alone, or, in parts, with a message and trailers.
class Peer {
 public:
  enum class Kind { kClient, kServer };
  struct Heard {
    std::map<std::string, std::string> headers;
    std::string bytes;
    bool has_ended = false;
    uint32_t error = 0;  // Of a reset.
  };

  explicit Peer(Kind kind) {
    nghttp2_session_callbacks* made = nullptr;
    ::nghttp2_session_callbacks_new(&made);
    const Http2Callbacks callbacks(made);
    ::nghttp2_session_callbacks_set_on_header_callback(
        made, [](nghttp2_session*, const nghttp2_frame* frame,
                 const uint8_t* name, size_t name_size, const uint8_t* value,
                 size_t value_size, uint8_t, void* peer) {
          Of(peer, frame->hd.stream_id)
              .headers[std::string(name, name + name_size)] =
              std::string(value, value + value_size);
          return 0;
        });
    ::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        made, [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes,
                 size_t size, void* peer) {
          Of(peer, id).bytes.append(bytes, bytes + size);
          return 0;
        });
    ::nghttp2_session_callbacks_set_on_frame_recv_callback(
        made, [](nghttp2_session*, const nghttp2_frame* frame, void* peer) {
          static_cast<Peer*>(peer)->Hear(*frame);
          return 0;
        });
    if (kind == Kind::kClient) {
      nghttp2_session* session = nullptr;
      ::nghttp2_session_client_new(&session, made, this);
      session_.reset(session);
    } else {
      nghttp2_session* session = nullptr;
      ::nghttp2_session_server_new(&session, made, this);
      session_.reset(session);
    }
    ::nghttp2_submit_settings(session_.get(), 0, nullptr, 0);
  }

  int32_t Call(const Headers& more = {}, const std::string& body = "") {
    Headers headers = {{":method", "POST"},
                       {":scheme", "http"},
                       {":path", "/a"},
                       {":authority", "b"}};
    headers.insert(headers.end(), more.begin(), more.end());
    return ::nghttp2_submit_request(session_.get(), nullptr,
                                    ToNv(headers).data(), headers.size(),
                                    Body(body), nullptr);
  }
  void Answer(int32_t id, const Headers& headers, const std::string& body) {
    ::nghttp2_submit_response(session_.get(), id, ToNv(headers).data(),
                              headers.size(), Body(body));
  }
  void Reset(int32_t id) {
    ::nghttp2_submit_rst_stream(session_.get(), 0, id, NGHTTP2_CANCEL);
  }
  std::string Said() {
    std::string said;
    const uint8_t* bytes = nullptr;
    ssize_t size = 0;
    while ((size = ::nghttp2_session_mem_send(session_.get(), &bytes)) > 0) {
      said.append(bytes, bytes + size);
    }
    return said;
  }
  void Hear(const std::string& bytes) {
    ::nghttp2_session_mem_recv(session_.get(),
                               reinterpret_cast<const uint8_t*>(bytes.data()),
                               bytes.size());
  }

  std::map<int32_t, Heard> heard;
  std::string goodbye;  // The text of a GOAWAY.

 private:
  static Heard& Of(void* peer, int32_t id) {
    return static_cast<Peer*>(peer)->heard[id];
  }
  void Hear(const nghttp2_frame& frame) {
    if (frame.hd.type == NGHTTP2_GOAWAY) {
      goodbye.assign(frame.goaway.opaque_data,
                     frame.goaway.opaque_data + frame.goaway.opaque_data_len);
    } else if (frame.hd.type == NGHTTP2_RST_STREAM) {
      heard[frame.hd.stream_id].error = frame.rst_stream.error_code;
    } else if (frame.hd.stream_id > 0 &&
               (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      heard[frame.hd.stream_id].has_ended = true;
    }
  }
  // The bodies live as long as the peer.
  nghttp2_data_provider* Body(const std::string& text) {
    if (text.empty()) return nullptr;
    bodies_.push_back(std::make_unique<std::string>(text));
    provider_.source.ptr = bodies_.back().get();
    provider_.read_callback =
        [](nghttp2_session*, int32_t, uint8_t* out, size_t size,
           uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
      auto& left = *static_cast<std::string*>(source->ptr);
      const size_t some = std::min(size, left.size());
      left.copy(reinterpret_cast<char*>(out), some);
      left.erase(0, some);
      if (left.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
      return static_cast<ssize_t>(some);
    };
    return &provider_;
  }

  Http2Session session_;
  nghttp2_data_provider provider_ = {};
  std::vector<std::unique_ptr<std::string>> bodies_;
};

class Http2ProxyTest : public testing::Test {
 protected:
  Http2ProxyTest() { Pump(); }

  static absl::Span<const uint8_t> SpanOf(const std::string& bytes) {
    return absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(bytes.data()),
                               bytes.size());
  }
  absl::Status FromClient() {
    return proxy_->Take(Http2Proxy::Side::kClient, SpanOf(client_.Said()));
  }
  // Returns the number of bytes for the server.
  size_t ToServer() {
    std::string bytes;
    EXPECT_THAT(proxy_->Fill(Http2Proxy::Side::kServer, bytes, 1 << 30),
                IsOk());
    server_.Hear(bytes);
    return bytes.size();
  }
  void ToClient() {
    std::string bytes;
    EXPECT_THAT(proxy_->Fill(Http2Proxy::Side::kClient, bytes, 1 << 30),
                IsOk());
    client_.Hear(bytes);
  }
  // Passes bytes on until nobody has any.
  void Pump() {
    for (int i = 0; i < 50; ++i) {
      ASSERT_THAT(FromClient(), IsOk());
      ToServer();
      ASSERT_THAT(
          proxy_->Take(Http2Proxy::Side::kServer, SpanOf(server_.Said())),
          IsOk());
      ToClient();
    }
  }

  std::unique_ptr<Http2Proxy> proxy_ =
      Http2Proxy::Make({{"fgnn-client", "10.0.0.7"}}).value();
  Peer client_{Peer::Kind::kClient};
  Peer server_{Peer::Kind::kServer};
};

TEST_F(Http2ProxyTest, ACallAndItsAnswerGoThrough) {
  const std::string large(300'000, 'q');
  const int32_t id = client_.Call({{"grpc-timeout", "1S"}}, large);
  Pump();
  ASSERT_EQ(server_.heard.size(), 1U);
  const auto& [server_id, call] = *server_.heard.begin();
  EXPECT_THAT(call.headers, Contains(Pair("grpc-timeout", "1S")));
  EXPECT_EQ(call.bytes, large);
  EXPECT_TRUE(call.has_ended);
  server_.Answer(server_id, {{":status", "200"}}, std::string(200'000, 'a'));
  Pump();
  EXPECT_EQ(client_.heard[id].bytes.size(), 200'000U);
  EXPECT_TRUE(client_.heard[id].has_ended);
  EXPECT_EQ(proxy_->num_calls(), 0U);
  EXPECT_EQ(proxy_->TakeMarks(), 0U);
}

TEST_F(Http2ProxyTest, AClientCannotWriteTheGatesHeaders) {
  client_.Call({{"fgnn-client", "root"}, {"fgnn-certificates-bin", "eA=="}});
  Pump();
  const auto& headers = server_.heard.begin()->second.headers;
  EXPECT_THAT(headers, Contains(Pair("fgnn-client", "10.0.0.7")));
  EXPECT_THAT(headers, Not(Contains(Key("fgnn-certificates-bin"))));
}

TEST_F(Http2ProxyTest, CallsThatAreTakenBackAtOnceNeverReachTheServer) {
  std::string said;
  for (int i = 0; i < 50; ++i) {
    const auto id = static_cast<uint32_t>(2 * i + 1);
    said += Frame(1, 5, id,
                  "\x83\x86\x84\x41\x01"
                  "b");
    said += Frame(3, 0, id, std::string("\0\0\0\x08", 4));
  }
  ASSERT_THAT(proxy_->Take(Http2Proxy::Side::kClient, SpanOf(said)), IsOk());
  EXPECT_EQ(proxy_->num_calls(), 0U);
  EXPECT_EQ(proxy_->TakeMarks(), 50U);
  ToServer();
  EXPECT_TRUE(server_.heard.empty());
}

TEST_F(Http2ProxyTest, ACallThatWasPassedOnIsTakenBackAtTheServer) {
  const int32_t id = client_.Call({}, std::string(100'000, 'q'));
  ASSERT_THAT(FromClient(), IsOk());
  ToServer();
  client_.Reset(id);
  Pump();
  EXPECT_EQ(server_.heard.begin()->second.error, NGHTTP2_CANCEL);
  EXPECT_EQ(proxy_->TakeMarks(), 1U);
  // Its bytes that waited make room for those of another call.
  const int32_t other = client_.Call({}, std::string(100'000, 'q'));
  Pump();
  EXPECT_EQ(server_.heard.rbegin()->second.bytes.size(), 100'000U) << other;
}

TEST_F(Http2ProxyTest, HeadersBeyondTheLimitEndTheirCallAlone) {
  Headers large;
  for (int i = 0; i < 20; ++i) {
    large.emplace_back("x" + std::to_string(i), std::string(1'000, 'y'));
  }
  const int32_t id = client_.Call(large);
  Pump();
  EXPECT_TRUE(server_.heard.empty());
  EXPECT_EQ(client_.heard[id].error, NGHTTP2_INTERNAL_ERROR);
  EXPECT_EQ(proxy_->TakeMarks(), 1U);
  client_.Call();
  Pump();
  EXPECT_EQ(server_.heard.size(), 1U);
}

TEST_F(Http2ProxyTest, ACallThatContradictsItselfIsAMark) {
  const int32_t id = client_.Call({{"content-length", "5"}}, "abc");
  Pump();
  EXPECT_NE(client_.heard[id].error, 0U);
  EXPECT_EQ(proxy_->TakeMarks(), 1U);
  EXPECT_EQ(proxy_->num_calls(), 0U);
}

TEST_F(Http2ProxyTest, TrailersOfAClientAreAMarkAndHideNoAnswer) {
  const std::string call =
      "\x83\x86\x84\x41\x01"
      "b";
  const std::string trailer("\0\x01x\x01y", 5);
  ASSERT_THAT(
      proxy_->Take(Http2Proxy::Side::kClient, SpanOf(Frame(1, 4, 1, call))),
      IsOk());
  ToServer();
  ASSERT_EQ(server_.heard.size(), 1U);
  ASSERT_THAT(
      proxy_->Take(Http2Proxy::Side::kClient, SpanOf(Frame(1, 5, 1, trailer))),
      IsOk());
  Pump();
  EXPECT_EQ(proxy_->TakeMarks(), 2U);  // The trailers, and the call that ends.
  EXPECT_NE(server_.heard.begin()->second.error, 0U);
}

TEST_F(Http2ProxyTest, ABreachIsAMarkForEachCallThatItEnds) {
  for (int i = 0; i < 10; ++i) client_.Call();
  Pump();
  ASSERT_EQ(proxy_->num_calls(), 10U);
  // SETTINGS of a stream.
  ASSERT_THAT(
      proxy_->Take(Http2Proxy::Side::kClient, SpanOf(Frame(4, 0, 1, ""))),
      IsOk());
  ToClient();
  EXPECT_GE(proxy_->TakeMarks(), 11U);
}

TEST_F(Http2ProxyTest, GrpcIsNotToldThatAMessageIsCompressed) {
  client_.Call({{"grpc-encoding", "gzip"}}, "abc");
  Pump();
  EXPECT_THAT(server_.heard.begin()->second.headers,
              Not(Contains(Key("grpc-encoding"))));
}

TEST_F(Http2ProxyTest, NoMoreBytesAreAskedForThanTheServerTakes) {
  client_.Call({}, std::string(1'000'000, 'q'));
  // The client has all the time that it wants, and the server does not read.
  size_t came = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string said = client_.Said();
    came += said.size();
    ASSERT_THAT(proxy_->Take(Http2Proxy::Side::kClient, SpanOf(said)), IsOk());
    ToClient();
  }
  EXPECT_LT(came, 80'000U);
}

TEST_F(Http2ProxyTest, OneAnswerThatIsNotReadHoldsUpNoOther) {
  const int32_t unread = client_.Call();
  const int32_t read = client_.Call();
  Pump();
  const auto server_id = [&](int32_t id) { return id == unread ? 1 : 3; };
  server_.Answer(server_id(unread), {{":status", "200"}},
                 std::string(100'000, 'a'));
  // The proxy gets what the server may send, and the client takes none of it.
  for (int i = 0; i < 50; ++i) {
    ASSERT_THAT(proxy_->Take(Http2Proxy::Side::kServer, SpanOf(server_.Said())),
                IsOk());
    ToServer();
  }
  server_.Answer(server_id(read), {{":status", "200"}}, "short");
  ASSERT_THAT(proxy_->Take(Http2Proxy::Side::kServer, SpanOf(server_.Said())),
              IsOk());
  ToClient();
  EXPECT_EQ(client_.heard[read].bytes, "short");
}

TEST_F(Http2ProxyTest, AnAnswerToNobodyKnownIsAMark) {
  client_.Call();
  Pump();
  server_.Answer(1, {{":status", "200"}, {"grpc-status", "16"}}, "");
  Pump();
  EXPECT_EQ(proxy_->TakeMarks(), 1U);
}

TEST_F(Http2ProxyTest, WhatIsNoHttp2IsRefused) {
  auto proxy = Http2Proxy::Make({}).value();
  EXPECT_THAT(proxy->Take(Http2Proxy::Side::kClient,
                          SpanOf("GET / HTTP/1.1\r\n\r\n12345678")),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(MakeLeaveTest, TellsAClientWhoWasNotHeard) {
  const std::string last_call_and_code("\0\0\0\0\0\0\0\x0b", 8);
  EXPECT_EQ(MakeLeave("no certificate"),
            Frame(7, 0, 0, last_call_and_code + "no certificate"));
}

}  // namespace
}  // namespace fgnn
