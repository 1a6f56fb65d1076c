// GraphSAGE as a TorchScript file, as a user's program would write it.
#ifndef FGNN_TESTS_FAKES_SCRIPT_SAGE_H_
#define FGNN_TESTS_FAKES_SCRIPT_SAGE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fgnn {

// Writes a model with a layer between each two of `widths`. The weights are
// always the same: per layer neighbors [out, in], bias [out], own [out, in].
// `flaw`: "" for none, or "no_layers", "one_argument", "stray_parameter",
// "buffer", "no_gradient", "frozen_bias", "double", "dropout". With "throws"
// the model throws in evaluation. With "throws_late" it throws in evaluation
// for more than 100 sources.
void WriteScriptSage(const std::filesystem::path& path,
                     const std::vector<int64_t>& widths,
                     const std::string& flaw = "");

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_SCRIPT_SAGE_H_
