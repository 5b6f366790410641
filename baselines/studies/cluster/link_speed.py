#!/usr/bin/env python3
"""Sets links' speeds by tbf, and compares them with the results of dlroof_net and NetPIPE.

    baselines/studies/cluster/link_speed.py --net build/dlroof_net -o FILE.json

Needs root, openmpi-bin, iproute2 and netpipe-openmpi; five minutes. Nodes are namespaces (tests/cli/nodes/mpi_nodes.sh). Exit code 1 where a
bandwidth is not within 5 % of the set one or within 2 % of NetPIPE's, or where another node than the slow one is reported.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
NODES = ROOT / "tests/cli/nodes/mpi_nodes.sh"
RATES = (50, 100, 200)  # [Mbit/s]
PIPE = "NPopenmpi -l 4194304 -u 4194304 -n 3 -p 0 -o pipe.out"

TWO = """
for rate in {rates}; do
  set_rate 1 "${{rate}}mbit"
  set_rate 2 "${{rate}}mbit"
  on_nodes 2 "$folder/dlroof_net" -o "$folder/net-$rate.json" > /dev/null
  on_nodes 2 {pipe} > /dev/null 2>&1
  mv pipe.out "pipe-$rate.out"
done
"""
FOUR = """
for i in 1 2 3 4; do set_rate $i 200mbit; done
set_rate 3 50mbit
on_nodes 4 "$folder/dlroof_net" -o "$folder/slow.json" > "$folder/slow.txt"
"""


def run(folder, nodes, script, net):
    """Runs a script beside the nodes; its files lie in `folder` afterwards."""
    path = folder.with_suffix(".sh")
    path.write_text(f'cp "{net.resolve()}" "$folder/dlroof_net"\n' + script)
    subprocess.run([NODES, folder, str(nodes), path], check=True, stderr=subprocess.DEVNULL)


def pipe_rate(path):
    """Returns NetPIPE's rate [byte/s] of its largest message: columns bytes, Mbit/s (2^20), seconds."""
    rows = [line.split() for line in path.read_text().splitlines()]
    return float(max(rows, key=lambda row: int(row[0]))[1]) * 2**20 / 8


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--net", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    result, wrong = {"command": " ".join(["link_speed.py", *sys.argv[1:]]), "links": []}, []
    with tempfile.TemporaryDirectory() as temporary:
        two, four = Path(temporary) / "two", Path(temporary) / "four"
        run(two, 2, TWO.format(rates=" ".join(map(str, RATES)), pipe=PIPE), options.net)
        for rate in RATES:
            fit = json.loads((two / f"net-{rate}.json").read_text())["network"]
            row = {
                "set": rate * 1e6 / 8,
                "found": fit["pieces"][-1]["bytes_per_second"],
                "netpipe": pipe_rate(two / f"pipe-{rate}.out"),
                "proved": fit["proof"]["proved"],
                "reason": fit["proof"].get("reason"),
            }
            result["links"].append(row)
            if abs(row["found"] / row["set"] - 1) > 0.05 or abs(row["found"] / row["netpipe"] - 1) > 0.02:
                wrong.append(f"{rate} Mbit/s: {row}")
            print(
                f"| {rate} Mbit/s | {row['set'] / 1e6:.2f} | {row['found'] / 1e6:.2f} | {100 * row['found'] / row['set']:.1f} % | "
                f"{row['netpipe'] / 1e6:.2f} | {'yes' if row['proved'] else row['reason']} |",
                flush=True,
            )
        run(four, 4, FOUR, options.net)
        result["slow"] = [line for line in (four / "slow.txt").read_text().splitlines() if line.startswith("slow")]
        print("\n".join(result["slow"]))
        if len(result["slow"]) != 1 or not result["slow"][0].startswith("slow node: n3 receives"):
            wrong.append(f"named: {result['slow']}")
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
