"""The Python package of tools/python as its user has it: installed from its
source distribution into a folder of its own, without the network, by the
interpreter of .deps/python."""

import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HOME = ROOT / '.deps/python'
PYTHON = HOME / 'bin/python'
MISSING = (f'no grpcio in {HOME}; `tools/setup --tests` installs it where PyPI '
           'can be reached')
_INSTALL_SECONDS = 120

_folder = tempfile.TemporaryDirectory(prefix='fgnn-python-')
SITE = pathlib.Path(_folder.name) / 'site'


def load():
    """The module fgnn; None where there is nothing to install it with. What
    calls it goes on in the other interpreter, from its beginning."""
    if not (PYTHON.exists() and (HOME / 'complete').exists()):
        return None
    if pathlib.Path(sys.prefix).resolve() != HOME.resolve():
        _folder.cleanup()
        os.execv(PYTHON, [str(PYTHON), '-B', *sys.argv])
    source = pathlib.Path(_folder.name) / 'source'
    # Building leaves files beside what is built.
    leave = shutil.ignore_patterns('build', '*.egg-info', '__pycache__')
    shutil.copytree(ROOT / 'tools/python', source / 'tools/python',
                    ignore=leave)
    shutil.copytree(ROOT / 'proto', source / 'proto')
    shutil.copy(ROOT / 'CMakeLists.txt', source)
    _run('setup.py', '--quiet', 'sdist', '--dist-dir', source,
         cwd=source / 'tools/python')
    archive, = source.glob('fgnn-*.tar.gz')
    _run('-m', 'pip', 'install', '--quiet', '--no-build-isolation', '--no-deps',
         '--no-index', '--target', SITE, archive, cwd=SITE.parent)
    sys.path.insert(0, str(SITE))
    return importlib.import_module('fgnn')


def _run(*words, cwd):
    run = subprocess.run([PYTHON, *words], cwd=cwd, capture_output=True,
                         text=True, timeout=_INSTALL_SECONDS, check=False)
    if run.returncode != 0:
        raise AssertionError(f'{words}: {run.stdout}{run.stderr}')
