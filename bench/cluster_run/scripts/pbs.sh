#!/bin/bash
#PBS -N dlroof
#PBS -l select={{nodes}}
#PBS -l place=scatter:excl
#PBS -r n
{{options}}# Submit it with qsub. Submitted again it measures what is missing, and nothing twice.
{{settings}}{{job}}{{steps}}{{measure}}"$dlroof" cluster gather "$out" -o "$out/cluster.json"
