"""The specification of verdicts: what a person would say of made-up runs (baselines/studies/verdicts)."""
import sys

import pytest
from checks import DLROOF, ROOT, exits, run, verify

STUDY = ROOT / "baselines/studies/verdicts"
pytestmark = pytest.mark.scripts


def test_every_scenario_keeps_its_limits():
    verify(run(f"{sys.executable} {STUDY}/matrix.py --dlroof {DLROOF} --rounds 20 --small --check", timeout=600), [exits(0)])


def test_histories_are_told_alike_by_all_commands():
    verify(run(f"{sys.executable} {STUDY}/histories.py --dlroof {DLROOF} --rounds 20 --check", timeout=600), [exits(0)])
