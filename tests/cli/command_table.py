"""The flags of all commands, as `dlroof completion table` lists them, and the command lines that pages show."""
import functools
import re
import shlex
import subprocess
from dataclasses import dataclass, field

from checks import program, run

# Commands whose words after "--" are flags of dlroof_bench.
FLAGS_AFTER_DASHES = {"dlroof run", "dlroof trajectory", "dlroof cluster script", "dlroof cluster node"}


@dataclass
class Argument:
    names: list
    takes: str  # nothing, value or values
    required: bool
    choices: list = field(default_factory=list)

    @property
    def is_flag(self):
        return self.names[0].startswith("-")


def parse(text):
    """{command: its arguments}"""
    table = {}
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        command, names, takes, presence, *choices = line.split("\t")
        words = command.split()
        for length in range(1, len(words)):  # commands of commands, which have no line of their own
            table.setdefault(" ".join(words[:length]), [])
        table.setdefault(command, []).append(Argument(names.split(","), takes, presence == "required", choices[0].split(",") if choices else []))
    return table


def read_table():
    ran = run("dlroof completion table")
    assert ran.code == 0 and ran.err == "", ran
    return parse(ran.out)


def flags_of(table, command):
    """Also those that are not in the table, since every command has them."""
    own = {name for argument in table[command] if argument.is_flag for name in argument.names}
    return own | {"-h", "--help"} | ({"--version"} if command == "dlroof" else flags_of_google_benchmark() if command == "dlroof_bench" else set())


@functools.cache
def flags_of_google_benchmark():
    helped = subprocess.run([program("DLROOF_BENCH"), "--help"], capture_output=True, text=True, check=True).stdout
    # Its help leaves out what it was built without.
    return {"--benchmark_perf_counters", *re.findall(r"\[(--(?:benchmark_\w+|v))=", helped)}


def changes(old, new):
    """What a program with the table `new` refuses, or reads in another way, of command lines that `old` accepts."""
    found = []
    for command, arguments in old.items():
        if command not in new:
            found.append(f"{command}: the command is gone")
            continue
        for argument in arguments:
            now = next((one for one in new[command] if set(argument.names) & set(one.names)), None)
            where = f"{command} {argument.names[-1]}"
            if now is None:
                found.append(f"{where}: gone")
                continue
            if gone := set(argument.names) - set(now.names):
                found.append(f"{where}: the names {sorted(gone)} are gone")
            if now.takes != argument.takes and (argument.takes, now.takes) != ("value", "values"):
                found.append(f"{where}: took {argument.takes}, takes {now.takes}")
            if now.required and not argument.required:
                found.append(f"{where}: is required")
            if now.choices and (gone := set(argument.choices) - set(now.choices) or ({"any"} if not argument.choices else set())):
                found.append(f"{where}: the values {sorted(gone)} are gone")
        known = {name for argument in arguments for name in argument.names}
        for now in new[command]:
            if now.required and not known & set(now.names):
                found.append(f"{command} {now.names[-1]}: is new and required")
    return found


def code_of(page):
    """The code blocks and code spans of a Markdown page, each with the number of its line."""
    fence = re.compile(r"^( *)```.*?^\1``` *$", re.M | re.S)
    spans = [(page.count("\n", 0, block.start()) + 2, block[0].partition("\n")[2].rpartition("\n")[0]) for block in fence.finditer(page)]
    page = fence.sub(lambda block: "\n" * block[0].count("\n"), page)
    spans += [(page.count("\n", 0, span.start()) + 1, " ".join(span[1].split())) for span in re.finditer(r"`([^`]+)`", page)]
    return spans


def split(line):
    """The words of a shell's command line, up to a pipe, a redirection or a comment."""
    line = re.split(r"\s(?:#|\||>|&&|2>|;)|;\s", line)[0]
    try:
        return shlex.split(line)
    except ValueError:  # a quote is in the part that was cut off
        return line.split()


def command_lines(code, commands):
    """The command lines of dlroof's programs in a piece of code: lists of words that begin with a program's name. `commands` are those of
    dlroof: a page may leave out its name."""
    for line in re.sub(r"\\\n\s*", " ", code).splitlines():
        for start in re.finditer(r"(?:^|[\s(])(?:[\w./-]*/)?(dlroof(?:_bench|_net)?)(?=\s)", line):
            yield split(line[start.start(1) :])
    words = code.split()
    if "\n" not in code and len(words) > 1 and words[0] in commands and any(word.startswith("-") for word in words):
        yield ["dlroof", *split(code)]


def wrong_words(words, table):
    """The flags of a command line that its command does not have."""
    command = words[0]
    for word in words[1:]:
        if f"{command} {word}" in table:
            command += f" {word}"
        elif word == "--":
            if command not in FLAGS_AFTER_DASHES:
                return
            command = "dlroof_bench"
        elif re.match(r"--?[a-zA-Z]", word):
            name = re.match(r"-\w|--[\w-]+", word)[0] if not word.startswith("--") else re.match(r"--[\w-]+", word)[0]
            if name not in flags_of(table, command):
                yield f"{command} has no flag {name}"


def wrong_in_page(page, table, foreign=()):
    """The flags in a page's code that no program has, each with its line. `foreign` are flags of other programs that a page names alone."""
    everywhere = {flag for command in table for flag in flags_of(table, command)}
    commands = {command.split()[1] for command in table if " " in command}
    for line, code in code_of(page):
        for words in command_lines(code, commands):
            for wrong in wrong_words(words, table):
                yield f"line {line}: {wrong}"
        alone = re.findall(r"^--[a-zA-Z][\w-]*", code) + re.findall(r"--(?:dlroof|benchmark)_\w+", code)
        for flag in alone:
            if flag not in everywhere and flag not in foreign:
                yield f"line {line}: no program has a flag {flag}"
