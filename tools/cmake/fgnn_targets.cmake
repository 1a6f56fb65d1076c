# One library per leaf folder: what a leaf may include is what it links.
#
#   fgnn_library(shared_queue SRCS a.cc b.cc DEPS shared_base absl::status)
#
# The target's alias is fgnn::shared_queue; includes are written from the root
# of the tree ("shared/queue/slot.h"). Pass PRIVATE_DEPS for what headers of the
# leaf do not show. A leaf without sources becomes an INTERFACE library.
#
# Most of the time that a source takes to compile goes into headers, so eight
# sources are one unit (FGNN_UNITY). Names in unnamed namespaces must differ
# within a library therefore. The preset debug compiles each source on its own:
# there, and for the tools that read compile_commands.json, each one has to name
# the headers that it needs.
function(fgnn_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  if(ARG_SRCS)
    add_library(${name} STATIC ${ARG_SRCS})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${ARG_DEPS}
                          PRIVATE fgnn_warnings ${ARG_PRIVATE_DEPS})
    target_compile_options(${name} PRIVATE -pthread ${FGNN_LIBRARY_OPTIONS})
    target_precompile_headers(${name} REUSE_FROM ${FGNN_LIBRARY_HEADERS})
    set_target_properties(${name} PROPERTIES
      UNITY_BUILD ${FGNN_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()
  add_library(fgnn::${name} ALIAS ${name})
endfunction()

# Much of the time that a library takes to compile goes into the same headers:
# libraries of this folder and those below it read them once, from here on. A
# folder with compile options of its own calls this again. Sources with options
# of their own read the headers themselves.
macro(fgnn_library_headers name)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cc CONTENT "\n")
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${name}.cc)
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name}
    PRIVATE fgnn_warnings absl::statusor absl::strings absl::span)
  target_compile_options(${name} PRIVATE -pthread ${FGNN_LIBRARY_OPTIONS})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <atomic> <chrono> <cstdint> <cstring> <filesystem> <functional>
    <map> <memory> <mutex> <optional> <string> <utility> <vector>
    <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_join.h>
    <absl/types/span.h>)
  set(FGNN_LIBRARY_HEADERS ${name})
endmacro()
fgnn_library_headers(fgnn_library_headers)

# A room whose bits are promised calls this before its targets. A product and
# the sum that it enters are then rounded one after the other, as on GPUs, also
# by a compiler whose processor could fuse them.
macro(fgnn_exact_room)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
endmacro()

# A room of hot loops calls this before its targets. What the compiler inlines
# there stays what was measured: its sources are units of their own.
macro(fgnn_hot_room)
  set(FGNN_UNITY OFF)
endmacro()

# Sources of an exact room that are compiled for several processors, and fuse where
# one can: see trainer_service/compute/target_clones.h.
function(fgnn_fused_sources)
  set_property(SOURCE ${ARGN} APPEND PROPERTY
    COMPILE_OPTIONS -ffp-contract=fast)
endfunction()

function(fgnn_program name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE fgnn_warnings ${ARG_DEPS})
endfunction()

# The headers that nearly every test begins with, read once instead of 150 times:
# they are half of what compiling a test costs. Executables, so that their flags
# are those of the tests. libtorch's headers take 17 seconds more, so tests
# against libtorch have a set of their own.
function(fgnn_test_headers)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cc
       CONTENT "int main() {}\n")
  foreach(name fgnn_test_headers fgnn_torch_test_headers)
    add_executable(${name} EXCLUDE_FROM_ALL
      ${CMAKE_CURRENT_BINARY_DIR}/test_headers.cc)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE fgnn_warnings GTest::gmock_main)
    target_compile_options(${name} PRIVATE ${FGNN_TEST_OPTIONS})
    target_precompile_headers(${name} PRIVATE
      <gmock/gmock.h> <gtest/gtest.h> <filesystem> <fstream> <functional> <map>
      <memory> <optional> <string> <vector> <absl/status/statusor.h>
      <absl/strings/str_cat.h> <nlohmann/json.hpp>)
  endforeach()
  target_link_libraries(fgnn_torch_test_headers PRIVATE torch_cpu)
  target_precompile_headers(fgnn_torch_test_headers PRIVATE <torch/torch.h>)
endfunction()

# Tests are compiled more often than they run; -pthread comes to some of them
# with gRPC, and precompiled headers want it in all.
set(FGNN_TEST_OPTIONS -pthread $<$<CONFIG:Release>:-O0>)

# What to build for the tests of a label: unit_tests, threads_tests, ….
function(fgnn_build_for_label program labels)
  foreach(label ${labels})
    if(NOT TARGET ${label}_tests)
      add_custom_target(${label}_tests)
    endif()
    add_dependencies(${label}_tests ${program})
  endforeach()
endfunction()

# A GoogleTest program. Its sources are compiled as one unit: nine sources of a
# test of the scheduler take 12 seconds so under AddressSanitizer, and 38 each on
# its own. Names in unnamed namespaces must differ within a program therefore.
# TORCH: it includes libtorch's headers. LABELS: unit (default), fault, …; threads
# beside it where threads of the program share memory: those alone are run under
# ThreadSanitizer, which has nothing to see in the others; clock where a busy
# machine can fail it (see tools/run_tests). COST: see fgnn_add_test.
function(fgnn_test name)
  cmake_parse_arguments(ARG "TORCH" "TIMEOUT;COST" "SRCS;DEPS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE fgnn_warnings ${ARG_DEPS}
                        GTest::gmock_main)
  target_compile_options(${name} PRIVATE ${FGNN_TEST_OPTIONS})
  if(ARG_TORCH)
    target_link_libraries(${name} PRIVATE torch_cpu)
    target_precompile_headers(${name} REUSE_FROM fgnn_torch_test_headers)
  else()
    target_precompile_headers(${name} REUSE_FROM fgnn_test_headers)
  endif()
  set_target_properties(${name} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  fgnn_add_test(${name} LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT}
                COST "${ARG_COST}" COMMAND ${name})
  fgnn_build_for_label(${name} "${ARG_LABELS}")
endfunction()

# A test of any kind. Instrumented programs run unoptimised, several times as
# long as they were timed for: FGNN_TEST_PATIENCE multiplies the deadlines that
# tests/integration has. COST: about the seconds that a long test takes in the
# slowest preset. Several at a time, ctest begins with the longest, so that none
# of them runs on alone at the end.
function(fgnn_add_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;COST" "COMMAND;LABELS" ${ARGN})
  set(environment FGNN_SOURCE_DIR=${CMAKE_SOURCE_DIR}
                  FGNN_BIN_DIR=${CMAKE_BINARY_DIR}/bin)
  if(FGNN_SANITIZE)
    math(EXPR ARG_TIMEOUT "8 * ${ARG_TIMEOUT}")
    list(APPEND environment FGNN_TEST_PATIENCE=8)
  endif()
  if(FGNN_SANITIZE MATCHES thread)
    list(APPEND environment
      TSAN_OPTIONS=halt_on_error=1:suppressions=${CMAKE_SOURCE_DIR}/tools/cmake/tsan_suppressions.txt)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES
    LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${environment}")
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
endfunction()
