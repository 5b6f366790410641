#!/bin/bash
#BSUB -J dlroof
#BSUB -n {{nodes}}
#BSUB -R "span[ptile=1]"
#BSUB -x
{{options}}# Submit it with bsub <. Submitted again it measures what is missing, and nothing twice.
{{settings}}{{job}}{{steps}}{{measure}}"$dlroof" cluster gather "$out" -o "$out/cluster.json"
