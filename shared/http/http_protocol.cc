#include "shared/http/http_protocol.h"

#include <httplib.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/http/host_header.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// A browser loads nothing from elsewhere, runs no script inside of a page's
// text, shows the page in no frame, and keeps no copy of it.
httplib::Headers SecurityHeaders() {
  return {{"Content-Security-Policy",
           "default-src 'self'; base-uri 'none'; form-action 'none'; "
           "frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cache-Control", "no-store"}};
}

// One request in memory, and its response.
class MemoryStream : public httplib::Stream {
 public:
  explicit MemoryStream(std::string_view request) : request_(request) {}

  bool is_readable() const override { return !request_.empty(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override {
    const size_t taken = std::min(size, request_.size());
    std::memcpy(to, request_.data(), taken);
    request_.remove_prefix(taken);
    return static_cast<ssize_t>(taken);
  }
  ssize_t write(const char* from, size_t size) override {
    response_.append(from, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

  std::string TakeResponse() { return std::move(response_); }

 private:
  std::string_view request_;
  std::string response_;
};

// Whether a body follows the head.
bool HasBody(const httplib::Request& request) {
  const std::string length = request.get_header_value("Content-Length");
  return request.has_header("Transfer-Encoding") ||
         (!length.empty() && length != "0");
}

// Removes what would make the response longer than the handler's, or cost more
// than the handler: several ranges of it, and compression.
void KeepPlain(httplib::Request& request) {
  request.ranges.clear();
  request.headers.erase("Accept-Encoding");
}

void Refuse(int status, const std::string& why, httplib::Response& response) {
  response.status = status;
  response.set_content(why + "\n", "text/plain; charset=utf-8");
}

void RunHandler(const HttpHandler& handler, const httplib::Request& request,
                httplib::Response& response) {
  HttpRequest asked{.host = request.get_header_value("Host"),
                    .path = request.path,
                    .query = {}};
  for (const auto& [name, value] : request.params) asked.query[name] = value;
  HttpResponse answer;
  const absl::Status done = CatchExceptions([&] {
    answer = handler(asked);
    return absl::OkStatus();
  });
  if (!done.ok()) {
    LogError("page {}: {}", asked.path, MessageOf(done));
    return Refuse(500, "the page could not be made; the log says why",
                  response);
  }
  response.status = answer.status;
  response.set_content(std::move(answer.body), answer.content_type);
}

}  // namespace

// Uses the parser and the writer of the library, not its sockets and threads:
// README.md says which limits these lack.
class HttpProtocol::Parser : public httplib::Server {
 public:
  Parser(std::string bound_host, HttpHandlers handlers)
      : bound_host_(std::move(bound_host)), handlers_(std::move(handlers)) {
    set_default_headers(SecurityHeaders());
    // Runs before the library's own routes, which match regular expressions.
    set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          Route(request, response);
          return HandlerResponse::Handled;
        });
  }

  Answer Run(std::string_view head, bool ends_connection) {
    MemoryStream stream(head);
    bool client_ends = false;
    bool is_parsed = false;
    bool has_body = false;
    const bool is_written = process_request(
        stream, ends_connection, client_ends, [&](httplib::Request& request) {
          is_parsed = true;
          has_body = HasBody(request);
          KeepPlain(request);
        });
    return {.bytes = stream.TakeResponse(),
            .ends_connection = ends_connection || client_ends || has_body ||
                               !is_parsed || !is_written};
  }

 private:
  void Route(const httplib::Request& request, httplib::Response& response) {
    // Which of two would count is not the same for every proxy before us.
    if (request.get_header_value_count("Host") > 1) {
      return Refuse(400, "the request has two Host headers", response);
    }
    if (!IsHostAllowed(request.get_header_value("Host"), bound_host_)) {
      return Refuse(403,
                    "this server is not known by that name; use its address, "
                    "e.g. http://127.0.0.1",
                    response);
    }
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      return Refuse(405, "this server is only read from", response);
    }
    const auto found = handlers_.find(request.path);
    if (found == handlers_.end()) return Refuse(404, "no such page", response);
    RunHandler(found->second, request, response);
  }

  const std::string bound_host_;
  const HttpHandlers handlers_;
};

HttpProtocol::HttpProtocol(std::string bound_host, HttpHandlers handlers)
    : parser_(std::make_unique<Parser>(std::move(bound_host),
                                       std::move(handlers))) {}

HttpProtocol::~HttpProtocol() = default;

HttpProtocol::Answer HttpProtocol::AnswerTo(std::string_view head,
                                            bool ends_connection) {
  return parser_->Run(head, ends_connection);
}

}  // namespace fgnn
