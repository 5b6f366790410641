# Links the page's files into the program: assets.S and assets.cpp are written here, from the list below.
set(assets
  html:page.html style:page.css
  script_format:format.js script_filter:filter.js script_labels:labels.js script_lines:lines.js script_classic:classic.js
  script_time:time.js script_table:table.js script_models:models.js script_panels:panels.js script_sweep:sweep.js
  script_ceilings:ceilings.js script_main:main.js
  site_html:../../baselines/dashboard/site.html site_style:../../baselines/dashboard/site.css
  site_loader:../../baselines/dashboard/load.js
  sitescript_list:../../baselines/dashboard/list.js sitescript_series:../../baselines/dashboard/series.js sitescript_diff:../../baselines/dashboard/diff.js sitescript_main:../../baselines/dashboard/main.js)

if(DLROOF_PLOTLY_JS AND NOT EXISTS "${DLROOF_PLOTLY_JS}")
  message(FATAL_ERROR "dlroof: DLROOF_PLOTLY_JS=${DLROOF_PLOTLY_JS} does not exist")
endif()

set(DLROOF_ASSET_LINES "")
set(DLROOF_ASSET_LABELS "")
set(DLROOF_ASSET_SCRIPTS "")
set(DLROOF_ASSET_SITE_SCRIPTS "")
set(asset_files "")
# label: C name of the asset; path: its file, empty for an asset without text.
function(add_asset label path)
  set(include "")
  string(SHA256 hash "")
  if(path)
    file(SHA256 "${path}" hash)
    set(include "        .incbin \"${path}\"\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")   # the hash must follow the file
    set(asset_files ${asset_files} "${path}" PARENT_SCOPE)
  endif()
  set(name "dlroof_asset_${label}")
  set(DLROOF_ASSET_LINES "${DLROOF_ASSET_LINES}        .global ${name}, ${name}_end, ${name}_sha256\n${name}:\n${include}${name}_end:\n${name}_sha256:\n        .ascii \"${hash}\"\n" PARENT_SCOPE)
  set(DLROOF_ASSET_LABELS "${DLROOF_ASSET_LABELS}extern const char ${name}[], ${name}_end[], ${name}_sha256[];\n" PARENT_SCOPE)
endfunction()

foreach(asset IN LISTS assets)
  string(REPLACE ":" ";" asset "${asset}")
  list(GET asset 0 label)
  list(GET asset 1 file)
  add_asset(${label} "${CMAKE_SOURCE_DIR}/${room}/${file}")
  if(label MATCHES "^script_")
    string(APPEND DLROOF_ASSET_SCRIPTS "      Between(dlroof_asset_${label}, dlroof_asset_${label}_end, dlroof_asset_${label}_sha256),\n")
  elseif(label MATCHES "^sitescript_")
    string(APPEND DLROOF_ASSET_SITE_SCRIPTS "      Between(dlroof_asset_${label}, dlroof_asset_${label}_end, dlroof_asset_${label}_sha256),\n")
  endif()
endforeach()
add_asset(plotly "${DLROOF_PLOTLY_JS}")

configure_file(${room}/assets.S.in "${CMAKE_BINARY_DIR}/generated/assets.S" @ONLY)
configure_file(${room}/assets.cpp.in "${CMAKE_BINARY_DIR}/generated/assets.cpp" @ONLY)
set_property(SOURCE "${CMAKE_BINARY_DIR}/generated/assets.S" PROPERTY OBJECT_DEPENDS "${asset_files}")

# A library of its own, because warnings and sanitizers mean nothing to an assembler.
add_library(page_assets OBJECT "${CMAKE_BINARY_DIR}/generated/assets.S")
target_sources(${target} PRIVATE "${CMAKE_BINARY_DIR}/generated/assets.cpp")
target_sources(${target} INTERFACE $<TARGET_OBJECTS:page_assets>)
