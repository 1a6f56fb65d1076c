// Sets the fake GPUs of an emulated daemon before main() runs, as the test's
// environment says.
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/fakes/cuda/fake_cudart.h"

namespace fgnn::simt {
namespace {

// Writes what this process did into a file of its own.
void WriteCounts() {
  const char* const folder = std::getenv("FGNN_FAKE_GPU_COUNTS");
  const FakeCounts counts = GetFakeCounts();
  const std::string path = std::string(folder) + "/" +
                           program_invocation_short_name + "." +
                           std::to_string(::getpid());
  std::ofstream file(path);
  file << "{\"launches\": " << counts.launches
       << ", \"waits\": " << counts.waits << ", \"copies\": " << counts.copies
       << ", \"copied_bytes\": " << counts.copied_bytes
       << ", \"allocations\": " << counts.allocations << "}\n";
  if (!file.flush()) std::fprintf(stderr, "fake cudart: %s\n", path.c_str());
}

bool SetDeviceOfEnvironment() {
  FakeDevice device;
  if (const char* const count = std::getenv("FGNN_FAKE_GPUS")) {
    device.count = std::stoi(count);
  }
  if (const char* const name = std::getenv("FGNN_FAKE_LAST_GPU")) {
    device.last_name = name;
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
  if (std::getenv("FGNN_FAKE_GPU_COUNTS") != nullptr) std::atexit(WriteCounts);
  struct sigaction fault = {};
  fault.sa_handler = [](int) { FailNow(); };
  fault.sa_flags = SA_RESTART;
  return ::sigaction(SIGUSR2, &fault, nullptr) == 0;
}

[[maybe_unused]] const bool is_set = SetDeviceOfEnvironment();

}  // namespace
}  // namespace fgnn::simt
