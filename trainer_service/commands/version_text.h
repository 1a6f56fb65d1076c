// The texts that "fgnn-trainer --version" and "fgnn-trainer libtorch" print.
#ifndef FGNN_TRAINER_SERVICE_COMMANDS_VERSION_TEXT_H_
#define FGNN_TRAINER_SERVICE_COMMANDS_VERSION_TEXT_H_

#include <string>
#include <string_view>

namespace fgnn {

// Returns the library that models of the user's need: "libtorch 2.11.0". It may
// be missing.
std::string TorchText();

// Returns lines: the program's own version, TorchText(), and BuildFacts().
std::string VersionText(std::string_view version);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_COMMANDS_VERSION_TEXT_H_
