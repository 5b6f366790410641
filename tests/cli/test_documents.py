"""What the documents show is what the programs print, and their links lead somewhere.

An example is a block ```sh with one command over files of the tree, followed by a block ```text (or ```json) with what it prints. A line
`...` stands for lines that are left out; a line that ends in ` ...` is the beginning of a longer one."""
import re
import shutil
import subprocess

import pytest
from checks import DLROOF, ROOT
from shells import BENCH

LISTED = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True).stdout.split()
PAGES = sorted(ROOT / name for name in LISTED if (ROOT / name).exists())
PAIR = re.compile(r"^```sh\n((?:(?!```).*\n)+)```\n\n```(?:text|json)\n((?:(?!```).*\n)*)```$", re.M)


def examples_of(text):
    """The examples of a page: line, command and expected output of each. Several commands, and those without a file of the tree, are none."""
    for pair in PAIR.finditer(text):
        command = re.sub(r" *\\\n\s*", " ", pair[1]).strip()
        stored = "--benchmark_list_tests" in command or any(
            "/" in word and not word.startswith("build/") and (ROOT / word).is_file() for word in command.split()
        )
        if stored and ("\n" not in command or command.startswith("jq")):
            yield text.count("\n", 0, pair.start()) + 1, command, pair[2].splitlines()


def difference(expected, printed):
    """The first expected line that was not printed where it is expected, or None."""
    at, left_out = 0, False
    for line in expected:
        if line == "...":
            left_out = True
            continue
        begins, whole = line[:-4], not line.endswith(" ...")
        while left_out and at < len(printed) and not (printed[at] == line if whole else printed[at].startswith(begins)):
            at += 1
        if at == len(printed) or not (printed[at] == line if whole else printed[at].startswith(begins)):
            return f"expected {line!r}, printed {printed[at] if at < len(printed) else 'nothing more'!r}"
        at, left_out = at + 1, False
    return None if left_out or at == len(printed) else f"more is printed: {printed[at]!r}"


EXAMPLES = [(page, *example) for page in PAGES for example in examples_of(page.read_text())]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A folder in which commands find the files of the tree and the programs under test, and may write."""
    for entry in ROOT.iterdir():
        if entry.name != "build":
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / "build").mkdir()
    for name, path in (("dlroof", DLROOF), ("dlroof_bench", BENCH)):
        (tmp_path / "build" / name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page, line, command, expected", EXAMPLES, ids=[f"{page.relative_to(ROOT)}:{line}" for page, line, *_ in EXAMPLES])
def test_examples_are_what_the_programs_print(tree, page, line, command, expected):
    if command.startswith("jq") and not shutil.which("jq"):
        pytest.skip("jq is not installed")
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    wrong = difference(expected, printed)
    assert done.returncode in (0, 1, 3) and wrong is None, f"{page}:{line}: {wrong}\n{command}\n{done.stderr}"


def test_readme_and_user_pages_have_examples():
    assert {page.relative_to(ROOT).as_posix() for page, *_ in EXAMPLES} >= {"README.md", "ceilings/machine.md", "reporters/run-file.md"}


def test_lines_left_out_and_differences_are_told():
    page = "Text\n\n```sh\nbuild/dlroof report \\\n  bench/README.md\n```\n\n```text\na\n...\nlong ...\n```\n\n```sh\nbuild/dlroof machine\n```\n\n```text\nc\n```\n"
    assert list(examples_of(page)) == [(3, "build/dlroof report bench/README.md", ["a", "...", "long ..."])]
    for expected, printed, right in (
        (["a", "c"], ["a", "c"], True),
        (["a", "...", "c"], ["a", "b", "b", "c"], True),
        (["a", "..."], ["a", "b"], True),
        (["...", "c ..."], ["a", "c d"], True),
        (["a", "c"], ["a", "b", "c"], False),
        (["a"], ["a", "b"], False),
        (["a", "b"], ["a"], False),
        (["...", "b", "a"], ["a", "b"], False),
        (["a ..."], ["b c"], False),
    ):
        assert (difference(expected, printed) is None) == right, (expected, printed)


def anchors_of(page):
    """The anchors that a page's headings have."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    titles = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).replace("`", "") for title in re.findall(r"^#+ (.*)$", text, re.M))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_lead_to_files_and_headings():
    wrong = []
    for page in PAGES:
        text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            target, _, anchor = link.partition("#")
            if re.match(r"\w+:", link):
                continue
            file = (page.parent / target).resolve() if target else page
            if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors_of(file)):
                wrong.append(f"{page.relative_to(ROOT)}: {link}")
    assert not wrong, "\n".join(wrong)


def test_documents_are_short():
    words = {page: len(page.read_text().split()) for page in PAGES}
    assert sum(words.values()) <= 42000
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120 and (ROOT / "README.md").stat().st_size <= 8000
    pages = re.findall(r"\]\((\S+\.md)\)", (ROOT / "README.md").read_text().partition("## Pages")[2].partition("- Develop")[0])
    assert len(pages) > 10 and not [name for name in pages if len((ROOT / name).read_text().splitlines()) > 150]
    long = [f"{page.relative_to(ROOT)}:{number}" for page in PAGES for number, line in enumerate(page.read_text().splitlines(), 1) if len(line) > 120]
    assert not long, "\n".join(long)
