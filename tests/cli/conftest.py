import os
import shutil

import pytest


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """Makes a folder in which all tests of a module run."""
    path, before = tmp_path_factory.mktemp("cli"), os.getcwd()
    os.chdir(path)
    yield path
    os.chdir(before)
    shutil.rmtree(path)


@pytest.fixture(scope="class")
def own_folder(tmp_path_factory):
    """Makes a folder for one class of tests."""
    path, before = tmp_path_factory.mktemp("class"), os.getcwd()
    os.chdir(path)
    yield path
    os.chdir(before)
    shutil.rmtree(path)
