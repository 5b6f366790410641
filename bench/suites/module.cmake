dlroof_embed(BuiltInSuites *.txt)
