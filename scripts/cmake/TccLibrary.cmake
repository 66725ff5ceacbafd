# tcc_add_library(Name SOURCES... LINK libs...): one static library a layer folder.
#   Libraries that include MLIR share one precompiled header (TccPch).
# tcc_add_dialect(name): mlir-tblgen over include/tcc/Dialect/<dir>/<Name>Ops.td.
# tcc_add_passes(name): mlir-tblgen over the Passes.td of a folder below include/tcc.
# tcc_add_unittest(name SOURCES... LINK libs...): a Catch2 program run by ctest.

add_library(TccPch OBJECT ${CMAKE_SOURCE_DIR}/scripts/cmake/pch.cpp)
target_precompile_headers(TccPch PRIVATE ${CMAKE_SOURCE_DIR}/scripts/cmake/pch.h)
# ccache can only reuse a clang precompiled header without its timestamp.
target_compile_options(TccPch PRIVATE $<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>)

function(tcc_add_library name)
  cmake_parse_arguments(A "NO_MLIR" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  if(A_NO_MLIR)
    target_link_libraries(${name} PUBLIC ${A_LINK})
  else()
    target_precompile_headers(${name} REUSE_FROM TccPch)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>)
    target_link_libraries(${name} PUBLIC ${A_LINK} ${TCC_LLVM_LIBS})
  endif()
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/lib)
  if(TARGET tcc-tablegen)
    add_dependencies(${name} tcc-tablegen)
  endif()
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
endfunction()

function(tcc_add_passes name)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${name} -I ${CMAKE_SOURCE_DIR}/include)
  add_public_tablegen_target(Tcc${name}PassIncGen)
  add_dependencies(tcc-tablegen Tcc${name}PassIncGen)
endfunction()

function(tcc_add_unittest name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_LINK} Catch2::Catch2WithMain)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/lib)
  add_test(NAME unit.${name} COMMAND ${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS fast)
endfunction()
