#!/bin/bash
# Run it where mpirun can start processes on {{nodes}} nodes. Run again it measures what is missing, and nothing twice.
# mpirun ends all processes when it loses a node: run the script again then.
set -u
out={{out}}
dlroof={{dlroof}}
arguments=({{arguments}})
options=({{options}})
order="{{order}}"
gpus={{gpus}}   # processes of a node, each with a GPU of its own; 0: one, with all of them
meet_seconds={{meet_seconds}}

# A process per node that may use all of its CPUs; mpirun would bind it to one core. No process waits in MPI.
on_each_node=(mpirun -np {{nodes}} --map-by ppr:1:node --bind-to none ${options[@]+"${options[@]}"})

mkdir -p "$out"
"${on_each_node[@]}" hostname > "$out/hosts.new" || exit 1
sort -u "$out/hosts.new" -o "$out/hosts.now"
rm -f "$out/hosts.new"
# The names of files: of each node its own, or one for each of its GPUs.
while read -r node; do
  [ "$gpus" -gt 0 ] || echo "$node"
  for ((gpu = 0; gpu < gpus; ++gpu)); do echo "$node-gpu$gpu"; done
done < "$out/hosts.now" | sort -u > "$out/asked.new"
touch "$out/asked.txt"
sort -u "$out/asked.new" "$out/asked.txt" -o "$out/asked.txt.new" && mv "$out/asked.txt.new" "$out/asked.txt"
mv "$out/asked.new" "$out/asked.now"

# Nodes that measure at once meet before each benchmark, by files in this folder. A node that is $meet_seconds late is left out.
meet=()
[ "$order" = at-once ] && [ "$(wc -l < "$out/asked.now")" -gt 1 ] && meet=(--meet "$out/asked.now" --meet-seconds "$meet_seconds")
rm -rf "$out/meetings"

per_gpu=()
[ "$gpus" -gt 0 ] && per_gpu=(--per-gpu)
measure=("$dlroof" cluster node --out "$out" --order "$order" ${per_gpu[@]+"${per_gpu[@]}"} ${meet[@]+"${meet[@]}"} -- "${arguments[@]}")
if [ "$order" = one-by-one ]; then
  while read -r node <&3; do
    mpirun -np {{tasks}} --host "$node:{{tasks}}" --bind-to none ${options[@]+"${options[@]}"} "${measure[@]}" < /dev/null
  done 3< "$out/hosts.now"
else
  mpirun -np {{all_tasks}} --map-by ppr:{{tasks}}:node --bind-to none ${options[@]+"${options[@]}"} "${measure[@]}"
fi

exec "$dlroof" cluster gather "$out" -o "$out/cluster.json"
