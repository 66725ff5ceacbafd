# Debian's static archives of LLVM, MLIR and LLD, for one tcc that needs only the C library.
#
# The exported targets are made for the shared libraries: MLIR's and LLD's name
# the LLVM dylib, LLVM's name Polly (a package of its own), z3 and the shared zstd
# and zlib. Here those are taken out or replaced by archives. What the archives
# still refer to of Polly and of targets that tcc does not generate code for is
# in lib/Emit/LldStubs.cpp.
function(tcc_static_interface target)
  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  if(NOT libraries)
    return()
  endif()
  list(REMOVE_ITEM libraries LLVM "$<LINK_ONLY:LLVM>" Polly "$<LINK_ONLY:Polly>" "$<LINK_ONLY:ZLIB::ZLIB>"
       "$<LINK_ONLY:zstd::libzstd_shared>")
  list(FILTER libraries EXCLUDE REGEX "libz3\\.so|LibXml2|CURL|LibEdit|FFI::")
  list(TRANSFORM libraries REPLACE "^zstd::libzstd_shared$" "${TCC_LIBZSTD}")
  list(TRANSFORM libraries REPLACE "^ZLIB::ZLIB$" "${TCC_LIBZ}")
  set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
endfunction()

find_library(TCC_LIBZ NAMES libz.a REQUIRED)
find_library(TCC_LIBZSTD NAMES libzstd.a REQUIRED)
foreach(target ${MLIR_EXPORTED_TARGETS} ${LLD_EXPORTED_TARGETS} ${LLVM_AVAILABLE_LIBS})
  if(TARGET ${target})
    tcc_static_interface(${target})
  endif()
endforeach()

llvm_map_components_to_libnames(TCC_LLVM_ARCHIVES X86 AArch64 NVPTX Passes TargetParser Core Support IRReader BitReader
                                BitWriter TransformUtils MC)
llvm_map_components_to_libnames(_lld_needs DTLTO LTO Option DebugInfoDWARF) # not named by lld's targets
list(PREPEND TCC_LLVM_ARCHIVES
  MLIRIR MLIRParser MLIRPass MLIRTransforms MLIRTransformUtils
  MLIRArithDialect MLIRArithTransforms MLIRArithUtils MLIRControlFlowDialect MLIRDialectUtils MLIRFuncDialect
  MLIRIndexDialect MLIRLLVMDialect MLIRMathDialect MLIRNVVMDialect MLIRSCFDialect MLIRUBDialect MLIRVectorDialect
  MLIRVectorTransforms
  MLIRArithToLLVM MLIRControlFlowToLLVM MLIRFuncToLLVM MLIRIndexToLLVM MLIRLLVMCommonConversion MLIRMathToLLVM
  MLIRMathToLibm MLIRNVVMToLLVM MLIRSCFToControlFlow MLIRUBToLLVM MLIRVectorToLLVM
  MLIRBuiltinToLLVMIRTranslation MLIRLLVMToLLVMIRTranslation MLIRNVVMToLLVMIRTranslation MLIRTargetLLVMIRExport)
set(TCC_LLD_ARCHIVES lldELF lldCommon ${_lld_needs} ${TCC_LIBZSTD} ${TCC_LIBZ})

set(TCC_LLVM_TARGET_ARCHIVES LLVMX86Desc LLVMX86Info LLVMAArch64Desc LLVMAArch64Info LLVMTargetParser LLVMMC)

# Only what is reached is kept; what is alike is kept once. At a fixed address: 100,000
# relocations less to apply, which is half of the time that tcc takes to start.
if(TCC_STATIC)
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(-static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--icf=all -Wl,-O2 -Wl,-s
                   $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()

# A program of the development build, linked as a release is, in 3 s of CPU.
function(tcc_link_archives target)
  if(NOT TCC_STATIC)
    set_target_properties(${target} PROPERTIES TCC_ARCHIVES ON)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections -no-pie)
  endif()
endfunction()
