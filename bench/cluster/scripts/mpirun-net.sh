# The network between the nodes: an MPI job, which ends as a whole with a node that it loses. Its deadline ends it then.
if [ ! -e "$out/network.json" ]; then
  on_each_node "$(dirname "$dlroof")/dlroof_net" -o "$out/network.json" --deadline 600
fi

