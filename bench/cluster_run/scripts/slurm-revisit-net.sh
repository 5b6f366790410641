  # The links of this visit's nodes: an MPI job, which ends as a whole with a node that it loses, by its deadline [s] at the latest.
  again="$out/visits/$visit" deadline=600
  if [ ! -e "$again/network.json" ]; then
    timeout -k 30 "$((deadline + 60))" srun -N "${#up[@]}" -n "${#up[@]}" -w "$(IFS=,; echo "${up[*]}")" --ntasks-per-node=1 -c "$SLURM_CPUS_ON_NODE" --mpi=pmix --overlap \
      "$(dirname "$dlroof")/dlroof_net" -o "$again/network.json" --deadline "$deadline" > "$again/network.log" 2>&1 \
      || echo "visit $visit: the network was not measured: $again/network.log" >&2
  fi
