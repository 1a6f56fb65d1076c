"""The peers' Python environment, in .deps/peers."""

import json
import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOME = ROOT / '.deps/peers/graphbolt'
PACKAGES = ('torch==2.2.1', 'dgl==2.1.0', 'torchdata==0.7.1', 'numpy<2',
            'pandas', 'pydantic', 'pyyaml', 'setuptools<80')


def install():
    """Installs GraphBolt and its torch once; returns the interpreter."""
    python = HOME / 'bin/python'
    if (HOME / 'complete').exists():
        return python
    print(f'installing {", ".join(PACKAGES)} in {HOME}', file=sys.stderr)
    venv.create(HOME, with_pip=True, clear=True)
    subprocess.run([python, '-m', 'pip', 'install', '--quiet',
                    '--no-cache-dir', *PACKAGES], check=True)
    (HOME / 'complete').touch()
    return python


def measure(command, **settings):
    """The JSON that a program prints."""
    return json.loads(subprocess.run(command, check=True, text=True,
                                     stdout=subprocess.PIPE,
                                     **settings).stdout)
