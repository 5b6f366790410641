#!/bin/bash
#SBATCH --job-name=dlroof
#SBATCH --nodes={{nodes}}
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --no-requeue
{{options}}# Submit it with sbatch. Submitted again it measures what is missing, and nothing twice.
set -u
out={{out}}
dlroof={{dlroof}}
arguments=({{arguments}})
order={{order}}
meet_seconds={{meet_seconds}}

mkdir -p "$out"
scontrol show hostnames "$SLURM_JOB_NODELIST" > "$out/asked.$SLURM_JOB_ID"
cat "$out"/asked.*[0-9] | sort -u > "$out/asked.txt.new" && mv "$out/asked.txt.new" "$out/asked.txt"
mapfile -t nodes < "$out/asked.$SLURM_JOB_ID"

# Nodes that measure at once meet before each benchmark, by files in this folder. A node that is $meet_seconds late is left out.
meet=()
[ "$order" = at-once ] && [ "${#nodes[@]}" -gt 1 ] && meet=(--meet "$out/asked.$SLURM_JOB_ID" --meet-seconds "$meet_seconds")
rm -rf "$out/meetings"

# A task takes all CPUs of its node (-c), and no task needs MPI, so that a node that is lost takes nothing but itself with
# it. Its exit code says nothing; the files do.
measure() {
  srun "$@" -c "$SLURM_CPUS_ON_NODE" --no-kill --kill-on-bad-exit=0 --wait=0 --mpi=none --overlap \
    "$dlroof" cluster node --out "$out" --order "$order" ${meet[@]+"${meet[@]}"} -- "${arguments[@]}"
}

missing() {
  local node
  for node in "${nodes[@]}"; do
    [ -e "$out/nodes/$node.json" ] || echo "$node"
  done
}

if [ "$order" = one-by-one ]; then
  for node in $(missing); do measure -N 1 -n 1 -w "$node"; done
else
  measure -N "${#nodes[@]}" -n "${#nodes[@]}" --ntasks-per-node=1
fi

# A node that was dead when the step began has ended it for all: a step for each node that is left, 32 at a time.
for round in 1 2; do
  running=0
  for node in $(missing); do
    echo "round $round: $node once more" >&2
    measure -N 1 -n 1 -w "$node" &
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
