// The text that "fgnn-trainer --version" prints.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_VERSION_TEXT_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_VERSION_TEXT_H_

#include <string>
#include <string_view>

namespace fgnn {

// Returns two lines: the program's own version, then a line such as "libtorch
// 2.11.0". `fgnn doctor` reads the second line, since fgnn itself does not link
// libtorch.
std::string VersionText(std::string_view version);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_VERSION_TEXT_H_
