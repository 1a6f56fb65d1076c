// Sets the fake GPUs of an emulated daemon before main() runs, as the test's
// environment says.
#include <cstdlib>
#include <string>

#include "tests/fakes/cuda/fake_cudart.h"

namespace fgnn::simt {
namespace {

bool SetDeviceOfEnvironment() {
  FakeDevice device;
  if (const char* const count = std::getenv("FGNN_FAKE_GPUS")) {
    device.count = std::stoi(count);
  }
  if (const char* const bytes = std::getenv("FGNN_FAKE_GPU_BYTES")) {
    device.memory_bytes = std::stoull(bytes);
  }
  if (const char* const path = std::getenv("FGNN_FAKE_GPU_ACCOUNTS")) {
    device.shared_accounts = path;
  }
  SetFakeDevice(device);
  if (const char* const calls = std::getenv("FGNN_FAKE_GPU_CALLS")) {
    FailAfter(std::stoull(calls), cudaErrorIllegalAddress, /*sticky=*/true);
  }
  return true;
}

[[maybe_unused]] const bool is_set = SetDeviceOfEnvironment();

}  // namespace
}  // namespace fgnn::simt
