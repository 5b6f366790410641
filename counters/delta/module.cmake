dlroof_embed(BuiltInGpus gpus/*.json)
