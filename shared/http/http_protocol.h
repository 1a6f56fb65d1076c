// Requests and responses of HTTP as bytes. Only its .cc sees cpp-httplib.
#ifndef FGNN_SHARED_HTTP_HTTP_PROTOCOL_H_
#define FGNN_SHARED_HTTP_HTTP_PROTOCOL_H_

#include <memory>
#include <string>
#include <string_view>

#include "shared/http/http_handler.h"

namespace fgnn {

// Answers GET and HEAD by handlers, and refuses everything else. Thread-safe.
class HttpProtocol {
 public:
  struct Answer {
    std::string bytes;            // The whole response.
    bool ends_connection = true;  // Whether no request may follow.
  };

  // `bound_host`: the name of this server, which a request may bear.
  HttpProtocol(std::string bound_host, HttpHandlers handlers);
  ~HttpProtocol();
  HttpProtocol(const HttpProtocol&) = delete;
  HttpProtocol& operator=(const HttpProtocol&) = delete;

  // Answers a request. `head`: its first line and its headers, with the empty
  // line behind them. A body is never read: such a request ends the connection.
  // `ends_connection`: the answer says that no request may follow.
  Answer AnswerTo(std::string_view head, bool ends_connection);

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_HTTP_HTTP_PROTOCOL_H_
