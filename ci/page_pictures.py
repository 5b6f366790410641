#!/usr/bin/env python3
"""Makes each kind of page from stored runs and takes four pictures of it: wide and narrow, light and dark.

    ci/page_pictures.py [FOLDER [NAME...]]     FOLDER (build/pages): NAME.html, NAME.{1280,400}.{light,dark}.png

Needs build/dlroof and chromium. Fails if a page is wider than its window.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DLROOF = ROOT / "build/dlroof"
STORED, STUDIES = ROOT / "baselines/stored", ROOT / "baselines/studies"
ZEN5, AGAIN, H200 = STORED / "zen5-2c/2026-11-22-conv2d.json", STORED / "zen5-2c/2026-11-22-conv2d-again.json", STORED / "h200/2026-11-26-conv2d.json"
PAGES = {
    "report": ["report", ZEN5, "-o", "report.html"],
    "report-gpu": ["report", H200, "-o", "report-gpu.html"],
    "compare": ["report", AGAIN, "--before", ZEN5, "-o", "compare.html"],
    "dashboard": ["dashboard", "--db", "history.sqlite", "-o", "dashboard"],
    "cluster": ["cluster", "report", "cluster.json", "-o", "cluster.html"],
    "versus": ["cluster", "versus", ZEN5, H200, "-o", "versus.html"],
    "program": ["report", STUDIES / "programs/2026-11-27-h100/bert.eager.json.gz", "-o", "program.html"],
    "trajectory": ["trajectory", STUDIES / "trajectories/2026-11-23-zen5-2c-lstm.json.gz", "-o", "trajectory.html"],
}
VIEWS = {"dashboard": ["dashboard/index.html", "dashboard/index.html#series=2", "dashboard/roofline.html?run=2"]}


def dlroof(*arguments, codes=(0,)):
    ran = subprocess.run([DLROOF, *arguments], capture_output=True, text=True)
    if ran.returncode not in codes:
        sys.exit(f"dlroof {' '.join(map(str, arguments))}: exit code {ran.returncode}: {ran.stderr}")


def write_cluster():
    """Eight nodes with the times of a stored run, of which n3 is 6 % slower and n5 with every second benchmark."""
    nodes = Path("nodes/nodes")
    shutil.rmtree("nodes", ignore_errors=True)
    nodes.mkdir(parents=True)
    for number in range(1, 9):
        content = json.loads(ZEN5.read_text())
        content["context"]["dlroof"]["node"] = {"name": f"n{number}", "known_by": "SLURMD_NODENAME", "arguments": [], "cpus_given": 2, "cpus": 2}
        for index, record in enumerate(content["records"]):
            record.pop("seconds", None)
            factor = 1.06 if number == 3 or number == 5 and index % 2 else 1 + 0.002 * ((index + number) % 5)
            for repetition in record["repetitions"]:
                repetition["seconds"] *= factor
        (nodes / f"n{number}.json").write_text(json.dumps(content))
    Path("nodes/asked.txt").write_text("".join(f"n{number}\n" for number in range(1, 9)))
    dlroof("cluster", "gather", "nodes", "-o", "cluster.json")


class Browser:
    """Chromium's DevTools protocol through two pipes."""

    def __init__(self):
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()
        self.profile = tempfile.TemporaryDirectory()
        flags = "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files --remote-debugging-pipe"
        # Chromium reads file descriptor 3 and writes 4.
        command = f"exec chromium {flags} --user-data-dir={self.profile.name} 3<&{to_read} 4>&{to_write}"
        self.process = subprocess.Popen(["bash", "-c", command], pass_fds=(to_read, to_write), stderr=subprocess.DEVNULL)
        os.close(to_read), os.close(to_write)
        self.number, self.rest = 0, b""
        page = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]

    session = None

    def __call__(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters} | ({"sessionId": self.session} if self.session else {})
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                self.rest += os.read(self.read, 1 << 20) or sys.exit("chromium ended")
            text, _, self.rest = self.rest.partition(b"\0")
            answer = json.loads(text)
            if answer.get("id") == self.number:
                return answer.get("result") or ("error" in answer and sys.exit(f"{method}: {answer['error']}"))

    def value(self, expression):
        return self("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)["result"].get("value")

    def picture(self, url, width, scheme, path):
        """Returns by how many pixels the page is wider than the window."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=4000, deviceScaleFactor=1, mobile=False)
        self("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self("Page.navigate", url="about:blank")
        self("Page.navigate", url=url)
        self.value("new Promise(done => { const wait = () => document.readyState == 'complete' ? setTimeout(done, 1500) : setTimeout(wait, 50); wait(); })")
        high, wide = self.value("[document.body.offsetHeight, document.documentElement.scrollWidth]")
        shot = self("Page.captureScreenshot", captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": width, "height": min(high, 4000), "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))
        return wide - width

    def close(self):
        self("Browser.close")
        self.process.wait()
        self.profile.cleanup()


def main():
    if any(argument.startswith("-") for argument in sys.argv[1:]):
        sys.exit(__doc__)
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/pages").resolve()
    wanted = sys.argv[2:] or list(PAGES)
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    if not shutil.which("chromium"):
        sys.exit("page_pictures.py needs chromium")
    if "cluster" in wanted:
        write_cluster()
    if "dashboard" in wanted:
        Path("history.sqlite").unlink(missing_ok=True)
        dlroof("history", "add", ZEN5, AGAIN, "--db", "history.sqlite")
    browser, too_wide = Browser(), []
    for name in wanted:
        dlroof(*PAGES[name], codes=(0, 1, 3))
        for number, view in enumerate(VIEWS.get(name, [f"{name}.html"])):
            for width in (1280, 400):
                for scheme in ("light", "dark"):
                    picture = Path(f"{name}{number or ''}.{width}.{scheme}.png")
                    if browser.picture(f"file://{folder}/{view}", width, scheme, picture) > 0:
                        too_wide.append(str(picture))
    browser.close()
    if too_wide:
        sys.exit("wider than the window: " + ", ".join(too_wide))


if __name__ == "__main__":
    main()
