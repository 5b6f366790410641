#!/usr/bin/env bash
# baselines/studies/trajectories/trajectories_study.sh OUT [PROGRAM]: measures five convolutions and five LSTMs on 1 and 2 threads
# with batches 1, 4, 16 and 64. Writes OUT-conv2d.json and OUT-lstm.json; of each a figure and a table along the threads and the batch.
set -euo pipefail
out=$1
program=${2:-build/dlroof}
declare -A names
# AlexNet's first and fourth layer, ResNet-50's 3x3, its widening 1x1, and its last narrowing 1x1.
names[conv2d]="n16c3h227w227k96r11s11_s4 n16c384h13w13k384r3s3_p1g2 n16c64h56w56k64r3s3_p1 n16c64h56w56k256r1s1 n16c2048h7w7k512r1s1"
# The base point of the time-based roofline paper, its widest hidden layer, two of DeepBench's, GNMT's.
names[lstm]="t16n16i32h16 t16n16i32h128 t150n16i256h256 t25n16i512h512 t25n16i1024h1024"
prefix=([0]=Conv2D/cpu/onednn/fwd/f32/ [1]=LSTM/cpu/onednn/fwd_inference/f32/)
for i in 0 1; do
  set=$([ $i = 0 ] && echo conv2d || echo lstm)
  read -ra problems <<<"${names[$set]}"
  "$program" trajectory "${problems[@]/#/${prefix[$i]}}" --threads=1,2 --batch=1,4,16,64 --bench=build/dlroof_bench -o "$out-$set.json" -- --dlroof_max_seconds=4 >/dev/null
  for along in threads batch; do
    "$program" trajectory "$out-$set.json" --along=$along -o "$out-$set-$along.svg" >"$out-$set-$along.txt"
  done
done
