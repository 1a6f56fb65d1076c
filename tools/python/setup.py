"""Makes fgnn.v1 from the protos when the package is built.

The protos are those of the checkout (../../proto), of which a source
distribution carries a copy (proto/).
"""

import importlib.metadata
import importlib.resources
import pathlib
import re
import shutil
import tempfile

from grpc_tools import protoc
from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
PROTOS = [f'fgnn/v1/{name}.proto' for name in ('options', 'job', 'job_service')]
CHECKOUT = HERE.parent.parent


def proto_folder():
    for folder in (HERE / 'proto', CHECKOUT / 'proto'):
        if (folder / PROTOS[0]).exists():
            return folder
    raise SystemExit(
        f'no {PROTOS[0]} in {HERE}/proto nor in {CHECKOUT}/proto; build from '
        'a checkout of FGNN or from a source distribution')


def generate(target):
    folder = proto_folder()
    wellknown = importlib.resources.files('grpc_tools') / '_proto'
    code = protoc.main([
        'protoc', f'--proto_path={folder}', f'--proto_path={wellknown}',
        f'--python_out={target}', f'--pyi_out={target}',
        f'--grpc_python_out={target}', *PROTOS])
    if code != 0:
        raise SystemExit(f'protoc could not read the protos of {folder}')


def dependencies():
    """What was generated refuses to run with anything older than its maker."""
    with tempfile.TemporaryDirectory() as target:
        generate(target)
        text = (pathlib.Path(target) / 'fgnn/v1/options_pb2.py').read_text(
            encoding='utf-8')
    made_by = re.search(r'Protobuf Python Version: (\d+)\.([\d.]+)', text)
    major = int(made_by[1])
    grpc = importlib.metadata.version('grpcio-tools')
    return [f'grpcio>={grpc}', f'protobuf>={major}.{made_by[2]},<{major + 2}',
            'numpy', 'pyyaml']


def version():
    """That of the programs; PKG-INFO has it in a source distribution."""
    for file, pattern in ((HERE / 'PKG-INFO', r'^Version: (\S+)$'),
                          (CHECKOUT / 'CMakeLists.txt',
                           r'^project\(fgnn VERSION (\S+) ')):
        if file.exists():
            found = re.search(pattern, file.read_text(encoding='utf-8'), re.M)
            if found:
                return found[1]
    raise SystemExit(f'{CHECKOUT}/CMakeLists.txt has no version of fgnn')


class BuildWithProtos(build_py):

    def run(self):
        super().run()
        generate(HERE / 'src' if self.editable_mode else self.build_lib)


class PackWithProtos(sdist):

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for proto in PROTOS:
            target = pathlib.Path(base_dir) / 'proto' / proto
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(proto_folder() / proto, target)


setup(version=version(), install_requires=dependencies(),
      cmdclass={'build_py': BuildWithProtos, 'sdist': PackWithProtos})
