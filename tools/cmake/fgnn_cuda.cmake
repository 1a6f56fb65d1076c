# Kernels: for GPUs with nvcc, where FGNN_CUDA is on, and for the tests as plain
# C++ in the emulator of tests/simt, everywhere.

# CUDA's headers: of the toolkit, or the two wheels of tools/setup --tests.
find_path(FGNN_CUDA_HEADERS crt/host_defines.h NO_DEFAULT_PATH PATHS
  ${FGNN_CUDA_DIR}/include
  ${CMAKE_SOURCE_DIR}/.deps/cuda-headers/nvidia/cu13/include)

if(FGNN_CUDA)
  if(NOT EXISTS "${FGNN_CUDA_DIR}/bin/nvcc" OR
     NOT EXISTS "${FGNN_CUDA_DIR}/lib64/libcudart_static.a")
    message(FATAL_ERROR
      "no bin/nvcc and lib64/libcudart_static.a in ${FGNN_CUDA_DIR}. Run "
      "tools/setup --cuda, or pass -DFGNN_CUDA_DIR=DIR, a toolkit's folder.")
  endif()
  set(CMAKE_CUDA_COMPILER "${FGNN_CUDA_DIR}/bin/nvcc")
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100-real 100-virtual)
  # -lineinfo would put names of folders of the build into installed programs.
  set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
  set(CMAKE_CUDA_FLAGS_DEBUG "-O3 -lineinfo")
  # Programs name the static runtime themselves.
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)
  if(FGNN_CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${FGNN_CCACHE})
  endif()
  enable_language(CUDA)
  # CMake 3.25 does not know that this nvcc has C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  # ptxas says what each kernel takes; tools/check_kernels reads it from the
  # objects. CUB takes NVTX's headers if the machine happens to have them.
  set(FGNN_NVCC_OPTIONS --expt-relaxed-constexpr --threads=2
    -Xptxas=-v,-warn-spills,-warn-lmem-usage
    -Xcompiler=-Wall,-Wextra,-ffp-contract=off -DCCCL_DISABLE_NVTX)

  # CUDA's runtime, without its shared library: one program runs on machines
  # with and without a driver. libtorch brings a runtime of its own, and a
  # program must not lend it this one's functions.
  add_library(fgnn_cuda_runtime INTERFACE)
  target_link_libraries(fgnn_cuda_runtime INTERFACE
    ${FGNN_CUDA_DIR}/lib64/libcudart_static.a Threads::Threads dl rt)
  target_link_options(fgnn_cuda_runtime INTERFACE
    -Wl,--exclude-libs,libcudart_static.a)
endif()
if(FGNN_BUILD_TESTS AND FGNN_CUDA_HEADERS)
  set(FGNN_EMULATE ON)
elseif(FGNN_BUILD_TESTS)
  message(STATUS "No emulated kernels: CUDA's headers are not there; "
                 "tools/setup --tests fetches them")
endif()

# Sets `out` to `libraries`, each that has a version with the ending in its
# place.
function(fgnn_cuda_versions out ending)
  set(versions)
  foreach(library ${ARGN})
    string(REGEX REPLACE "^fgnn::" "" bare ${library})
    if(TARGET ${bare}${ending})
      list(APPEND versions ${bare}${ending})
    else()
      list(APPEND versions ${library})
    endif()
  endforeach()
  set(${out} ${versions} PARENT_SCOPE)
endfunction()

# Objects of C++ files that call CUDA's runtime: both versions have them.
function(fgnn_cuda_host_objects name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_include_directories(${name} SYSTEM PUBLIC ${FGNN_CUDA_HEADERS})
  target_link_libraries(${name} PUBLIC ${ARG_LIBRARIES} PRIVATE fgnn_warnings)
  target_compile_options(${name} PRIVATE -pthread ${FGNN_LIBRARY_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM ${FGNN_LIBRARY_HEADERS})
endfunction()

# Objects of kernels as C++. A file around each, because CMake has one language
# for a file, and .cu is another one.
function(fgnn_emulated_objects name)
  set(wrappers)
  foreach(source ${ARGN})
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR}
         ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/${name}/${source}.cc)
    file(GENERATE OUTPUT ${wrapper} CONTENT "#include \"${path}\"\n")
    list(APPEND wrappers ${wrapper})
  endforeach()
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${wrappers})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_include_directories(${name} SYSTEM PUBLIC ${FGNN_CUDA_HEADERS})
  target_link_libraries(${name} PRIVATE fgnn_warnings)
  # One multiplication and one addition stay two, as __fmul_rn() promises.
  target_compile_options(${name} PRIVATE -pthread -ffp-contract=off
    -Wno-unknown-pragmas -include ${CMAKE_SOURCE_DIR}/tests/simt/simt.h)
  if(FGNN_SANITIZE)
    # A kernel runs for minutes there, and compiles in seconds.
    target_compile_options(${name} PRIVATE -O1 -Wno-pass-failed)
  endif()
endfunction()

