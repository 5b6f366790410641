#!/bin/bash
#flux: --job-name=dlroof
#flux: -N {{nodes}}
#flux: --exclusive
{{options}}# Submit it with flux batch. Submitted again it measures what is missing, and nothing twice.
{{settings}}{{job}}{{steps}}{{measure}}"$dlroof" cluster gather "$out" -o "$out/cluster.json"
