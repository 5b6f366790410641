dlroof_embed(LaunchScripts slurm.sh.in)
