dlroof_embed(LaunchScripts scripts/*)
