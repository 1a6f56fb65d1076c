# find_package(fgnn): the target fgnn::api, messages and stubs of fgnn.v1.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(Protobuf)
find_dependency(gRPC CONFIG)

if(NOT TARGET fgnn::api)
  get_filename_component(_fgnn_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(fgnn::api STATIC IMPORTED)
  set_target_properties(fgnn::api PROPERTIES
    IMPORTED_LOCATION "${_fgnn_prefix}/lib/libfgnn_proto.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_fgnn_prefix}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_LINK_LIBRARIES "gRPC::grpc++;protobuf::libprotobuf;Threads::Threads")
  unset(_fgnn_prefix)
endif()
