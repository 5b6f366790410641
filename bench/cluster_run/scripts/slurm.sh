#!/bin/bash
#SBATCH --job-name=dlroof
#SBATCH --nodes={{nodes}}
#SBATCH --ntasks-per-node={{tasks}}
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --no-requeue
{{options}}# Submit it with sbatch. Submitted again it measures what is missing, and nothing twice.
{{settings}}{{job}}{{steps}}{{measure}}"$dlroof" cluster gather "$out" -o "$out/cluster.json"
