#!/bin/bash
#SBATCH --job-name=dlroof
#SBATCH --nodes={{nodes}}
#SBATCH --ntasks-per-node={{tasks}}
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --no-requeue
{{options}}# Submit it with sbatch. Submitted again it measures what is missing, and nothing twice.
set -u
out={{out}}
dlroof={{dlroof}}
arguments=({{arguments}})
order={{order}}
gpus={{gpus}}   # processes of a node, each with a GPU of its own; 0: one, with all of them
meet_seconds={{meet_seconds}}

mkdir -p "$out"
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")

# Writes the names of these nodes' files: of each its own, or one for each of its GPUs.
names_of() {
  local node gpu
  for node in "$@"; do
    [ "$gpus" -gt 0 ] || echo "$node"
    for ((gpu = 0; gpu < gpus; ++gpu)); do echo "$node-gpu$gpu"; done
  done
}

names_of "${nodes[@]}" > "$out/asked.$SLURM_JOB_ID"
cat "$out"/asked.*[0-9] | sort -u > "$out/asked.txt.new" && mv "$out/asked.txt.new" "$out/asked.txt"

# Nodes that measure at once meet before each benchmark, by files in this folder. A node that is $meet_seconds late is left out.
meet=()
[ "$order" = at-once ] && [ "$(wc -l < "$out/asked.$SLURM_JOB_ID")" -gt 1 ] && meet=(--meet "$out/asked.$SLURM_JOB_ID" --meet-seconds "$meet_seconds")
rm -rf "$out/meetings"

# A node's tasks share all of its CPUs (-c), and no task needs MPI, so that a node that is lost takes nothing but itself with
# it. Its exit code says nothing; the files do.
tasks={{tasks}}
per_gpu=() gpu_of_task=()
[ "$gpus" -gt 0 ] && per_gpu=(--per-gpu) gpu_of_task=(--gpus-per-task=1)
measure() {   # NODES and srun's options
  local count=$1
  shift
  srun -N "$count" -n "$((count * tasks))" --ntasks-per-node="$tasks" ${gpu_of_task[@]+"${gpu_of_task[@]}"} "$@" \
    -c "$((SLURM_CPUS_ON_NODE < tasks ? 1 : SLURM_CPUS_ON_NODE / tasks))" --no-kill --kill-on-bad-exit=0 --wait=0 --mpi=none --overlap \
    "$dlroof" cluster node --out "$out" --order "$order" ${per_gpu[@]+"${per_gpu[@]}"} ${meet[@]+"${meet[@]}"} -- "${arguments[@]}"
}

missing() {
  local node name
  for node in "${nodes[@]}"; do
    for name in $(names_of "$node"); do
      [ -e "$out/nodes/$name.json" ] || { echo "$node"; break; }
    done
  done
}

if [ "$order" = one-by-one ]; then
  for node in $(missing); do measure 1 -w "$node"; done
else
  measure "${#nodes[@]}"
fi

# A node that was dead when the step began has ended it for all: a step for each node that is left, 32 at a time.
for round in 1 2; do
  running=0
  for node in $(missing); do
    echo "round $round: $node once more" >&2
    measure 1 -w "$node" &
    [ "$order" = at-once ] || wait
    running=$((running + 1))
    if [ "$running" -ge 32 ]; then
      wait -n
      running=$((running - 1))
    fi
  done
  wait
done

{{network}}exec "$dlroof" cluster gather "$out" -o "$out/cluster.json"
