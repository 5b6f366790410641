# What the scheduler tells and does.
job=$PBS_JOBID
mapfile -t nodes < <(awk '!seen[$0]++' "$PBS_NODEFILE")
declare -A cpus_of=()   # of each node; a line of the file for each CPU
while read -r node; do cpus_of[$node]=$((${cpus_of[$node]-0} + 1)); done < "$PBS_NODEFILE"
is_running() { [ "$(qstat -f "$1" 2> /dev/null | sed -n 's/ *job_state = //p')" = R ]; }
is_up() { ! pbsnodes -l 2> /dev/null | grep -q "^$1 .*\(down\|offline\)"; }
end_job=(qdel "$job")
start_on() {   # CPUS TASKS "NODES" COMMAND...: a process for each node
  local node names=$3
  shift 3
  for node in $names; do pbs_tmrsh "$node" env DLROOF_NODE="$node" "$@" & done
  wait
}

