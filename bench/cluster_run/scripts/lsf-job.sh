# What the scheduler tells and does.
job=$LSB_JOBID
nodes=()
declare -A cpus_of=()
read -ra hosts <<< "$LSB_MCPU_HOSTS"   # n1 2 n2 2
for ((i = 0; i < ${#hosts[@]}; i += 2)); do
  nodes+=("${hosts[i]}")
  cpus_of[${hosts[i]}]=${hosts[i + 1]}
done
is_running() { [ "$(bjobs -noheader -o stat "$1" 2> /dev/null)" = RUN ]; }
is_up() { [[ $(bhosts -noheader -o status "$1" 2> /dev/null) != unavail* && $(bhosts -noheader -o status "$1" 2> /dev/null) != unreach* ]]; }
end_job=(bkill "$job")
start_on() {   # CPUS TASKS "NODES" COMMAND...: a process for each node
  local node names=$3
  shift 3
  for node in $names; do blaunch "$node" env DLROOF_NODE="$node" "$@" & done
  wait
}

