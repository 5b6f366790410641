# A page inlines plotly.js, which ci/lib.sh installs below CMAKE_PREFIX_PATH. -DDLROOF_PLOTLY_JS= builds without it.
if(NOT DEFINED DLROOF_PLOTLY_JS)
  list(TRANSFORM CMAKE_PREFIX_PATH APPEND "/lib/python3*/site-packages/plotly/package_data/plotly.min.js" OUTPUT_VARIABLE places)
  file(GLOB DLROOF_PLOTLY_JS ${places})
endif()
if(NOT DLROOF_PLOTLY_JS)
  message(STATUS "dlroof: without plotly.js: report -o x.html will be refused")
elseif(NOT EXISTS "${DLROOF_PLOTLY_JS}")
  message(FATAL_ERROR "dlroof: DLROOF_PLOTLY_JS=${DLROOF_PLOTLY_JS} does not exist")
endif()
dlroof_embed(PageHtmlFiles *.html)
dlroof_embed(PageStyleFiles *.css)
dlroof_embed(PageScriptFiles *.js)
dlroof_embed(PlotlyFiles "${DLROOF_PLOTLY_JS}")   # no file if the variable is empty
