# Finds LLVM, MLIR and LLD 22 (Debian's packages) and names what tcc links.
#
# A release (TCC_STATIC) links Debian's static archives. Development links the shared libMLIR/libLLVM, which is quick,
# but for programs that tests start by the hundred (tcc_link_archives in TccLlvmStatic): the loader takes 40 ms of CPU
# to relocate the shared libraries.
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

include(TccLlvmStatic)
if(TCC_STATIC)
  set(TCC_LLVM_LIBS ${TCC_LLVM_ARCHIVES})
  set(TCC_LLD_LIBS ${TCC_LLD_ARCHIVES})
  set(TCC_LLVM_SUPPORT_LIBS LLVMSupport)
  set(TCC_LLVM_TARGET_LIBS ${TCC_LLVM_TARGET_ARCHIVES})
else()
  # What a program is linked with is its own property.
  function(tcc_choose_libraries variable archives)
    set(own "$<BOOL:$<TARGET_PROPERTY:TCC_ARCHIVES>>")
    set(${variable} "$<IF:${own},${archives},${ARGN}>" PARENT_SCOPE)
  endfunction()
  tcc_choose_libraries(TCC_LLVM_LIBS "${TCC_LLVM_ARCHIVES}" MLIR LLVM)
  tcc_choose_libraries(TCC_LLD_LIBS "${TCC_LLD_ARCHIVES}" lldELF lldCommon)
  tcc_choose_libraries(TCC_LLVM_SUPPORT_LIBS LLVMSupport LLVM)
  tcc_choose_libraries(TCC_LLVM_TARGET_LIBS "${TCC_LLVM_TARGET_ARCHIVES}" LLVM)
endif()
