dlroof_embed(ShellFunctions shells/*)