# A library of emulated kernels alone, for tests of the emulator.
function(fgnn_emulated_library name)
  fgnn_emulated_objects(${name}_kernels ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL
    $<TARGET_OBJECTS:${name}_kernels>)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_include_directories(${name} SYSTEM PUBLIC ${FGNN_CUDA_HEADERS})
  target_link_libraries(${name} INTERFACE tests_fake_cuda)
endfunction()

# A library with kernels (.cu) and C++ files that use them:
#
#   fgnn_cuda_library(features_cuda SOURCES gather_rows.cu device_cache.cc
#     HEADERS gather_rows.h device_cache.h LIBRARIES fgnn::shared_device_cuda)
#
# NAME is made by nvcc, where FGNN_CUDA is on. NAME_emulated is made for tests,
# everywhere; it links the emulated version of each library that has one. A .cu
# file sees no header of LIBRARIES but the project's own.
function(fgnn_cuda_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;LIBRARIES" ${ARGN})
  set(kernels ${ARG_SOURCES})
  list(FILTER kernels INCLUDE REGEX "[.]cu$")
  set(hosts ${ARG_SOURCES})
  list(FILTER hosts EXCLUDE REGEX "[.]cu$")
  fgnn_cuda_versions(emulated _emulated ${ARG_LIBRARIES})
  set(seen ${emulated})
  if(FGNN_CUDA)
    set(seen ${ARG_LIBRARIES})
  elseif(NOT FGNN_EMULATE)
    return()
  endif()
  set(objects)
  if(hosts)
    fgnn_cuda_host_objects(${name}_host SOURCES ${hosts} LIBRARIES ${seen})
    list(APPEND objects $<TARGET_OBJECTS:${name}_host>)
  endif()
  if(FGNN_CUDA)
    add_library(${name} STATIC ${objects} ${kernels})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
    target_include_directories(${name} SYSTEM PUBLIC ${FGNN_CUDA_HEADERS})
    target_link_libraries(${name} INTERFACE ${ARG_LIBRARIES} fgnn_cuda_runtime)
    target_compile_options(${name} PRIVATE
      $<$<COMPILE_LANGUAGE:CUDA>:${FGNN_NVCC_OPTIONS}>)
    add_library(fgnn::${name} ALIAS ${name})
    if(kernels)
      set_property(GLOBAL APPEND PROPERTY FGNN_KERNEL_LIBRARIES ${name})
    endif()
  endif()
  if(FGNN_EMULATE)
    if(kernels)
      fgnn_emulated_objects(${name}_emulated_kernels ${kernels})
      list(APPEND objects $<TARGET_OBJECTS:${name}_emulated_kernels>)
    endif()
    add_library(${name}_emulated STATIC EXCLUDE_FROM_ALL ${objects})
    set_target_properties(${name}_emulated PROPERTIES LINKER_LANGUAGE CXX)
    target_include_directories(${name}_emulated PUBLIC ${CMAKE_SOURCE_DIR})
    target_include_directories(${name}_emulated SYSTEM
      PUBLIC ${FGNN_CUDA_HEADERS})
    target_link_libraries(${name}_emulated INTERFACE ${emulated} tests_fake_cuda)
  endif()
endfunction()

# A program of tests/gpu, where FGNN_CUDA is on. It is a folder's own: its shared
# libraries may lie in lib/ beside it (tests/gpu/run --pack).
#
#   fgnn_gpu_program(fgnn_gpu_sample SOURCES sample.cc LIBRARIES fgnn::x)
function(fgnn_gpu_program name)
  if(NOT FGNN_CUDA)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_include_directories(${name} SYSTEM PRIVATE ${FGNN_CUDA_HEADERS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} fgnn_cuda_runtime)
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:${FGNN_NVCC_OPTIONS}>
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Werror>)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/gpu
    BUILD_RPATH_USE_ORIGIN ON BUILD_RPATH "$ORIGIN/lib")
  if(NOT TARGET fgnn_gpu_programs)
    add_custom_target(fgnn_gpu_programs)
  endif()
  add_dependencies(fgnn_gpu_programs ${name})
endfunction()

# Unit tests' sources with nvcc's kernels, for tests/gpu/run check. They use no
# fake.
#
#   fgnn_gpu_check(fgnn_gpu_check_x SOURCES x_test.cc LIBRARIES fgnn::x)
function(fgnn_gpu_check name)
  if(NOT FGNN_CUDA OR NOT FGNN_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  fgnn_gpu_program(${name}
    SOURCES ${ARG_SOURCES} ${CMAKE_SOURCE_DIR}/tests/gpu/check_main.cc
    LIBRARIES ${ARG_LIBRARIES} GTest::gmock)
endfunction()

# What to build for tools/check_kernels. Called behind all libraries.
function(fgnn_kernels_target)
  get_property(libraries GLOBAL PROPERTY FGNN_KERNEL_LIBRARIES)
  add_custom_target(fgnn_kernels)
  if(libraries)
    add_dependencies(fgnn_kernels ${libraries})
  endif()
endfunction()
