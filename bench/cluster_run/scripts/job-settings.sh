set -u
out={{out}}
dlroof={{dlroof}}
arguments=({{arguments}})
order="{{order}}"
gpus={{gpus}}   # processes of a node, each with a GPU of its own; 0: one, with all of them
tasks={{tasks}}
meet_seconds={{meet_seconds}}

