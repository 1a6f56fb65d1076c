// The release that this program belongs to.
#ifndef FGNN_TOOLS_FGNN_VERSION_H_
#define FGNN_TOOLS_FGNN_VERSION_H_

namespace fgnn {

inline constexpr char kVersion[] = FGNN_VERSION;  // Set by CMake's project().

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_VERSION_H_
