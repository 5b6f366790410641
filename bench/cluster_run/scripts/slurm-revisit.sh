#!/bin/bash
#SBATCH --job-name=dlroof-revisit
#SBATCH --nodes={{nodes}}
#SBATCH --nodelist={{nodelist}}
#SBATCH --ntasks-per-node={{tasks}}
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --no-requeue
{{options}}# Visits the suspects and as many ordinary nodes again. Submitted again it goes on where it ended.
{{settings}}{{job}}{{steps}}for visit in $(seq {{visits}}); do
  at=$out/visits/$visit visit_of=(--visit "$visit")
  mkdir -p "$at"
  up=()
  for node in "${nodes[@]}"; do
    is_up "$node" && up+=("$node") || echo "visit $visit: $node is down: left out" >&2
  done
  [ "${#up[@]}" -gt 0 ] || break
  measure_all "${up[@]}"
done

"$dlroof" cluster gather "$out" -o "$out/cluster.json"
