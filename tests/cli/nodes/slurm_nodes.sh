#!/usr/bin/env bash
# Runs a script beside a real Slurm of several nodes on this machine: slurm_nodes.sh DIR NODES CPUS SCRIPT
# Each node has network, process, host name and mount namespaces of its own, all within one that dies with this program. Needs root.
# DIR, which is new, is seen by all nodes. For SCRIPT there are start_node I, pull_plug I, which ends everything on a node at once,
# wait_for_nodes NUMBER, and submit FILE OUTPUT.
set -eu
. "$(dirname "$0")/join.sh"
mkdir -p "$1"
folder=$(realpath "$1") nodes=$2 cpus=$3 script=$(realpath "$4")
export folder
cd "$folder"
mkdir -p run log state etc
join_nodes "$nodes" etc/hosts
# FEWER_CPUS: the last node has one CPU.
node_lines="NodeName=n[1-$nodes] CPUs=$cpus Gres=gpu:2 State=UNKNOWN"
[ -z "${FEWER_CPUS-}" ] || node_lines="NodeName=n[1-$((nodes - 1))] CPUs=$cpus Gres=gpu:2 State=UNKNOWN
NodeName=n$nodes CPUs=1 Gres=gpu:2 State=UNKNOWN"
head -c 1024 /dev/urandom >etc/munge.key
chmod 400 etc/munge.key
# TmpFS and the other %n: several slurmd on one host. Without accounting, control groups or mail.
cat >etc/slurm.conf <<CONF
ClusterName=test
SlurmctldHost=controller(10.77.0.254)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/run/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/run/spool-%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd-%n.log
TmpFS=$folder/run/tmp-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
SlurmdTimeout=4
MessageTimeout=2
TCPTimeout=1
KillWait=2
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000
MailProg=/bin/true
GresTypes=gpu
$node_lines
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
CONF
# Two files play GPUs: Slurm counts them, and tells a task which it has.
printf 'Name=gpu File=%s\n' /dev/null /dev/zero >etc/gres.conf
export SLURM_CONF=$folder/etc/slurm.conf

start_node() {
  mkdir -p "$folder/run/spool-n$1" "$folder/run/tmp-n$1"
  join_node "$1" "$folder/log/node-n$1.out" "slurmd -D -N n$1 -f '$SLURM_CONF' & wait"
}
pull_plug() { kill -9 "$(cat "$folder/run/node-n$1.pid")"; }
wait_for_nodes() {
  local try
  for try in $(seq 600); do
    [ "$(sinfo -h -t idle -o %D)" = "$1" ] && return
    sleep 0.1
  done
  echo "after $try looks: $(sinfo -h -N -o '%N %T' | xargs)" >&2
  return 1
}
# submit FILE OUTPUT: submits a script, waits for its end and prints its exit code. (`sbatch --wait` looks every ten seconds.)
submit() {
  local job
  job=$(sbatch --parsable -o "$2" "$1")
  while [ -n "$(squeue -h -j "$job" -o %T)" ]; do sleep 0.1; done
  scontrol -o show job "$job" | sed -n 's/.* ExitCode=\([0-9]*\):.*/job \1/p'
}
export -f join_node start_node pull_plug wait_for_nodes submit

munged --force --key-file="$folder/etc/munge.key" --socket="$folder/run/munge.socket" --pid-file="$folder/run/munged.pid" \
  --log-file="$folder/log/munged.log" --seed-file="$folder/run/munged.seed"
slurmctld -f "$SLURM_CONF" -c
for i in $(seq "$nodes"); do start_node "$i"; done
wait_for_nodes "$nodes"
bash -eu "$script"
