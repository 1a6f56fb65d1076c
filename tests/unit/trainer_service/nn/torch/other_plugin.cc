// A plugin of another version (OTHER_VERSION), or of another libtorch.
#include <cstdint>

extern "C" {
struct OtherEntry {
  uint32_t version;
  const char* torch_version;
  void* make_layer;
};
extern const OtherEntry fgnn_model_plugin;
const OtherEntry fgnn_model_plugin = {OTHER_VERSION, "1.2.3", nullptr};
}
