#!/usr/bin/env bash
# make_environment.sh FOLDER: a virtual environment with PyTorch and TensorFlow of PyPI, without NVIDIA's wheels (2 GB of disk, 0.8 GB to fetch).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?usage: make_environment.sh FOLDER}
python3 -m venv "$folder"
pip=("$folder/bin/pip" install --quiet --disable-pip-version-check)
# torch's own dependencies would bring 3 GB for GPUs; these are the ones that it imports.
"${pip[@]}" --no-deps torch==2.15.0
"${pip[@]}" filelock typing-extensions sympy networkx jinja2 fsspec numpy setuptools tensorflow-cpu==2.21.0
site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
python3 "$here/stub_libraries.py" "$site" "$folder/stubs"
LD_LIBRARY_PATH="$folder/stubs" "$folder/bin/python" -c 'import torch; print("torch", torch.__version__)'
TF_CPP_MIN_LOG_LEVEL=3 "$folder/bin/python" -c 'import tensorflow; print("tensorflow", tensorflow.__version__)' 2>/dev/null
