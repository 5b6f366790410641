# For scripts that make nodes out of namespaces. Source it first, without arguments: it starts the script anew within namespaces that die
# with it.
if [ "$1" != inside ]; then
  exec unshare --net --pid --mount --uts --ipc --fork --kill-child --mount-proc "$0" inside "$@"
fi
shift

# join_nodes NODES HOSTS makes the bridge to which the nodes n1, n2, ... are joined, and gives this namespace the name controller and the
# hosts of a new file.
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
  } >"$2"
  mount --bind "$2" /etc/hosts
}
# join_node I OUTPUT COMMAND runs COMMAND in namespaces of its own, joined to the bridge as node I. The pid of the first process there is in
# $folder/run/node-nI.pid.
join_node() {
  local name=n$1 go=$folder/run/go-n$1 pid
  rm -f "$go"
  mkfifo "$go"
  unshare --net --pid --uts --mount --ipc --fork --kill-child --mount-proc bash -c "
    read -r word < '$go'; hostname $name; ip link set lo up
    ip addr add 10.77.0.$1/24 dev eth0; ip link set eth0 up
    $3" >"$2" 2>&1 &
  pid=$!
  echo "$pid" >"$folder/run/node-$name.pid"
  while [ "$(readlink "/proc/$pid/ns/net")" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
  ip link delete "v$1" 2>/dev/null || true # of the node before, which may linger
  ip link add "v$1" type veth peer name eth0 netns "$pid"
  ip link set "v$1" master bridge0 up
  echo go >"$go"
}
