"""Checkpoints of a run, as trainer_service/checkpoint/README.md has them."""

import dataclasses
import json
import math
import pathlib
import re
import struct
from typing import TYPE_CHECKING, Any

from fgnn import errors

if TYPE_CHECKING:
    import numpy as np

_BEST = 'best.safetensors'
_SUFFIX = '.safetensors'
_FORMAT = 5
_MOST_HEADER_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True)
class ModelOptions:
    """What defines a model, by the names of a job's section `model`."""
    kind: str
    layers: int
    hidden: int
    input_columns: int
    task: str  # training.task of the job.
    num_classes: int  # Columns of numbers or of sets, too; 0 for links.
    dropout: float
    input_dropout: float
    aggregator: str
    heads: int
    attention_dropout: float
    normalization: str
    residual: bool
    degree_norm: str


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    path: pathlib.Path
    model: ModelOptions
    class_names: tuple[str, ...]  # Empty: the dataset has none.
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    weights: 'dict[str, np.ndarray[Any, Any]]'  # f32, by parameter.


def find(run_dir: pathlib.Path, name: str | None = None) -> pathlib.Path:
    """The file of a run's checkpoint of that name ('epoch-0003'); without one
    that of the best epoch, or the newest where none is known to be best.
    NotFound."""
    folder = run_dir / 'checkpoints'
    newest_first = sorted(folder.glob(f'epoch-*{_SUFFIX}'), key=_age_of,
                          reverse=True)
    found = [file for file in (folder / _BEST, *newest_first) if file.exists()]
    if not found:
        raise errors.NotFound(f'{folder} has no checkpoint yet')
    if name is None:
        return found[0]
    for file in found:
        if file.name.removesuffix(_SUFFIX) == name.removesuffix(_SUFFIX):
            return file
    there = ', '.join(file.name.removesuffix(_SUFFIX) for file in found)
    raise errors.NotFound(
        f"{folder} has no checkpoint '{name}'; there are {there}")


def _age_of(file: pathlib.Path) -> list[int]:
    """Numbers in 'epoch-0003-step-0000000120', greater for later files."""
    return [int(number) for number in re.findall(r'\d+', file.stem)]


def read(path: pathlib.Path) -> Checkpoint:
    """The model, without the optimizer's state. Does not compute the file's
    checksum. NotFound, PermissionDenied; InvalidJob: it is no checkpoint, or
    of another version; DataLoss: it is damaged; OutOfResources: it does not
    fit into memory."""
    try:
        return _read(path)
    except MemoryError:
        raise errors.OutOfResources(
            f'checkpoint {path}: it does not fit into memory') from None


def _read(path: pathlib.Path) -> Checkpoint:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise errors.NotFound(f'there is no checkpoint {path}') from None
    except PermissionError:
        raise errors.PermissionDenied(
            f'checkpoint {path}: permission denied') from None
    except (OSError, ValueError) as error:
        raise errors.InvalidJob(
            f'checkpoint {path}: {getattr(error, "strerror", error)}'
        ) from None
    try:
        header, data = _split(content)
        metadata = header.pop('__metadata__')
        if metadata['format'] != 'fgnn-checkpoint':
            raise KeyError('format')
        version = int(metadata['format_version'])
    except errors.NOT_READABLE:
        raise errors.InvalidJob(
            f'checkpoint {path}: it is none of this program') from None
    if version != _FORMAT:
        raise errors.InvalidJob(
            f'checkpoint {path}: its format version is {version}, this '
            f'release reads {_FORMAT}; use the release that wrote it')
    try:
        return Checkpoint(path, _model_of(metadata),
                          _names_in(metadata, 'class_names'),
                          _names_in(metadata, 'feature_names'),
                          _names_in(metadata, 'target_names'),
                          _weights_in(header, data))
    except errors.NOT_READABLE as error:
        raise errors.DataLoss(
            f'checkpoint {path}: it is damaged: {error!r}') from None


def _split(content: bytes) -> tuple[dict[str, Any], memoryview]:
    size, = struct.unpack_from('<Q', content)
    if size > _MOST_HEADER_BYTES:
        raise ValueError(size)
    header = json.loads(content[8:8 + size])
    if not isinstance(header, dict):
        raise TypeError(header)
    return header, memoryview(content)[8 + size:]


def _model_of(words: dict[str, str]) -> ModelOptions:
    if not all(isinstance(word, str) for word in words.values()):
        raise TypeError('__metadata__')
    return ModelOptions(
        kind=words['model.kind'],
        layers=int(words['model.layers']),
        hidden=int(words['model.hidden']),
        input_columns=int(words['model.input_columns']),
        task=words['task'],
        num_classes=int(words['model.num_classes']),
        dropout=float(words['model.dropout']),
        input_dropout=float(words['model.input_dropout']),
        aggregator=words['model.aggregator'],
        heads=int(words['model.heads']),
        attention_dropout=float(words['model.attention_dropout']),
        normalization=words['model.normalization'],
        residual=words['model.residual'] != '0',
        degree_norm=words['model.degree_norm'])


def _names_in(metadata: dict[str, str], key: str) -> tuple[str, ...]:
    names = metadata.get(key, '')
    return tuple(names.split('\n')) if names else ()


def _weights_in(header: dict[str, Any],
                data: memoryview) -> 'dict[str, np.ndarray[Any, Any]]':
    import numpy
    weights, total = {}, 0
    for name, entry in header.items():
        begin, end = entry['data_offsets']
        shape = tuple(entry['shape'])
        if (entry['dtype'] != 'F32' or not 0 <= begin <= end <= len(data) or
                end - begin != 4 * math.prod(shape)):
            raise ValueError(f'tensor {name} of {len(data)} bytes: {entry}')
        total += end - begin
        if not name.startswith('optimizer.'):
            weights[name] = numpy.frombuffer(
                data[begin:end], '<f4').reshape(shape).copy()
    if total != len(data):
        raise ValueError(f'{len(data)} bytes of tensors that take {total}')
    return weights
