// The types of stored features. Apart from dataset.h, for kernels: these
// include no Abseil.
#ifndef FGNN_SHARED_GRAPH_FEATURE_TYPE_H_
#define FGNN_SHARED_GRAPH_FEATURE_TYPE_H_

#include <cstdint>

namespace fgnn {

enum class FeatureType : uint8_t { kFloat32, kFloat16, kBfloat16 };

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_FEATURE_TYPE_H_
