# ONNX's own C++ (operator schemas, their type inference and function bodies),
# compiled from the sources that its Python wheel carries, as TccOnnxProto.
#
# The wheel is unpacked by scripts/setup; TCC_ONNX_SOURCE_DIR names the folder
# that holds `onnx/onnx-ml.proto`. The messages use protobuf's lite runtime (the
# files ask for it): no descriptors, so nothing runs when tcc starts. Schemas without
# their documentation and in -O1: they only run during import.
set(TCC_ONNX_VERSION 1.23.2)
set(_onnx_default "${CMAKE_SOURCE_DIR}/build/third_party/onnx-${TCC_ONNX_VERSION}")
set(_onnx_cached "$ENV{HOME}/.cache/tcc/third_party/onnx-${TCC_ONNX_VERSION}")
if(NOT EXISTS "${_onnx_default}/onnx/onnx-ml.proto" AND EXISTS "${_onnx_cached}/onnx/onnx-ml.proto")
  set(_onnx_default "${_onnx_cached}")
endif()
set(TCC_ONNX_SOURCE_DIR "${_onnx_default}" CACHE PATH "The unpacked onnx ${TCC_ONNX_VERSION} wheel")
if(NOT EXISTS "${TCC_ONNX_SOURCE_DIR}/onnx/onnx-ml.proto")
  message(FATAL_ERROR "No ONNX sources in ${TCC_ONNX_SOURCE_DIR}: run scripts/setup, which unpacks "
                      "the onnx ${TCC_ONNX_VERSION} wheel, or set TCC_ONNX_SOURCE_DIR.")
endif()

find_program(TCC_PROTOC protoc REQUIRED)
set(_proto_dir "${CMAKE_BINARY_DIR}/onnx-proto")
file(MAKE_DIRECTORY "${_proto_dir}")
set(_proto_sources)
foreach(name onnx-ml onnx-operators-ml onnx-data)
  add_custom_command(
    OUTPUT "${_proto_dir}/onnx/${name}.pb.cc" "${_proto_dir}/onnx/${name}.pb.h"
    COMMAND "${TCC_PROTOC}" "--proto_path=${TCC_ONNX_SOURCE_DIR}" "--cpp_out=${_proto_dir}" "onnx/${name}.proto"
    DEPENDS "${TCC_ONNX_SOURCE_DIR}/onnx/${name}.proto"
    COMMENT "protoc ${name}.proto" VERBATIM)
  list(APPEND _proto_sources "${_proto_dir}/onnx/${name}.pb.cc")
endforeach()

# The schemas by operator, as ONNX's sets of operators list them: tcc makes those of an operator when it first asks.
set(_schemas "")
foreach(_set operator_sets operator_sets_ml)
  file(STRINGS "${TCC_ONNX_SOURCE_DIR}/onnx/defs/${_set}.h" _lines REGEX "fn\\(GetOpSchema<ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME")
  list(TRANSFORM _lines REPLACE ".*CLASS_NAME\\((.*)\\)>\\(\\).*" "TCC_ONNX_SCHEMA(\\1)\n")
  list(APPEND _schemas ${_lines})
endforeach()
list(JOIN _schemas "" _schemas)
file(GENERATE OUTPUT "${_proto_dir}/OnnxSchemas.inc" CONTENT "${_schemas}")

# Without what nothing of tcc's reaches: the checker and the converter of versions, 45 s of CPU to compile, and the
# printer. OnnxUnused.cpp has what other files call of them.
file(GLOB_RECURSE _onnx_sources CONFIGURE_DEPENDS "${TCC_ONNX_SOURCE_DIR}/onnx/defs/*.cc")
list(REMOVE_ITEM _onnx_sources "${TCC_ONNX_SOURCE_DIR}/onnx/defs/printer.cc")
foreach(name common/assertions common/status inliner/inliner shape_inference/implementation)
  list(APPEND _onnx_sources "${TCC_ONNX_SOURCE_DIR}/onnx/${name}.cc")
endforeach()
list(APPEND _onnx_sources "${CMAKE_SOURCE_DIR}/scripts/cmake/OnnxUnused.cpp")

find_library(TCC_LIBPROTOBUF NAMES libprotobuf-lite.a REQUIRED)
find_package(Threads REQUIRED)
add_library(TccOnnxProto STATIC ${_proto_sources} ${_onnx_sources})
target_include_directories(TccOnnxProto SYSTEM PUBLIC "${_proto_dir}" "${TCC_ONNX_SOURCE_DIR}")
target_compile_definitions(TccOnnxProto PUBLIC ONNX_ML=1 ONNX_NAMESPACE=onnx ONNX_USE_LITE_PROTO=1
                           __ONNX_NO_DOC_STRINGS __ONNX_DISABLE_STATIC_REGISTRATION)
# Its own flags: third-party code is neither ours to warn about nor hot. In the development build only what reads messages
# is optimised: schemas are made when their operator is first asked for.
set(_optimized "$<IF:$<BOOL:${TCC_STATIC}>,-O1,-O0>")
target_compile_options(TccOnnxProto PRIVATE ${_optimized} -w -frtti -fexceptions -ffunction-sections -fdata-sections)
set_source_files_properties(${_proto_sources} PROPERTIES COMPILE_OPTIONS "-O1;-Xclang;-fno-validate-pch")
target_precompile_headers(TccOnnxProto PRIVATE <onnx/defs/function.h> <onnx/defs/schema.h>
                          <onnx/defs/tensor_proto_util.h> <algorithm> <functional>)
target_compile_options(TccOnnxProto PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
target_link_libraries(TccOnnxProto PUBLIC ${TCC_LIBPROTOBUF} Threads::Threads)
