# The network between the nodes that have measured: an MPI job, which ends as a whole with a node that it loses, by its deadline [s] at the
# latest. A launcher that waits for a lost node even then is ended a minute later.
deadline=600
mapfile -t whole < <(comm -23 <(printf "%s\n" "${nodes[@]}" | sort) <(missing "${nodes[@]}" | sort))
if [ ! -e "$out/network.json" ] && [ "${#whole[@]}" -ge 2 ]; then
  timeout -k 30 "$((deadline + 60))" srun -N "${#whole[@]}" -n "${#whole[@]}" --ntasks-per-node=1 -c "$SLURM_CPUS_ON_NODE" \
    -w "$(IFS=,; echo "${whole[*]}")" --mpi=pmix --overlap "$(dirname "$dlroof")/dlroof_net" -o "$out/network.json" --deadline "$deadline" \
    > "$out/network.log" 2>&1
  code=$?
  [ -e "$out/network.json" ] || echo "dlroof_net ended without a result, with exit code $code (4, 124: by its deadline of $deadline s): a rank may be lost" >> "$out/network.log"
  cat "$out/network.log"
fi

