# Install, export, version file and pkg-config. A consumer says find_package(memsim) and links
# memsim::memsim.
include(CMakePackageConfigHelpers)

install(TARGETS memsim memsim_static_key EXPORT memsimTargets)
install(DIRECTORY include/memsim DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY models/kernels DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/models"
        FILES_MATCHING PATTERN "*.h")
install(DIRECTORY models/machines models/schemas models/workloads models/published
        DESTINATION "${CMAKE_INSTALL_DATADIR}/memsim/models")
if(TARGET memsim_cli)
  install(TARGETS memsim_cli)
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/memsim")
install(EXPORT memsimTargets NAMESPACE memsim:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/memsimConfig.cmake.in memsimConfig.cmake
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(memsimConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/memsimConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/memsimConfigVersion.cmake"
              cmake/MemsimBoost.cmake
        DESTINATION "${package_dir}")

# Relative, so that the installed tree can be moved.
file(RELATIVE_PATH MEMSIM_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/memsim.pc.in memsim.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/memsim.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
