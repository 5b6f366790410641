#!/usr/bin/env python3
"""How long a page takes: to its first paint, and until both charts are drawn.

    baselines/studies/scale/page_speed.py --dlroof build/dlroof --like RUN.json --points 300 10000 [--repeat 3]

Makes run files with a given number of placed benchmarks from RUN (a stored run file), their pages, and opens each in headless Chromium with a new
profile. The page is the one that `dlroof report -o x.html` writes, but for its Content-Security-Policy, which would keep the
measuring script out. Times are from the start of the navigation; the best and the median of the repetitions are printed.
"""
import argparse
import http.server
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import tempfile
import urllib.parse

SCRIPT = """<script>
const tell = () => {
  if (document.documentElement.dataset.drawn !== 'yes') return setTimeout(tell, 5);
  const drawn = performance.now();
  const paint = performance.getEntriesByName('first-contentful-paint')[0];
  if (paint === undefined) return setTimeout(tell, 5);
  new Image().src = `http://127.0.0.1:%d/done?paint=${paint.startTime}&drawn=${drawn}`;
};
tell();
</script>"""


def run_file(like, points, path):
    """`points` placed records; times, FLOPs and bytes scattered so that the points do not hide each other."""
    with open(like, encoding="utf-8") as file:
        run = json.load(file)
    placed = [r for r in run["records"] if r.get("classic") and r.get("time")]
    scatter = random.Random(1)
    records = []
    for i in range(points):
        record = json.loads(json.dumps(placed[i % len(placed)]))
        record["name"] += f"/copy{i}"
        factor = 10 ** scatter.uniform(-1, 1)
        for repetition in record["repetitions"]:
            repetition["seconds"] *= factor
        for work in record["work"].values():
            for kind in ("flops", "bytes"):
                for key in work.get(kind, {}):
                    work[kind][key] *= factor * 10 ** scatter.uniform(-0.5, 0)
        records.append(record)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"context": run["context"], "machines": run["machines"], "records": records}, file)


class Server(http.server.HTTPServer):
    result = None
    timeout = 60  # [s]

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_timeout(self):
        raise SystemExit(f"page_speed: the page reported nothing within {self.timeout} s")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked = urllib.parse.urlparse(self.path)
        if asked.path == "/done":
            self.server.result = {key: float(value[0]) for key, value in urllib.parse.parse_qs(asked.query).items()}
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


def find_chromium():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("page_speed: chromium is not installed")
    return chromium


def let_tell(page, script, server):
    """Puts the measuring script into the page."""
    with open(page, encoding="utf-8") as file:
        text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", file.read(), count=1)
    with open(page, "w", encoding="utf-8") as file:
        file.write(text.replace("</head>", script % server.server_port + "</head>", 1))


def open_page(chromium, page, server):
    """What the page tells: milliseconds since the start of the navigation."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = subprocess.Popen(
            [
                chromium,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                f"--user-data-dir={profile}",
                "--window-size=1280,1500",
                "--remote-debugging-port=0",
                "file://" + os.path.abspath(page),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        server.result = None
        try:
            while server.result is None:
                server.handle_request()
                if server.result is None and browser.poll() is not None:
                    raise SystemExit("page_speed: chromium ended early")
        finally:
            browser.terminate()
            browser.wait()
    return server.result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--dlroof", default="build/dlroof")
    parser.add_argument("--like", required=True, help="a stored run file")
    parser.add_argument("--points", type=int, nargs="+", default=[300, 10000])
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    chromium, server = find_chromium(), Server()
    with tempfile.TemporaryDirectory() as folder:
        for points in arguments.points:
            run, page = os.path.join(folder, "run.json"), os.path.join(folder, "page.html")
            run_file(arguments.like, points, run)
            subprocess.run([arguments.dlroof, "report", run, "-o", page], check=True, stderr=subprocess.DEVNULL)
            let_tell(page, SCRIPT, server)
            results = [open_page(chromium, page, server) for _ in range(arguments.repeat)]
            for what, key in (("first paint", "paint"), ("charts drawn", "drawn")):
                times = [result[key] / 1000 for result in results]
                print(f"{points} points, {what}: best {min(times):.2f} s, median {statistics.median(times):.2f} s of {len(times)}", flush=True)
            print(f"{points} points: page of {os.path.getsize(page) / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
