# The network between the nodes that have measured: an MPI job, which ends as a whole with a node that it loses. Its deadline ends it then.
mapfile -t whole < <(for node in "${nodes[@]}"; do [ -e "$out/nodes/$node.json" ] && echo "$node"; done)
if [ ! -e "$out/network.json" ] && [ "${#whole[@]}" -ge 2 ]; then
  srun -N "${#whole[@]}" -n "${#whole[@]}" --ntasks-per-node=1 -c "$SLURM_CPUS_ON_NODE" -w "$(IFS=,; echo "${whole[*]}")" --mpi=pmix --overlap \
    "$(dirname "$dlroof")/dlroof_net" -o "$out/network.json" --deadline 600
fi

