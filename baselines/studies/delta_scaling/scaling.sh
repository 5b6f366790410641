#!/usr/bin/env bash
# Makes the scaling study of this folder again: baselines/studies/delta_scaling/scaling.sh (from anywhere, after a build).
set -euo pipefail
cd "$(dirname "$0")/../../.."
out=baselines/studies/delta_scaling/$(date +%F)-v100
build/dlroof model --gpu v100 --suite alexnet,vgg16,googlenet,resnet152 --batch 256 \
  --scale sm=2 --scale sm=4 --scale sm=2,l2=2,dram=2 --scale sm=4,l2=4,dram=4 \
  --scale mac=2 --scale mac=4 --scale mac=4,shared=4,l1=4 --scale mac=4,shared=4,l1=4,l2=4,dram=4 \
  --scale mac=4,shared=4,l1=2,l2=2,dram=2 --scale mac=4,shared=4,l1=2,l2=2,dram=2,reg=2,tile=256x128 \
  --scale mac=4,shared=4,l1=2,l2=2,dram=2,reg=4,smem=2,tile=256x256 \
  -o "$out.txt"
