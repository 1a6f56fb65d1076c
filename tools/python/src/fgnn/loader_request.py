"""What the caller of fgnn.loader() asks for, as fgnn_loader_open() reads it."""

import json
import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy

from fgnn import errors, state_dir as state_dirs
from fgnn.native import Array

# Fields of `training` that batches depend on; batches_per_step is the number of
# chains of sampling.order matched.
TRAINING = ('seed', 'task', 'negatives', 'exclude_seed_edges',
            'batches_per_step')
_MOST_HOPS = 8


def job_of(dataset: str | os.PathLike[str] | None,
           job: str | os.PathLike[str] | None, resample: bool | None,
           fields: dict[str, Any]) -> dict[str, Any]:
    """The job's part of a request. `resample`: that of the layout, if it has
    one."""
    spec = _sections_of(dict(fields))
    sampling = spec['sampling']
    if 'fanouts' in sampling:
        sampling['fanouts'] = _fanouts(sampling['fanouts'])
        # A job has as many layers as hops; the model is the caller's here.
        spec['model'] = {'layers': len(sampling['fanouts'])}
    if job is not None:
        overrides = [f'{section}.{name}={_text(value)}'
                     for section, values in spec.items()
                     for name, value in values.items()]
        if dataset is not None:
            overrides.append(f'dataset={_text(os.path.abspath(dataset))}')
        return {'job_file': os.path.abspath(job), 'overrides': overrides}
    if dataset is None:
        raise errors.InvalidJob(
            "dataset: give the folder of a dataset, or job='job.yaml'")
    if resample is not None:
        sampling.setdefault('resample', resample)
    return {'job': _text({**spec, 'dataset': os.path.abspath(dataset)})}


def _sections_of(fields: dict[str, Any]) -> dict[str, Any]:
    training = {name: fields.pop(name) for name in TRAINING if name in fields}
    features = {'store': fields.pop('store')} if 'store' in fields else {}
    return {'training': training, 'features': features, 'sampling': fields}


def _fanouts(value: Any) -> list[int]:
    try:
        fanouts = [operator.index(fanout) for fanout in value]
    except TypeError:
        raise errors.InvalidJob(
            f'fanouts: {value!r} is no list of whole numbers') from None
    if not 1 <= len(fanouts) <= _MOST_HOPS:
        raise errors.InvalidJob(
            f'fanouts: there are {len(fanouts)}; give 1 to {_MOST_HOPS}, one '
            'for each layer of the model')
    return fanouts


def _text(value: Any) -> str:
    """JSON, which is YAML."""
    def plain(other: Any) -> Any:
        if hasattr(other, 'tolist'):
            return other.tolist()  # NumPy's.
        raise errors.InvalidJob(
            f'{other!r} is of {type(other).__name__}, which no field of a job '
            'is')
    return json.dumps(value, default=plain, ensure_ascii=False)


def ids_of(name: str, value: Any) -> Array:
    """Ids of vertices, from an array or list of them or from a mask."""
    if hasattr(value, 'detach'):
        value = value.detach().cpu().numpy()
    ids = numpy.asarray(value)
    if ids.size == 0:
        raise errors.InvalidJob(f'{name}: there is no vertex in it')
    if ids.dtype == numpy.bool_ and ids.ndim == 1:
        ids = numpy.flatnonzero(ids)
        if ids.size == 0:
            raise errors.InvalidJob(f'{name}: no vertex of the mask is true')
    if ids.ndim != 1 or ids.dtype.kind not in 'iu':
        raise errors.InvalidJob(
            f'{name}: ids of vertices are integers [n] or a mask, and this has '
            f'shape {list(ids.shape)} of {ids.dtype}')
    return numpy.ascontiguousarray(ids, dtype=numpy.int64)


def rank_of(rank: int | None, world: int | None) -> tuple[int, int]:
    """Those of torchrun where the caller names none."""
    if (rank is None) != (world is None):
        raise errors.InvalidJob('rank and world: give both, or none')
    if rank is None or world is None:
        own, ranks = (os.environ.get(name) for name in ('RANK', 'WORLD_SIZE'))
        if own is None or ranks is None:
            return 0, 1
        try:
            rank, world = int(own), int(ranks)
        except ValueError:
            raise errors.InvalidJob(
                f"RANK is '{own}' and WORLD_SIZE '{ranks}' in the environment; "
                'give rank and world') from None
    return (whole_number('rank', rank, 0, 2**32 - 1),
            whole_number('world', world, 1, 2**32 - 1))


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise errors.InvalidJob(
            f'{name}: {value!r} is not a whole number') from None
    if not least <= number <= most:
        raise errors.InvalidJob(f'{name}: {number} is not in [{least}, {most}]')
    return number


def one_of(name: str, value: str, words: Sequence[str]) -> str:
    if value in words:
        return value
    from fgnn.spec import nearest_word
    near = nearest_word(str(value), words)
    raise errors.InvalidJob(
        f"{name}: there is no '{value}'" +
        (f"; did you mean '{near}'?" if near else
         f'; it is {", ".join(words[:-1])} or {words[-1]}'))


def cache_folder() -> str:
    """Where it is noted which datasets are sound; '': nowhere."""
    try:
        folder = state_dirs.cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
    except (errors.WrongState, OSError):
        return ''
    return str(folder)
