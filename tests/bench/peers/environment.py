"""The peers' Python environment, in .deps/peers: GraphBolt, DGL, PyTorch
Geometric and a torch of their own. Run as a program, it installs them."""

import json
import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOME = ROOT / '.deps/peers/graphbolt'
PACKAGES = ('torch==2.2.1', 'dgl==2.1.0', 'torchdata==0.7.1', 'numpy<2',
            'pandas', 'pydantic', 'pyyaml', 'setuptools<80',
            'torch_geometric==2.6.1')


def install():
    """Installs them once, and what is missing; returns the interpreter."""
    python = HOME / 'bin/python'
    complete = HOME / 'complete'
    if complete.exists() and complete.read_text() == ' '.join(PACKAGES):
        return python
    print(f'installing {", ".join(PACKAGES)} in {HOME}', file=sys.stderr)
    venv.create(HOME, with_pip=True)
    subprocess.run([python, '-m', 'pip', 'install', '--quiet',
                    '--no-cache-dir', *PACKAGES], check=True)
    complete.write_text(' '.join(PACKAGES), encoding='utf-8')
    return python


def measure(command, **settings):
    """The JSON that a program prints."""
    return json.loads(subprocess.run(command, check=True, text=True,
                                     stdout=subprocess.PIPE,
                                     **settings).stdout)


if __name__ == '__main__':
    install()
