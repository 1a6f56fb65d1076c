"""The Python package of tools/python as its user has it: installed from its
source distribution into a folder of its own, without the network, by the
interpreter of .deps/python or of .deps/pyg."""

import functools
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOME = ROOT / '.deps/python'
PYG_HOME = ROOT / '.deps/pyg'  # With torch_geometric.
PYG_MISSING = (f'no torch_geometric in {PYG_HOME}; `tools/setup --pyg` '
               'installs it where PyPI can be reached')
_INSTALL_SECONDS = 120

_folder = tempfile.TemporaryDirectory(prefix='fgnn-python-')
SITE = pathlib.Path(_folder.name) / 'site'


@functools.cache
def load(home=HOME):
    """The module fgnn; None where there is nothing to install it with. The tests
    that call it go on in the interpreter of `home`, from their beginning."""
    python = home / 'bin/python'
    if not (home / 'complete').exists():
        return None
    if pathlib.Path(sys.prefix).resolve() != home.resolve():
        _folder.cleanup()
        os.execv(python, [str(python), '-B', '-m', 'pytest', *sys.argv[1:]])
    install(python)
    sys.path.insert(0, str(SITE))
    return importlib.import_module('fgnn')


def install(python):
    """Installs the package into SITE, by that interpreter."""
    source = pathlib.Path(_folder.name) / 'source'
    # Building leaves files beside what is built.
    leave = shutil.ignore_patterns('build', '*.egg-info', '__pycache__')
    shutil.copytree(ROOT / 'tools/python', source / 'tools/python',
                    ignore=leave)
    shutil.copytree(ROOT / 'proto', source / 'proto')
    shutil.copy(ROOT / 'CMakeLists.txt', source)
    _run(python, 'setup.py', '--quiet', 'sdist', '--dist-dir', source,
         cwd=source / 'tools/python')
    archive, = source.glob('fgnn-*.tar.gz')
    _run(python, '-m', 'pip', 'install', '--quiet', '--no-build-isolation',
         '--no-deps', '--no-index', '--target', SITE, archive, cwd=SITE.parent)


def _run(*words, cwd):
    run = subprocess.run(words, cwd=cwd, capture_output=True,
                         text=True, timeout=_INSTALL_SECONDS, check=False)
    if run.returncode != 0:
        raise AssertionError(f'{words}: {run.stdout}{run.stderr}')
