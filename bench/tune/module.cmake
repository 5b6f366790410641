dlroof_embed(BuiltInKnobs knobs/*.txt)
