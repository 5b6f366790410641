# For scripts that make nodes out of namespaces: join_nodes NODES HOSTS makes the bridge to which the nodes n1, n2, ... are joined, and gives
# this namespace the name controller and the hosts of a new file. Source it.
join_nodes() {
  hostname controller
  ip link set lo up
  ip link add bridge0 type bridge
  ip addr add 10.77.0.254/24 dev bridge0
  ip link set bridge0 up
  {
    echo "127.0.0.1 localhost"
    echo "10.77.0.254 controller"
    for i in $(seq "$1"); do echo "10.77.0.$i n$i"; done
  } > "$2"
  mount --bind "$2" /etc/hosts
}
