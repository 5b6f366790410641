dlroof_embed(SiteHtmlFiles *.html)
dlroof_embed(SiteStyleFiles *.css)
dlroof_embed(SiteScriptFiles *.js)
