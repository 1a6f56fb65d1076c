"""Runs the program `fgnn` for what is no call to the service."""

import pathlib
import shutil
import subprocess
import sys

from fgnn import errors


def run(program: str, state_dir: pathlib.Path | None, words: list[str],
        seconds: float) -> str:
    """Its stdout. None: the words need no state folder. NotFound: it is not
    installed. ProgramFailed: what it said. DeadlineExceeded: it was killed."""
    # An environment's Python may be called by its path, with none of it on PATH.
    found = shutil.which(program) or shutil.which(
        program, path=str(pathlib.Path(sys.prefix) / 'bin'))
    if found is None:
        raise errors.NotFound(
            f"no program '{program}'; put the folder of fgnn on the PATH, or "
            'name it by program=…')
    place = [] if state_dir is None else ['--state-dir', str(state_dir)]
    try:
        result = subprocess.run(
            [found, *place, *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors='replace', timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise errors.DeadlineExceeded(
            f"'fgnn {words[0]}' had not ended after {seconds:g} s") from None
    if result.returncode != 0:
        said = result.stderr.strip().splitlines() or ['it did not say why']
        raise errors.ProgramFailed(f'fgnn {words[0]}: {said[-1]}',
                                   result.returncode)
    return result.stdout
