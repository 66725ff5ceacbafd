# What `cmake --install` adds to the tools' and the runtime's own rules: the CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(_package "${CMAKE_INSTALL_LIBDIR}/cmake/tcc")
configure_package_config_file("${CMAKE_SOURCE_DIR}/scripts/cmake/package/tccConfig.cmake.in"
  "${CMAKE_BINARY_DIR}/package/tccConfig.cmake" INSTALL_DESTINATION "${_package}"
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/package/tccConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/package/tccConfig.cmake" "${CMAKE_BINARY_DIR}/package/tccConfigVersion.cmake"
  "${CMAKE_SOURCE_DIR}/scripts/cmake/package/TccAddModel.cmake" DESTINATION "${_package}")
