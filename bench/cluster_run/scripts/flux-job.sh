# What the scheduler tells and does.
job=$FLUX_JOB_ID
mapfile -t nodes < <(flux hostlist -e local | tr ' ' '\n')
declare -A cpus_of=()
for node in "${nodes[@]}"; do cpus_of[$node]=$(flux resource list -n -o '{ncores}' -i "$node"); done
is_running() { [ "$(flux jobs -n -o '{status_abbrev}' "$1" 2> /dev/null)" = R ]; }
is_up() { [ -z "$(flux resource list -n -s down -i "$1" -o '{nodelist}' 2> /dev/null)" ]; }
end_job=(flux cancel "$job")
start_on() {   # CPUS TASKS "NODES" COMMAND...: replaces this process, in the background
  local -a some
  read -ra some <<< "$3"
  local cpus=$1
  shift 3
  exec flux run -N "${#some[@]}" -n "${#some[@]}" -c "$cpus" --requires="host:$(IFS=,; echo "${some[*]}")" "$@"
}

