dlroof_embed(CuptiTables tables/*.json)
