dlroof_embed(BashFunctions *.bash)
