# Finds LLVM, MLIR and LLD 22 (Debian's packages) and names what tcc links.
#
# Development links the shared libMLIR/libLLVM; TCC_STATIC links Debian's
# static archives, whose exported targets carry the LLVM dylib, Polly, z3 and
# shared zstd in their interface: those are removed or replaced here.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(LLD REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/lld)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

separate_arguments(_llvm_defs NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${_llvm_defs})
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)
add_compile_options(-Wall -Wextra -Wno-unused-parameter -fno-semantic-interposition)
add_link_options(-fuse-ld=lld --ld-path=/usr/lib/llvm-22/bin/ld.lld)
if(NOT LLVM_ENABLE_RTTI)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
endif()

if(NOT TCC_STATIC)
  set(TCC_LLVM_LIBS MLIR LLVM)
  set(TCC_LLD_LIBS lldELF lldCommon)
else()
  include(TccLlvmStatic)
endif()
if(TCC_STATIC)
  set(TCC_LLVM_SUPPORT_LIBS LLVMSupport)
  set(TCC_LLVM_TARGET_LIBS LLVMX86Desc LLVMX86Info LLVMAArch64Desc LLVMAArch64Info LLVMTargetParser LLVMMC)
else()
  set(TCC_LLVM_SUPPORT_LIBS LLVM)
  set(TCC_LLVM_TARGET_LIBS LLVM)
endif()
