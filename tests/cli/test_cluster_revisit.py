"""dlroof cluster: suspects, and the further visits that prove slow nodes and roofs."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from checks import ROOT, bad_input, contains, exits, plain, prints, run, says, verify
from test_cluster import NODE, node


class TestRevisit:
    """Six nodes of which n6 is 20 % slower: a suspect, then validated by five further visits beside the others."""

    def write_slow(self, name, folder):
        path = Path(folder) / f"nodes/{name}.json"
        content = json.loads(path.read_text())
        for record in content["records"]:
            record.pop("seconds", None)  # follows from the repetitions
            for repetition in record["repetitions"]:
                repetition["seconds"] *= 1.2
        path.write_text(json.dumps(content))

    def test_a_suspect_is_visited_again_and_proved(self, own_folder):
        for i in range(1, 7):
            node(f"n{i}")
        self.write_slow("n6", "out")
        Path("out/asked.txt").write_text("".join(f"n{i}\n" for i in range(1, 7)))
        verify(run("dlroof cluster gather out -o out/cluster.json"), [exits(0)])
        verify(run("dlroof cluster report out/cluster.json"), [exits(0), prints(r"^n6 +all +suspect +\+20.0 % +1$"), plain("which may be chance")])
        verify(
            run("dlroof cluster script --revisit out/cluster.json -o again.sh"),
            [
                exits(0),
                contains("again.sh", "^#SBATCH --nodelist=n1,n2,n3,n4,n5,n6$"),
                contains("again.sh", "^visits=5 "),
                contains("again.sh", "--dlroof_seed=1"),
            ],
        )
        assert subprocess.run(["bash", "-n", "again.sh"]).returncode == 0
        for visit in range(1, 6):
            for i in range(1, 7):
                verify(node(f"n{i}", NODE.replace("--out out", f"--out out --visit {visit}")), [exits(0)])
            self.write_slow("n6", f"out/visits/{visit}")
            assert len(os.listdir(f"out/visits/{visit}/cache")) == 6  # ceilings are measured again
        verify(
            run("dlroof cluster gather out -o out/cluster.json"),
            [exits(1), says("^n6: slow, by 20.0 % .all.$"), says("^to drain: scontrol update NodeName=n6 State=DRAIN Reason=")],
        )
        verify(
            run("dlroof cluster report out/cluster.json -o c.html"), [exits(1), prints(r"^n6 +all +slow +\+20.0 % .*1 \+ 5"), contains("c.html", "slow nodes")]
        )

    def write_roof(self, name, folder, dram):
        path = Path(folder) / f"nodes/{name}.json"
        content = json.loads(path.read_text())
        roofs = {
            "flops": {"fp32.vector": {"per_second": 1e11, "threads": 2, "how": "made up", "proved": True}},
            "bytes": {"dram": {"per_second": dram, "threads": 2, "how": "made up", "proved": True}},
        }
        content["machines"] = [
            {
                "device": "cpu",
                "name": "m",
                "fingerprint": "00",
                "measured_at": "2026-01-01T00:00:00Z",
                "facts": {},
                "cache_bytes": {},
                **roofs,
                "by_threads": {"2": roofs},
            }
        ]
        path.write_text(json.dumps(content))

    def test_a_slow_roof_is_proved_by_itself(self, own_folder):
        def visit(folder, flags):
            for i in range(1, 7):
                verify(node(f"n{i}", NODE.replace("--out out", "--out roofs" + flags)), [exits(0)])
                # n3's is less than a tenth lower: one roof by itself validates nothing by that.
                self.write_roof(f"n{i}", folder, {2: 8e9, 3: 9.5e9}.get(i, 1e10))

        visit("roofs", "")
        verify(run("dlroof cluster gather roofs -o roofs/cluster.json"), [exits(0)])
        verify(run("dlroof cluster report roofs/cluster.json"), [exits(0), prints(r"^n2 +cpu.dram +suspect +\+25.0 % +1$")])
        verify(run("dlroof cluster script --revisit roofs/cluster.json -o roof.sh"), [exits(0)])
        assert subprocess.run(["bash", "-n", "roof.sh"]).returncode == 0
        assert shutil.which("shellcheck") is None or subprocess.run(["shellcheck", "roof.sh"]).returncode == 0
        for number in range(1, 6):
            visit(f"roofs/visits/{number}", f" --visit {number}")
        verify(run("dlroof cluster gather roofs -o roofs/cluster.json"), [exits(1), says("^n2: slow, by 25.0 % .cpu.dram.$")])
        found = {(one["node"], one["what"]): one["verdict"] for one in json.loads(Path("roofs/cluster.json").read_text())["cluster"]["findings"]}
        assert found == {(1, "cpu.dram"): "slow"}, found

    def test_no_value_of_a_file_becomes_a_command_an_option_or_a_library_of_the_job(self, own_folder):
        hostile = ROOT / "tests/data/hostile"
        verify(run(f"dlroof cluster script --revisit {hostile}/cluster_order.json"), [bad_input, says("'order': expected at-once or one-by-one")])
        names = (hostile / "cluster_names.json").read_text()
        Path("names.json").write_text(names)
        verify(run("dlroof cluster script --revisit names.json"), [bad_input, says("'n1 --output=.* expected a node's name of letters, digits")])
        Path("library.json").write_text(re.sub('n1 --output=[^"]*', "n1", names))
        verify(run("dlroof cluster script --revisit library.json"), [bad_input, says("a file may not choose what a job loads")])
        verify(run("dlroof cluster script --revisit library.json -- --dlroof_seed=2"), [bad_input, says("were measured with other arguments")])
        verify(run("dlroof cluster script --revisit library.json -- --dlroof_onednn=/shared/evil.so"), [exits(0), plain("arguments=(--dlroof_onednn=")])
        Path("out.json").write_text(Path("library.json").read_text().replace("--dlroof_onednn=", "--benchmark_out="))
        verify(run("dlroof cluster script --revisit out.json"), [bad_input, says("out.json: --benchmark_out=.* sets this flag itself")])

    def test_without_a_suspect_there_is_nothing_to_visit(self, own_folder):
        node("n7")
        shutil.copytree("out", "even")
        os.remove("even/nodes/n6.json")
        Path("even/asked.txt").unlink()
        verify(run("dlroof cluster gather even -o even/cluster.json"), [exits(0)])
        verify(run("dlroof cluster script --revisit even/cluster.json"), [bad_input, says("no node is a suspect")])
        verify(run("dlroof cluster script --revisit out/cluster.json -N 3"), [bad_input, says("expected no -N and --per-gpu")])
        verify(run("dlroof cluster script"), [bad_input, says("expected -N and --out, or --revisit")])
