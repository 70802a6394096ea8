# cmake -D FILE=… -P read_preset.cmake: writes the values of the preset in FILE, as the build does.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/RoutePackPresets.cmake)
routepack_preset_initializer(${FILE} small initializer)
message("${initializer}")
