# CLI11 takes longer to compile than a command: few large units.
set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
dlroof_embed(CompletionScripts *.bash)
