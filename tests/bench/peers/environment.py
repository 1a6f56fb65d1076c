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
            'pandas', 'pydantic', 'pyyaml', 'setuptools<80', 'wheel',
            'torch_geometric==2.6.1')
# What PyTorch Geometric samples with; pip compiles it, for minutes.
PYG_SAMPLER = ('torch_scatter==2.1.2', 'torch_sparse==0.6.18')


def install():
    """Installs them once, and what is missing; returns the interpreter."""
    return install_once(HOME / 'bin/python', 'complete', PACKAGES)


def install_pyg_sampler():
    """As install(), and what PyTorch Geometric samples with."""
    return install_once(install(), 'complete-pyg',
                        ('--no-build-isolation', *PYG_SAMPLER))


def install_once(python, mark, words):
    complete = HOME / mark
    if complete.exists() and complete.read_text() == ' '.join(words):
        return python
    print(f'installing {", ".join(words)} in {HOME}', file=sys.stderr)
    venv.create(HOME, with_pip=True)
    subprocess.run([python, '-m', 'pip', 'install', '--quiet',
                    '--no-cache-dir', *words], check=True)
    complete.write_text(' '.join(words), encoding='utf-8')
    return python


def measure(command, **settings):
    """The JSON that a program prints."""
    return json.loads(subprocess.run(command, check=True, text=True,
                                     stdout=subprocess.PIPE,
                                     **settings).stdout)


if __name__ == '__main__':
    install()
