include(CMakePackageConfigHelpers)
install(TARGETS routepack EXPORT RoutePackTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/routepack DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT RoutePackTargets
  NAMESPACE RoutePack:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/RoutePack)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/RoutePackConfig.cmake.in ${PROJECT_BINARY_DIR}/RoutePackConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/RoutePack)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/RoutePackConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/RoutePackConfig.cmake ${PROJECT_BINARY_DIR}/RoutePackConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/RoutePack)
