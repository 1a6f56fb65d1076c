# Foreign libraries: Debian's packages, and libtorch from its wheel.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Boost REQUIRED)
find_package(Protobuf CONFIG QUIET)
if(NOT Protobuf_FOUND)
  find_package(Protobuf REQUIRED)
endif()
find_package(gRPC CONFIG REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(LIBURING REQUIRED IMPORTED_TARGET liburing)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)
find_library(FGNN_METIS metis REQUIRED)
add_library(metis SHARED IMPORTED)
set_target_properties(metis PROPERTIES IMPORTED_LOCATION "${FGNN_METIS}")
if(FGNN_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

# libtorch for CPU devices. The wheel's TorchConfig.cmake stops where there is
# no CUDA toolkit, so the two libraries a CPU program needs are imported here.
set(FGNN_TORCH_ROOT "${FGNN_TORCH_DIR}/torch")
if(NOT EXISTS "${FGNN_TORCH_ROOT}/lib/libtorch_cpu.so")
  message(FATAL_ERROR
    "libtorch not found in ${FGNN_TORCH_ROOT}. Run tools/setup, or pass "
    "-DFGNN_TORCH_DIR=DIR, a folder that holds torch/ of the torch wheel.")
endif()
file(STRINGS "${FGNN_TORCH_ROOT}/version.py" FGNN_TORCH_RELEASE
     REGEX "^__version__ = ")
string(REGEX MATCH "[0-9]+[.][0-9]+[.][0-9]+" FGNN_TORCH_RELEASE
       "${FGNN_TORCH_RELEASE}")
add_library(torch_c10 SHARED IMPORTED)
set_target_properties(torch_c10 PROPERTIES
  IMPORTED_LOCATION "${FGNN_TORCH_ROOT}/lib/libc10.so")
add_library(torch_libtorch_cpu SHARED IMPORTED)
set_target_properties(torch_libtorch_cpu PROPERTIES
  IMPORTED_LOCATION "${FGNN_TORCH_ROOT}/lib/libtorch_cpu.so")
add_library(torch_cpu INTERFACE)
target_link_libraries(torch_cpu INTERFACE torch_libtorch_cpu torch_c10)
target_include_directories(torch_cpu SYSTEM INTERFACE
  "${FGNN_TORCH_ROOT}/include"
  "${FGNN_TORCH_ROOT}/include/torch/csrc/api/include")
