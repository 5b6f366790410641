#!/bin/bash
# Run it where mpirun can start processes on {{nodes}} nodes. Run again it measures what is missing, and nothing twice.
# mpirun ends all processes when it loses a node: run the script again then.
set -u
out={{out}}
dlroof={{dlroof}}
arguments=({{arguments}})
options=({{options}})
order={{order}}
meet_seconds={{meet_seconds}}

# A process per node that may use all of its CPUs; mpirun would bind it to one core. No process waits in MPI.
on_each_node=(mpirun -np {{nodes}} --map-by ppr:1:node --bind-to none ${options[@]+"${options[@]}"})

mkdir -p "$out"
"${on_each_node[@]}" hostname > "$out/asked.new" || exit 1
sort -u "$out/asked.new" -o "$out/asked.new"
touch "$out/asked.txt"
sort -u "$out/asked.new" "$out/asked.txt" -o "$out/asked.txt.new" && mv "$out/asked.txt.new" "$out/asked.txt"
mv "$out/asked.new" "$out/asked.now"

# Nodes that measure at once meet before each benchmark, by files in this folder. A node that is $meet_seconds late is left out.
meet=()
[ "$order" = at-once ] && [ {{nodes}} -gt 1 ] && meet=(--meet "$out/asked.now" --meet-seconds "$meet_seconds")
rm -rf "$out/meetings"

measure=("$dlroof" cluster node --out "$out" --order "$order" ${meet[@]+"${meet[@]}"} -- "${arguments[@]}")
if [ "$order" = one-by-one ]; then
  while read -r node <&3; do
    mpirun -np 1 --host "$node" --bind-to none ${options[@]+"${options[@]}"} "${measure[@]}" < /dev/null
  done 3< "$out/asked.txt"
else
  "${on_each_node[@]}" "${measure[@]}"
fi

{{network}}exec "$dlroof" cluster gather "$out" -o "$out/cluster.json"
