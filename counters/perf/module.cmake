dlroof_embed(BuiltInPmuTables tables/*.json)
