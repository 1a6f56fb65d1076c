// The main() of tests that run on the GPU: bodies of unit tests, with the
// kernels that nvcc made. --short is for slow tools: random cases are fewer.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSkipped = 77;

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--short") == 0) ::setenv("FGNN_SHORT", "1", 1);
  }
  int devices = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&devices);
      error != cudaSuccess || devices == 0) {
    std::printf("skipped: no GPU (%s)\n", cudaGetErrorName(error));
    return kSkipped;
  }
  const int code = RUN_ALL_TESTS();
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  std::printf("%d passed, %d failed\n", tests.successful_test_count(),
              tests.failed_test_count());
  return code;
}
