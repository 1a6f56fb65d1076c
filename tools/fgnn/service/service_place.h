// Where a command finds its service.
#ifndef FGNN_TOOLS_FGNN_SERVICE_SERVICE_PLACE_H_
#define FGNN_TOOLS_FGNN_SERVICE_SERVICE_PLACE_H_

#include <filesystem>
#include <string>

namespace fgnn {

struct ServicePlace {
  std::filesystem::path state_dir;  // Folder of a service of this machine.
  // HOST:PORT of a service on another machine, which then counts alone; empty:
  // none.
  std::string server = {};
  // Folder with the certificates or the token for `server`.
  std::filesystem::path tls_dir = {};
  bool insecure = false;  // Whether to speak to `server` in the clear.

  bool is_remote() const { return !server.empty(); }
};

// Returns the folder with this user's certificates or token. It is
// $FGNN_TLS_DIR if set, else $XDG_CONFIG_HOME/fgnn or ~/.config/fgnn. The
// arguments are the environment's values, null where unset. Empty: none is set.
std::filesystem::path DefaultTlsDir(const char* fgnn_tls_dir,
                                    const char* xdg_config_home,
                                    const char* home);

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_SERVICE_SERVICE_PLACE_H_
