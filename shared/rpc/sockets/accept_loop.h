// A thread that accepts connections on a listening socket.
#ifndef FGNN_SHARED_RPC_SOCKETS_ACCEPT_LOOP_H_
#define FGNN_SHARED_RPC_SOCKETS_ACCEPT_LOOP_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/thread.h"
#include "shared/rpc/sockets/accept_connection.h"

namespace fgnn {

class AcceptLoop {
 public:
  // Called on the loop's thread with a nonblocking connection. The next
  // connection waits until it returns, and so does the destructor.
  using OnConnection = std::function<void(UniqueFd connection)>;

  // Starts the thread. `listener` is a nonblocking socket that listens. `name`
  // is its name in messages.
  static absl::StatusOr<std::unique_ptr<AcceptLoop>> Start(
      std::string name, UniqueFd listener, OnConnection on_connection);
  // Stops the thread, and closes the listening socket.
  ~AcceptLoop();
  AcceptLoop(const AcceptLoop&) = delete;
  AcceptLoop& operator=(const AcceptLoop&) = delete;

  // Descriptor of the listening socket.
  int fd() const { return listener_.get(); }

 private:
  AcceptLoop(std::string name, UniqueFd listener, UniqueFd stop,
             OnConnection on_connection);
  void Run();
  void AcceptAll();
  // Waits for `fd` to be readable. Returns true once the thread must end.
  bool WaitFor(int fd, int milliseconds);

  const std::string name_;
  const UniqueFd listener_;
  const UniqueFd stop_;  // An eventfd; signals that the thread must end.
  ConnectionAcceptor acceptor_;  // Only the thread uses this.
  const OnConnection on_connection_;
  Thread thread_;  // Last member: it uses the members above.
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_SOCKETS_ACCEPT_LOOP_H_
