# routepack_embed_presets(OUTPUT): writes a C++ source with the text of every configs/*.cfg but
# default.cfg, so that the installed program needs no data folder.
function(routepack_embed_presets output)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/configs/*.cfg)
  list(FILTER files EXCLUDE REGEX "/default\\.cfg$")
  set(names "")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME)
    string(REGEX REPLACE "\\.cfg$" "" name ${name})
    list(APPEND names ${name})
  endforeach()
  list(SORT names)
  list(LENGTH names count)
  set(entries "")
  foreach(name IN LISTS names)
    set(file ${PROJECT_SOURCE_DIR}/configs/${name}.cfg)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(APPEND entries "    {\"${name}\", R\"preset(${text})preset\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [=[
// Written by CMake from configs/*.cfg.
#include "domain/embedded_presets.hpp"

namespace routepack {
namespace {

constexpr EmbeddedPreset kPresets[@count@] = {
@entries@};

}  // namespace

std::span<const EmbeddedPreset> embedded_presets() { return kPresets; }

}  // namespace routepack
]=])
endfunction()
