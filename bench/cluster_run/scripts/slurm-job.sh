# What the scheduler tells and does.
job=$SLURM_JOB_ID
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
# The CPUs of each node, from Slurm's list in the order of the nodes: 2(x3),1
declare -A cpus_of=()
i=0
for part in ${SLURM_JOB_CPUS_PER_NODE//,/ }; do
  count=1
  [[ $part == *x* ]] && count=${part#*x} count=${count%)}
  for (( ; count > 0; --count, ++i)); do cpus_of[${nodes[i]}]=${part%%(*}; done
done
is_running() { [ -n "$(squeue -h -j "$1" -t running,suspended -o %i 2> /dev/null)" ]; }
is_up() { [[ $(sinfo -h -n "$1" -o %T) != *down* && $(sinfo -h -n "$1" -o %T) != *\* ]]; }
end_job=(scancel "$job")
# A node's tasks share all of its CPUs (-c), and no task needs MPI, so that a node that is lost takes nothing but itself with
# it. Its exit code says nothing; the files do.
gpu_of_task=()
[ "$gpus" -gt 0 ] && gpu_of_task=(--gpus-per-task=1)
start_on() {   # CPUS TASKS "NODES" COMMAND...: replaces this process, in the background
  local cpus=$1 count=$2
  local -a some
  read -ra some <<< "$3"
  shift 3
  exec srun -N "${#some[@]}" -n "$((${#some[@]} * count))" --ntasks-per-node="$count" ${gpu_of_task[@]+"${gpu_of_task[@]}"} \
    -w "$(IFS=,; echo "${some[*]}")" -c "$((cpus < count ? 1 : cpus / count))" \
    --no-kill --kill-on-bad-exit=0 --wait=0 --mpi=none --overlap "$@"
}

