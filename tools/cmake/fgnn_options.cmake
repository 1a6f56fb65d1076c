# Options a user may set, and the flags that every target is compiled with.
option(FGNN_BUILD_TESTS "Build the unit and integration tests" ON)
set(FGNN_SANITIZE "" CACHE STRING
    "Sanitizers for all targets, e.g. 'address,undefined' or 'thread'")
set(FGNN_TORCH_DIR "${CMAKE_SOURCE_DIR}/.deps/torch" CACHE PATH
    "Folder that holds torch/ as the wheel unpacks (see tools/setup)")
option(FGNN_CUDA "Build the kernels for GPUs (see tools/setup --cuda)" OFF)
set(FGNN_CUDA_DIR "${CMAKE_SOURCE_DIR}/.deps/cuda/nvidia/cu13" CACHE PATH
    "Folder of a CUDA toolkit, with bin/nvcc and lib64 (see tools/setup)")
option(FGNN_FUZZ "Link tests/fuzz with clang's libFuzzer" OFF)
option(FGNN_UNITY "Compile several sources of a library as one unit" ON)
set(FGNN_REVISION "" CACHE STRING
    "What --version says of the revision; empty: git's word of the sources")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# The whole program takes seconds to link with ld, and a fraction with mold.
find_program(FGNN_MOLD mold)
if(FGNN_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
find_program(FGNN_CCACHE ccache)
if(FGNN_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${FGNN_CCACHE})
endif()
# clang writes into a precompiled header when each of its headers was written, so
# ccache takes that of a new build folder for another one. ninja knows the times.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer")
if(FGNN_SANITIZE)
  # Instrumented code is compiled more often than run: -O0 takes half the time.
  # -g1: a report needs lines, and full debug information costs a third of the
  # build.
  set(CMAKE_CXX_FLAGS_DEBUG "-O0 -fno-omit-frame-pointer")
  add_compile_options(-fsanitize=${FGNN_SANITIZE} -fno-sanitize-recover=all
                      -g1)
  add_link_options(-fsanitize=${FGNN_SANITIZE})
  add_compile_definitions(FGNN_SANITIZED)
  if(FGNN_FUZZ)
    # So that libFuzzer sees which branches of the libraries an input reaches. It
    # costs a third of a unit's compile time, so a replayed corpus does without.
    set(FGNN_LIBRARY_OPTIONS -fsanitize=fuzzer-no-link)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)  # It does not know our one fence.
  endif()
endif()

# Ours only; generated and foreign code is included as SYSTEM.
add_library(fgnn_warnings INTERFACE)
target_compile_options(fgnn_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Werror
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # GCC 12 takes std::string's own copies for overlapping or too long ones (GCC
  # bugs 105329, 105651). AddressSanitizer sees the real ones. A source of a unit
  # counts as a header for it, so it warns of types in unnamed namespaces.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
