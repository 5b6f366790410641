dlroof_embed(CompletionScripts *.bash)
