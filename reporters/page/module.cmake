if(DLROOF_PLOTLY_JS AND NOT EXISTS "${DLROOF_PLOTLY_JS}")
  message(FATAL_ERROR "dlroof: DLROOF_PLOTLY_JS=${DLROOF_PLOTLY_JS} does not exist")
endif()
dlroof_embed(PageHtmlFiles *.html)
dlroof_embed(PageStyleFiles *.css)
dlroof_embed(PageScriptFiles *.js)
dlroof_embed(PlotlyFiles "${DLROOF_PLOTLY_JS}")   # no file if the variable is empty
