# This script runs in the job named here; a second job in this folder would measure the same nodes.
mkdir -p "$out"
if [ -e "$out/job" ] && read -r other < "$out/job" && [ "$other" != "$job" ] && is_running "$other"; then
  echo "job $other is measuring in $out: cancel it, or use another folder" >&2
  exit 2
fi
echo "$job" > "$out/job"

lost_seconds=${DLROOF_LOST_SECONDS-60}   # a node that shows no sign of life for so long is not awaited

# Writes the names of these nodes' files: of each its own, or one for each of its GPUs.
names_of() {
  local node gpu
  for node in "$@"; do
    [ "$gpus" -gt 0 ] || echo "$node"
    for ((gpu = 0; gpu < gpus; ++gpu)); do echo "$node-gpu$gpu"; done
  done
}

# Writes those of these nodes that have not all of their files in $at.
missing() {
  local node gpu
  for node in "$@"; do
    if [ "$gpus" -eq 0 ]; then
      [ -e "$at/nodes/$node.json" ] || echo "$node"
      continue
    fi
    for ((gpu = 0; gpu < gpus; ++gpu)); do
      [ -e "$at/nodes/$node-gpu$gpu.json" ] || { echo "$node"; break; }
    done
  done
}

# The date [s] of a file by the clock of its file system; 0 without a file.
date_of() { stat -c %Y "$1" 2> /dev/null || echo 0; }

# Whether a node without its files shows no sign of life: `cluster node` renews the date of its file every few seconds.
is_lost() {   # NODE BEGIN: the date [s] when its step began
  local name latest=$2 date
  for name in $(names_of "$1"); do
    date=$(date_of "$at/runs/$name.node")
    [ "$date" -gt "$latest" ] && latest=$date
  done
  touch "$out/now.$job"
  [ $(($(date_of "$out/now.$job") - latest)) -gt "$lost_seconds" ]
}

# Waits for the steps of these processes, which end late or never when a node is lost: no longer than for nodes that live.
await() {   # "NODES" PIDS
  local node alive running pid begin
  local -a of_step
  read -ra of_step <<< "$1"
  shift
  touch "$out/now.$job"
  begin=$(date_of "$out/now.$job")
  while :; do
    running=()
    for pid in "$@"; do kill -0 "$pid" 2> /dev/null && running+=("$pid"); done
    [ "${#running[@]}" -gt 0 ] || break
    alive=
    for node in $(missing "${of_step[@]}"); do is_lost "$node" "$begin" || { alive=1; break; }; done
    if [ -z "$alive" ]; then
      sleep 2   # a step that is complete ends by itself
      [ -z "$(missing "${of_step[@]}")" ] || echo "no sign of life for $lost_seconds s: $(missing "${of_step[@]}" | xargs)" >&2
      kill "${running[@]}" 2> /dev/null
      sleep 1
      kill -KILL "${running[@]}" 2> /dev/null
      break
    fi
    sleep 0.5
  done
  wait "$@" 2> /dev/null
}

# Nodes with other numbers of CPUs get steps of their own, at the same time.
per_gpu=()
[ "$gpus" -gt 0 ] && per_gpu=(--per-gpu)
measure() {   # NODES
  local node cpus
  local -a steps=()
  local -A with=()
  for node in "$@"; do with[${cpus_of[$node]}]+="$node "; done
  for cpus in "${!with[@]}"; do
    start_on "$cpus" "$tasks" "${with[$cpus]}" \
      "$dlroof" cluster node --out "$out" --order "$order" ${visit_of[@]+"${visit_of[@]}"} ${per_gpu[@]+"${per_gpu[@]}"} \
      ${meet[@]+"${meet[@]}"} -- "${arguments[@]}" &
    steps+=("$!")
  done
  await "$*" "${steps[@]}"
}

# Measures what is missing of these nodes in $at. Nodes that measure at once meet before each benchmark, by files in this
# folder; a node that is $meet_seconds late is left out.
following=   # the process that shows how far the nodes are
measure_all() {   # NODES
  local node round running
  local -a left steps
  mapfile -t left < <(missing "$@")
  [ "${#left[@]}" -gt 0 ] || return 0
  meet=()
  names_of "$@" > "$at/asked.$job"
  if [ -z "$following" ]; then
    "$dlroof" cluster report "$out" --follow --every 60 &
    following=$!
    background+=("$following")
  fi
  [ "$order" = at-once ] && [ "$(wc -l < "$at/asked.$job")" -gt 1 ] && meet=(--meet "$at/asked.$job" --meet-seconds "$meet_seconds")
  rm -rf "$at/meetings"
  if [ "$order" = one-by-one ]; then
    for node in "${left[@]}"; do measure "$node"; done
  else
    measure "${left[@]}"
  fi
  # A node that was dead when the step began has ended it for all: a step for each node that is left, 32 at a time.
  for round in 1 2; do
    steps=() left=()
    for node in $(missing "$@"); do
      is_up "$node" && left+=("$node") || echo "$node is down: left out" >&2
    done
    [ "${#left[@]}" -gt 0 ] || break
    [ "$round" -eq 1 ] || sleep 5   # what kept a step from starting may pass
    for node in "${left[@]}"; do
      echo "round $round: $node once more" >&2
      measure "$node" &
      steps+=("$!")
      [ "$order" = at-once ] && [ "${#steps[@]}" -lt 32 ] && continue
      wait "${steps[@]}"
      steps=()
    done
    [ "${#steps[@]}" -eq 0 ] || wait "${steps[@]}"
  done
}

# This node runs the script. If it is lost, the last one waits for the nodes that measure, gathers, and ends the job.
background=()
if [ "${#nodes[@]}" -gt 1 ]; then
  touch "$out/alive.$job"
  while :; do touch "$out/alive.$job"; sleep 2; done &
  background+=("$!")
  # shellcheck disable=SC2016
  start_on 1 1 "${nodes[-1]}" bash -c '
    out=$1 job=$2 lost=$3 dlroof=$4
    shift 4
    age() { touch "$out/seen.$job"; echo $(($(stat -c %Y "$out/seen.$job") - $(stat -c %Y "$1" 2> /dev/null || echo 0))); }
    while sleep 2; do
      [ -e "$out/alive.$job" ] || exit   # the script has ended
      [ "$(age "$out/alive.$job")" -gt "$lost" ] || continue
      quiet=1
      for file in "$out"/runs/*.node "$out"/visits/*/runs/*.node; do
        [ ! -e "$file" ] || [ "$(age "$file")" -gt "$lost" ] || quiet=
      done
      [ "$quiet" ] || continue
      echo "the job'"'"'s first node is lost: gathered by another" > "$out/gathered.$job"
      "$dlroof" cluster gather "$out" -o "$out/cluster.json" >> "$out/gathered.$job" 2>&1
      "$@"
      exit
    done' watch "$out" "$job" "$lost_seconds" "$dlroof" "${end_job[@]}" > /dev/null 2>&1 &
  background+=("$!")
fi
end_background() {
  kill "${background[@]}" 2> /dev/null
  [ ! -e "$out/progress.txt" ] || "$dlroof" cluster report "$out" --follow --every 0 > /dev/null 2>&1   # the last state
  rm -f "$out/alive.$job" "$out/seen.$job"
}
trap end_background EXIT

