// Devices and errors of CUDA's API.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "tests/fakes/cuda/fake_runtime.h"

namespace {

using fgnn::simt::FakeRuntime;

FakeRuntime& R() { return FakeRuntime::Get(); }

// On the device with the number `device`.
template <typename Body>
cudaError_t OnDevice(int device, Body body) {
  return R().Call([&] {
    return device < 0 || device >= R().device().count ? cudaErrorInvalidDevice
                                                      : body();
  });
}

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice",
     "invalid device ordinal"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorHostMemoryAlreadyRegistered,
     "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure",
     "unspecified launch failure"},
};
const ErrorText& TextOf(cudaError_t error) {
  static constexpr ErrorText kOther = {
      cudaErrorUnknown, "cudaErrorUnknown",
      "an error that the fake has no text for"};
  for (const ErrorText& known : kErrors) {
    if (known.error == error) return known;
  }
  return kOther;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return R().Call([&] {
    *count = R().device().count;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return OnDevice(device, [device] {
    FakeRuntime::SetCurrent(device);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return R().Call([&] {
    *device = FakeRuntime::current();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute,
                                   int device) {
  return OnDevice(device, [&] {
    if (attribute != cudaDevAttrMultiProcessorCount) {
      return cudaErrorInvalidValue;
    }
    *value = R().device().multiprocessors;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return OnDevice(device, [&] {
    *properties = {};
    const bool is_last = device + 1 == R().device().count;
    const std::string name = is_last ? R().device().last_name : "emulated";
    name.copy(properties->name, sizeof(properties->name) - 1);
    properties->totalGlobalMem = R().device().memory_bytes;
    properties->multiProcessorCount = R().device().multiprocessors;
    properties->major = 9;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    properties->sharedMemPerBlock = 48 * 1024;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return R().Call([&] {
    *total = R().device().memory_bytes;
    const size_t used =
        R().memory().BookedBytes(R().device(), FakeRuntime::current());
    *free = *total - std::min(*total, used);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return R().Call([] { return R().WaitUntil([] { return R().IsIdle(); }); });
}

cudaError_t cudaGetLastError() { return R().TakeLastError(); }
const char* cudaGetErrorName(cudaError_t error) { return TextOf(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return TextOf(error).text; }

}  // extern "C"
