"""Whether two run folders are the same, byte by byte, but for what may differ:
seconds, process ids, times, restarts, memory, and the job's own id."""

import json
import struct

from row import Broken, check

# Seconds, and what goes by them: which device did what.
_OF_AN_EPOCH = ('seconds', 'evaluate_seconds', 'stages', 'switches', 'devices',
                'cache_capacity')
_OF_A_RUN = ('job_id', 'seconds', 'preparation_seconds', 'restarts', 'switches',
             'peak_bytes')
_OF_AN_OWNER = ('job_id', 'service', 'seconds_before', 'pid')
_OF_A_CHECKPOINT = ('crc32c', 'job_id')
# Sums of seconds so far; and the length of a file that has seconds in it.
_OF_A_STATE = ('metrics_bytes',)
_SUMMED_SECONDS = ('order', 'sample', 'id_map', 'mark', 'copy', 'split',
                   'wait', 'extract', 'train', 'sync', 'shuffle', 'seconds',
                   'evaluate')


def _without(mapping, keys):
    return {key: value for key, value in mapping.items() if key not in keys}


def _metrics(content):
    return [_without(json.loads(line), _OF_AN_EPOCH)
            for line in content.decode().splitlines()]


def _summary(content):
    return _without(json.loads(content), _OF_A_RUN)


def _state(text):
    state = _without(json.loads(text), _OF_A_STATE)
    state['sum'] = _without(state.get('sum', {}), _SUMMED_SECONDS)
    return state


def _checkpoint(content):
    size, = struct.unpack('<Q', content[:8])
    header = json.loads(content[8:8 + size])
    metadata = _without(header.pop('__metadata__'), _OF_A_CHECKPOINT)
    metadata['run_state'] = _state(metadata['run_state'])
    return {'metadata': metadata, 'tensors': header,
            'bytes': content[8 + size:]}


def contents(run_dir):
    """{name: what has to be the same} of the files of a run folder."""
    job_id = json.loads((run_dir / 'summary.json').read_text())['job_id']
    found = {}
    for path in sorted(run_dir.rglob('*')):
        name = str(path.relative_to(run_dir))
        if path.is_dir() or name == 'trace.json':  # A timeline.
            found[name] = 'there'
            continue
        content = path.read_bytes()
        if path.suffix == '.safetensors':
            found[name] = _checkpoint(content)
        elif name == 'metrics.jsonl':
            found[name] = _metrics(content)
        elif name == 'summary.json':
            found[name] = _summary(content)
        elif name == 'run.json':
            found[name] = _without(json.loads(content), _OF_AN_OWNER)
        else:
            found[name] = content.replace(job_id.encode(), b'JOB')
    return found


def _difference(ours, theirs):
    """Where two contents differ, in words."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            if ours.get(key) != theirs.get(key):
                return f'{key}: {_difference(ours.get(key), theirs.get(key))}'
    if isinstance(ours, list) and isinstance(theirs, list):
        for number, (one, other) in enumerate(zip(ours, theirs)):
            if one != other:
                return f'line {number}: {_difference(one, other)}'
        return f'{len(ours)} lines, not {len(theirs)}'
    if isinstance(ours, bytes) and isinstance(theirs, bytes):
        place = next((index for index, (one, other) in
                      enumerate(zip(ours, theirs)) if one != other),
                     min(len(ours), len(theirs)))
        return (f'from byte {place} on: {ours[place:place + 40]!r}, not '
                f'{theirs[place:place + 40]!r}')
    return f'{str(ours)[:80]!r}, not {str(theirs)[:80]!r}'


def same_folder(run_dir, expected):
    """Raises Broken, naming file and place, unless both are the same."""
    ours, theirs = contents(run_dir), contents(expected)
    check(ours.keys() == theirs.keys(),
          f'{run_dir} has {sorted(ours)}, not {sorted(theirs)}')
    for name, content in theirs.items():
        if ours[name] != content:
            raise Broken(f'{run_dir / name}: '
                         f'{_difference(ours[name], content)}')
    check(theirs['summary.json']['state'] == 'completed',
          f'{expected} did not complete')


def untouched(run_dir):
    """{name: bytes} of all files of a folder, to be compared later."""
    return {str(path.relative_to(run_dir)): path.read_bytes()
            for path in sorted(run_dir.rglob('*')) if path.is_file()}
