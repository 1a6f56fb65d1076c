// What a page of an HttpServer is asked and answers.
#ifndef FGNN_SHARED_HTTP_HTTP_HANDLER_H_
#define FGNN_SHARED_HTTP_HTTP_HANDLER_H_

#include <functional>
#include <map>
#include <string>

namespace fgnn {

struct HttpRequest {
  // "HOST:PORT" by which the client reaches this server; see IsHostAllowed().
  std::string host;
  std::string path;  // Decoded, without the query: "/metrics".
  // Decoded parameters behind the "?". The last of equal names counts.
  std::map<std::string, std::string> query;
};

struct HttpResponse {
  int status = 200;  // From 200 to 599.
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Answers a GET. For a HEAD the server leaves the body out. Several threads
// call it at once. It returns soon: the server's end waits for it. An exception
// becomes status 500.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// The handlers by their exact paths: "/" or "/metrics".
using HttpHandlers = std::map<std::string, HttpHandler>;

}  // namespace fgnn

#endif  // FGNN_SHARED_HTTP_HTTP_HANDLER_H_
