# Sources of a target compiled as one, by groups in which no name means two things (scripts/source_groups.py).
#
# tcc_compile_in_groups(target): its C++ sources are, but for those with compile options of their own.
# tcc_make_groups(): once, after all targets. The build makes the groups anew when sources change, before anything else,
#   and configures again when they differ.
option(TCC_GROUPS "Compile several sources as one" ON)

function(tcc_compile_in_groups target)
  if(TCC_GROUPS)
    set_property(GLOBAL APPEND PROPERTY TCC_GROUPED ${target})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

# What scripts/source_groups.py writes: the files of a target's groups, and what it left alone.
function(tcc_group target)
  get_property(sources GLOBAL PROPERTY TCC_APART_${target})
  set_property(TARGET ${target} PROPERTY SOURCES ${sources} ${ARGN})
endfunction()

function(tcc_make_groups)
  get_property(targets GLOBAL PROPERTY TCC_GROUPED)
  set(listing "")
  foreach(target IN LISTS targets)
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    set(together "")
    set(apart "")
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
      set(own "")
      foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS GENERATED)
        get_source_file_property(value ${source} TARGET_DIRECTORY ${target} ${property})
        if(value)
          set(own ${property})
        endif()
      endforeach()
      if(source MATCHES "\\.cpp$" AND own STREQUAL "")
        list(APPEND together ${source})
      else()
        list(APPEND apart ${source})
      endif()
    endforeach()
    set_property(GLOBAL PROPERTY TCC_APART_${target} ${apart})
    string(APPEND listing "${target};${CMAKE_BINARY_DIR}/groups/${target};${together}\n")
  endforeach()

  set(script ${CMAKE_SOURCE_DIR}/scripts/source_groups.py)
  set(list ${CMAKE_BINARY_DIR}/groups/sources.txt)
  set(groups ${CMAKE_BINARY_DIR}/groups/groups.cmake)
  file(CONFIGURE OUTPUT ${list} CONTENT "${listing}" @ONLY)
  execute_process(COMMAND ${script} ${list} ${groups} COMMAND_ERROR_IS_FATAL ANY)
  include(${groups})
  add_custom_command(OUTPUT ${groups} COMMAND ${script} ${list} ${groups} DEPENDS ${script} ${list}
    DEPFILE ${CMAKE_BINARY_DIR}/groups/groups.d COMMENT "Which sources are compiled as one" VERBATIM)
  add_custom_target(source-groups DEPENDS ${groups})
endfunction()
