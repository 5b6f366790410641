#!/usr/bin/env bash
# Runs a script beside several made-up nodes on this machine, among which mpirun starts programs without ssh: mpi_nodes.sh DIR NODES SCRIPT
# Each node has network, process, host name and mount namespaces of its own, all within one that dies with this program. Needs root.
# DIR, which is new, is seen by all nodes. For SCRIPT there are: set_rate I RATE (as tc writes it: 100mbit) for what node I receives,
# on_nodes RANKS PROGRAM..., a rank on each of the first nodes, and the pids of the nodes' first processes in run/node-nI.pid.
set -eu
. "$(dirname "$0")/join.sh"
mkdir -p "$1"
folder=$(realpath "$1") nodes=$2 script=$(realpath "$3")
export folder
cd "$folder"
mkdir -p run
join_nodes "$nodes" run/hosts
for i in $(seq "$nodes"); do
  join_node "$i" "run/node-n$i.log" 'sleep infinity'
  echo "n$i slots=1" >>run/slots
done
# In place of ssh: agent.sh NODE COMMAND...
cat >run/agent.sh <<'AGENT'
#!/usr/bin/env bash
node=$1
shift
process=$(pgrep -P "$(cat "$folder/run/node-$node.pid")" | head -n 1)
exec nsenter -t "$process" -n -u -p -m -i -- bash -c "$*"
AGENT
chmod +x run/agent.sh

set_rate() {
  tc qdisc replace dev "v$1" root tbf rate "$2" burst 64kb latency 50ms
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_plm=rsh
export OMPI_MCA_plm_rsh_agent="$folder/run/agent.sh" OMPI_MCA_orte_default_hostfile="$folder/run/slots" OMPI_MCA_btl=tcp,self
export OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_oob_tcp_if_include=10.77.0.0/24

on_nodes() {
  local ranks=$1
  shift
  mpirun -np "$ranks" --map-by ppr:1:node --bind-to none "$@"
}
. "$script"
