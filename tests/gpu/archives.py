"""One archive that goes to a machine with a GPU, and one that comes back.

  fgnn-gpu.tgz  programs, scripts, and the libraries that they need
  results.tgz   what the steps said: PART/NAME.txt, as steps.py writes it
"""

import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HARNESS = HERE.parent / 'integration/harness.py'
ENDING = re.compile(r'\.(tgz|tar\.gz)$')
# What every Linux with a C++ compiler has.
COMMON_LIBRARIES = re.compile(
    r'/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so')
OUTPUT_OF_A_STEP = re.compile(r'\w+/\w[\w.]*\.txt')


def write(path, paths):
    """Writes an archive of {name in it: path}, whole or not at all."""
    partial = path.with_name(f'{path.name}.partial')
    try:
        with tarfile.open(partial, 'w:gz', compresslevel=6) as archive:
            for name, source in paths.items():
                archive.add(source, name)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def archive_of(results):
    """The archive beside a folder of results."""
    return results.with_name(f'{results.name}.tgz')


def write_results(results):
    write(archive_of(results), {
        str(file.relative_to(results)): file
        for file in sorted(results.glob('*/*.txt'))})


def read_results(results):
    """Puts what the archive holds into the folder. Raises tarfile.TarError or
    EOFError if it is none, or cut off."""
    if not archive_of(results).exists():
        return
    with tarfile.open(archive_of(results)) as archive:
        for member in archive:
            if member.isfile() and OUTPUT_OF_A_STEP.fullmatch(member.name):
                file = results / member.name
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(archive.extractfile(member).read())


def pack(programs, service, results, path):
    """Packs programs of GPUs and of the service, and the results so far."""
    name = ENDING.sub('', path.name)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary, name)
        for part in ('lib', 'bin'):
            (folder / part).mkdir(parents=True)
        for file in (HERE / 'run', *HERE.glob('*.py'), HARNESS):
            shutil.copy(file, folder)
        copies = {file: folder / file.name
                  for file in programs.glob('fgnn_gpu_*')}
        copies |= {file: folder / 'bin' / file.name for file in service}
        for program, copy in copies.items():
            subprocess.run(['strip', '-o', copy, program], check=True)
        for library in libraries_of(copies):
            shutil.copy(library, folder / 'lib')
        if (programs / 'pyg').is_dir():
            shutil.copytree(programs / 'pyg', folder / 'pyg')
        if results:
            shutil.copy(archive_of(results), folder)
        write(path, {name: folder})
    print(f'tests/gpu/run: {path.stat().st_size / 1e6:.0f} MB in {path}; '
          f'there: tar xzf {path.name} && cd {name} && ./run PART --results '
          f'{results.name if results else "results"}')


def libraries_of(programs):
    said = subprocess.run(['ldd', *programs], capture_output=True, text=True,
                          check=True).stdout
    return [library for library in sorted(set(re.findall(r'=> (/\S+)', said)))
            if not COMMON_LIBRARIES.search(library)]
