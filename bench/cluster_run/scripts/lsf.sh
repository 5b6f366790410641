#!/bin/bash
#BSUB -J dlroof
#BSUB -n {{nodes}}
#BSUB -R "span[ptile=1]"
#BSUB -x
{{options}}# Submit it with bsub <. Submitted again it measures what is missing, and nothing twice.
set -u
out={{out}}
dlroof={{dlroof}}
arguments=({{arguments}})
order="{{order}}"
gpus={{gpus}}   # processes of a node, each with a GPU of its own; 0: one, with all of them
tasks={{tasks}}
meet_seconds={{meet_seconds}}

{{job}}{{steps}}at=$out visit_of=()
names_of "${nodes[@]}" > "$out/asked.$job"
cat "$out"/asked.[!t]* | sort -u > "$out/asked.txt.new" && mv "$out/asked.txt.new" "$out/asked.txt"
measure_all "${nodes[@]}"

{{network}}"$dlroof" cluster gather "$out" -o "$out/cluster.json"
