# tcc_add_model(<target> MODEL <file> [OUTPUT <file.so>] [OPTIONS <option>...])
#
# A target that compiles the model (ONNX or .pt2) to OUTPUT, by default
# <target>.so in the current binary directory, and again only when the model, a
# file it refers to (external data, told by tcc's depfile), the options or tcc
# itself change. The property TCC_LIBRARY of the target is OUTPUT's path.
#
#   tcc_add_model(classifier MODEL resnet50.onnx OPTIONS --cpu x86-64-v3 --dim N=1..64)
#   target_compile_definitions(app PRIVATE MODEL="$<TARGET_PROPERTY:classifier,TCC_LIBRARY>")
#   add_dependencies(app classifier)
function(tcc_add_model target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "MODEL;OUTPUT" "OPTIONS")
  if(NOT ARG_MODEL OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tcc_add_model(<target> MODEL <file> [OUTPUT <file.so>] [OPTIONS <option>...])")
  endif()
  cmake_path(ABSOLUTE_PATH ARG_MODEL NORMALIZE)
  if(NOT ARG_OUTPUT)
    set(ARG_OUTPUT "${target}.so")
  endif()
  cmake_path(ABSOLUTE_PATH ARG_OUTPUT BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)

  # Make does not notice a changed command, but it does a changed file.
  set(stamp "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.tcc-options")
  file(CONFIGURE OUTPUT "${stamp}" CONTENT "${ARG_OPTIONS}\n" @ONLY)
  add_custom_command(
    OUTPUT "${ARG_OUTPUT}"
    COMMAND tcc::tcc "${ARG_MODEL}" -o "${ARG_OUTPUT}" --depfile "${ARG_OUTPUT}.d" ${ARG_OPTIONS}
    DEPENDS "${ARG_MODEL}" "${stamp}" tcc::tcc
    DEPFILE "${ARG_OUTPUT}.d"
    COMMENT "Compiling model ${target}"
    VERBATIM)
  add_custom_target(${target} ALL DEPENDS "${ARG_OUTPUT}")
  set_target_properties(${target} PROPERTIES TCC_LIBRARY "${ARG_OUTPUT}")
endfunction()
