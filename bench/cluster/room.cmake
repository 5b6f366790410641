set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
dlroof_embed(LaunchScripts scripts/*)
