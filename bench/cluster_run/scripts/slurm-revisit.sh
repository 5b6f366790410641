#!/bin/bash
#SBATCH --job-name=dlroof-revisit
#SBATCH --nodes={{nodes}}
#SBATCH --nodelist={{nodelist}}
#SBATCH --ntasks-per-node={{tasks}}
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --no-requeue
{{options}}# Visits the suspects and as many ordinary nodes again. Submitted again it goes on where it ended.
set -u
out={{out}}
dlroof={{dlroof}}
arguments=({{arguments}})

gpus={{gpus}}   # processes of a node, each with a GPU of its own; 0: one, with all of them
tasks={{tasks}}
per_gpu=() gpu_of_task=()
[ "$gpus" -gt 0 ] && per_gpu=(--per-gpu) gpu_of_task=(--gpus-per-task=1)

for visit in $(seq {{visits}}); do
  srun -N {{nodes}} -n {{all_tasks}} --ntasks-per-node="$tasks" ${gpu_of_task[@]+"${gpu_of_task[@]}"} \
    -c "$((SLURM_CPUS_ON_NODE < tasks ? 1 : SLURM_CPUS_ON_NODE / tasks))" --no-kill --kill-on-bad-exit=0 --wait=0 --mpi=none --overlap \
    "$dlroof" cluster node --out "$out" --visit "$visit" ${per_gpu[@]+"${per_gpu[@]}"} -- "${arguments[@]}"
{{network}}done

exec "$dlroof" cluster gather "$out" -o "$out/cluster.json"
