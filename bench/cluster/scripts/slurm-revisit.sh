#!/bin/bash
#SBATCH --job-name=dlroof-revisit
#SBATCH --nodes={{nodes}}
#SBATCH --nodelist={{nodelist}}
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --no-requeue
{{options}}# Visits the suspects and as many ordinary nodes again. Submitted again it goes on where it ended.
set -u
out={{out}}
dlroof={{dlroof}}
arguments=({{arguments}})

for visit in $(seq {{visits}}); do
  srun -N {{nodes}} -n {{nodes}} --ntasks-per-node=1 -c "$SLURM_CPUS_ON_NODE" --no-kill --kill-on-bad-exit=0 --wait=0 \
    --mpi=none --overlap "$dlroof" cluster node --out "$out" --visit "$visit" -- "${arguments[@]}"
done

exec "$dlroof" cluster gather "$out" -o "$out/cluster.json"
