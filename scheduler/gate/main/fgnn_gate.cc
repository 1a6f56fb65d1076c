#include <openssl/ssl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "scheduler/gate/gate_loop.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/build/build_facts.h"
#include "shared/command_line/command_line.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr int kWrongUse = 2;

// What strangers send is read here: so this process has little, can get no
// more, and goes first where memory is short.
void LimitThisProcess() {
  // Ends with the scheduler, also one that is killed.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  std::ofstream("/proc/self/oom_score_adj") << "800";
  const rlimit no_core = {0, 0};  // It would hold the key.
  ::setrlimit(RLIMIT_CORE, &no_core);
#if !defined(FGNN_SANITIZED)
  constexpr rlim_t kMostBytes = rlim_t{2} << 30;
  const rlimit memory = {kMostBytes, kMostBytes};
  ::setrlimit(RLIMIT_AS, &memory);
#endif
  ::prctl(PR_SET_DUMPABLE, 0);
  std::signal(SIGPIPE, SIG_IGN);
  // A stop of the whole group is the scheduler's: it still has clients then.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
}

bool IsPacketSocket(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
         type == SOCK_SEQPACKET;
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  fgnn::InitLog("fgnn-gate");
  fgnn::CommandLine line(
      "Reads the bytes of clients for the FGNN scheduler, which starts it.",
      "fgnn-gate");
  line.SetVersion(absl::StrCat(FGNN_VERSION, "\n", fgnn::BuildFacts()));
  std::string tls_dir;
  std::string tokens;
  line.root()
      .AddOption("--tls-dir", tls_dir,
                 "Folder with server.pem, server.key and ca.pem; default: "
                 "clients speak in the clear")
      .Takes("DIR");
  line.root()
      .AddOption("--tokens", tokens, "File of the tokens that clients may show")
      .Takes("FILE");
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  if (!fgnn::IsPacketSocket(STDIN_FILENO)) {
    fgnn::LogError("fgnn-scheduler starts this program; 'fgnn up' starts both");
    return fgnn::kWrongUse;
  }
  fgnn::LimitThisProcess();
  auto loop = fgnn::GateLoop::Start({.tls_dir = tls_dir, .tokens = tokens},
                                    fgnn::UniqueFd(STDIN_FILENO));
  // The scheduler has been told why.
  if (!loop.ok()) return fgnn::ExitCode(loop.status());
  const absl::Status served = (*loop)->Run();
  if (!served.ok()) fgnn::LogError("{}", fgnn::MessageOf(served));
  return fgnn::ExitCode(served);
}
