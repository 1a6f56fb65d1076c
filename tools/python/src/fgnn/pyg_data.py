"""A torch_geometric.data.Data as the arrays that `fgnn dataset import numpy`
reads. Needs torch and torch_geometric; fgnn.from_pyg() imports it."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy
import torch
from torch_geometric.data import Data, HeteroData

from fgnn import errors

if TYPE_CHECKING:
    Array = numpy.ndarray[Any, Any]

# The name of a mask, and of the importer's array.
_MASKS = {'train_mask': 'train_mask', 'val_mask': 'valid_mask',
          'valid_mask': 'valid_mask', 'test_mask': 'test_mask'}
_READ = {'x', 'y', 'edge_index', 'edge_weight', 'num_nodes', 'class_names',
         'target_names', 'feature_names', *_MASKS}
_LABEL_KINDS = ('auto', 'classes', 'numbers', 'sets')


@dataclasses.dataclass(frozen=True)
class Source:
    """What a dataset is made of."""
    arrays: 'dict[str, Array]'  # By the importer's name, without '.npy'.
    # What labels are, one of the importer's words; empty: there are none.
    labels_are: str
    class_names: tuple[str, ...]  # Names of classes.
    target_names: tuple[str, ...]  # Names of columns of numbers or sets.
    feature_names: tuple[str, ...]
    notes: tuple[str, ...]  # What the caller may not expect.


def source_of(data: Any, split: int | None, labels_are: str) -> Source:
    """InvalidJob names the attribute that no dataset can have."""
    check_kind(data)
    values = {key: value for key, value in data.to_dict().items()
              if value is not None}
    if 'edge_index' not in values:
        raise errors.InvalidJob(
            'data has no edge_index; give it one, [2, edges]' +
            (', before ToSparseTensor makes adj_t of it'
             if 'adj_t' in values else ''))
    _check_edge_features(data, values)
    num_nodes = _num_nodes_of(data, values)
    arrays = _edges_of(values, num_nodes)
    if 'x' in values:
        arrays['features'] = _features_of(values['x'], num_nodes)
    kind = ''
    if 'y' in values:
        arrays['labels'], kind = _labels_of(values['y'], num_nodes, labels_are)
    for key, name in _MASKS.items():
        if key in values:
            arrays[name] = _mask_of(key, values[key], num_nodes, split)
    are_classes = kind in ('', 'classes')
    return Source(arrays, kind, _class_names_of(values) if are_classes else (),
                  () if are_classes else _target_names_of(values, arrays),
                  _feature_names_of(values, arrays), _notes_on(values))


def check_kind(data: object) -> None:
    if isinstance(data, HeteroData):
        raise errors.InvalidJob(
            'data is a HeteroData; a dataset has one kind of vertices and of '
            'edges, so give the Data of one kind of each')
    if not isinstance(data, Data):
        raise errors.InvalidJob(
            f'data is of {type(data).__name__}; give a '
            'torch_geometric.data.Data, such as dataset[0]')


def _check_edge_features(data: Data, values: dict[str, Any]) -> None:
    lost = [key for key in values if key not in _READ and
            (key.startswith('edge_') or data.is_edge_attr(key))]
    if not lost:
        return
    raise errors.InvalidJob(
        f'{", ".join(lost)} of data would be lost: no model here reads '
        "features of edges; leave them out by 'del data."
        f"{lost[0]}', or name weights edge_weight, [edges]")


def _num_nodes_of(data: Data, values: dict[str, Any]) -> int:
    """The isolated vertices too, where data tells of them."""
    if 'num_nodes' in values:
        return int(values['num_nodes'])
    for key in ('x', 'y', *_MASKS):
        if key in values:
            return len(values[key])
    return int(data.num_nodes)


def _edges_of(values: dict[str, Any], num_nodes: int) -> 'dict[str, Array]':
    """The lists of in-neighbours, in the order of edge_index."""
    edges = _array('edge_index', values['edge_index'])
    if edges.ndim != 2 or len(edges) != 2 or edges.dtype.kind not in 'iu':
        raise _unfit('edge_index', edges, 'the numbers of vertices, [2, edges]')
    if edges.size and not 0 <= edges.min() <= edges.max() < num_nodes:
        raise errors.InvalidJob(
            f'edge_index of data has vertices from {edges.min()} to '
            f'{edges.max()}; there are {num_nodes}, numbered from 0')
    sources, destinations = edges
    order = numpy.argsort(destinations, kind='stable')
    indptr = numpy.zeros(num_nodes + 1, numpy.int64)
    numpy.cumsum(numpy.bincount(destinations, minlength=num_nodes),
                 out=indptr[1:])
    arrays = {'indptr': indptr, 'indices': sources[order]}
    if 'edge_weight' in values:
        weights = _array('edge_weight', values['edge_weight'])
        if weights.size != len(sources) or weights.dtype.kind not in 'fiub':
            raise _unfit('edge_weight', weights, 'a number for each edge')
        arrays['edge_weights'] = weights.astype('f4').reshape(-1)[order]
    return arrays


def _features_of(value: object, num_nodes: int) -> 'Array':
    x = _array('x', value)
    if (x.ndim not in (1, 2) or len(x) != num_nodes or
            x.dtype.kind not in 'fiub'):
        raise _unfit('x', x, f'numbers, [{num_nodes}, columns]')
    return x.astype('f4', copy=False)


def _labels_of(value: object, num_nodes: int,
               labels_are: str) -> 'tuple[Array, str]':
    """The labels, [vertices] of classes or [vertices, columns] of numbers, and
    what they are."""
    if labels_are not in _LABEL_KINDS:
        raise errors.InvalidJob(f"labels_are is '{labels_are}'; it is one of "
                                + ', '.join(_LABEL_KINDS))
    y = _array('y', value)
    if (y.ndim not in (1, 2) or len(y) != num_nodes or not y.size or
            y.dtype.kind not in 'fiub'):
        raise _unfit('y', y, f'labels of each vertex, [{num_nodes}] or '
                             f'[{num_nodes}, columns]')
    y = y.reshape(num_nodes, -1)
    kind = _kind_of(y) if labels_are == 'auto' else labels_are
    return (_classes_of(y) if kind == 'classes' else y.astype('f4')), kind


def _kind_of(y: 'Array') -> str:
    known = y[~numpy.isnan(y)] if y.dtype.kind == 'f' else y
    if y.shape[1] == 1:
        if y.dtype.kind != 'f':
            return 'classes'
        is_class = (known == numpy.trunc(known)) & (known >= -1)
        return 'classes' if is_class.all() else 'numbers'
    if numpy.isin(known, (0, 1)).all():
        return 'sets'
    if numpy.isin(known, (-1, 0, 1)).all():
        raise _unfit('y', y, 'no -1 among 0 and 1, or labels_are sets (-1 is '
                             'not known) or numbers')
    return 'numbers'


def _classes_of(y: 'Array') -> 'Array':
    if y.shape[1] != 1:
        raise _unfit('y', y, f'one class of each vertex, [{len(y)}]')
    y = y.reshape(-1)
    if y.dtype.kind != 'f':
        return y.astype('i8')
    y = numpy.where(numpy.isnan(y), -1, y)
    if (y != numpy.trunc(y)).any():
        raise _unfit('y', y, 'whole numbers of classes, -1 or NaN for none')
    return y.astype('i8')


def _mask_of(key: str, value: object, num_nodes: int,
             split: int | None) -> 'Array':
    mask = _array(key, value)
    if mask.ndim == 2 and mask.shape[1] == 1:
        mask = mask[:, 0]
    if mask.ndim == 2 and len(mask) == num_nodes:
        if split is None or not 0 <= split < mask.shape[1]:
            raise errors.InvalidJob(
                f'{key} of data has {mask.shape[1]} splits; name one by '
                f'split, 0 to {mask.shape[1] - 1}')
        mask = mask[:, split]
    if mask.shape != (num_nodes,) or not numpy.isin(mask, (0, 1)).all():
        raise _unfit(key, mask, f'a mask of the vertices, [{num_nodes}]')
    return mask.astype(bool)


def _names_in(key: str, values: dict[str, Any]) -> tuple[str, ...]:
    names = values.get(key, ())
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(
            isinstance(name, str) and '\n' not in name for name in names):
        raise errors.InvalidJob(
            f'{key} of data is no list of names of one line each')
    return tuple(names)


def _class_names_of(values: dict[str, Any]) -> tuple[str, ...]:
    names = _names_in('class_names', values)
    if len(set(names)) < len(names):
        raise errors.InvalidJob('two of class_names of data are the same')
    return names


def _target_names_of(values: dict[str, Any],
                     arrays: 'dict[str, Array]') -> tuple[str, ...]:
    """Classes of sets may be named as classes are."""
    key = 'target_names' if 'target_names' in values else 'class_names'
    names = _names_in(key, values)
    columns = arrays['labels'].shape[1]
    if len(names) > columns:
        raise errors.InvalidJob(f'{key} of data are {len(names)}, and y has '
                                f'{columns} columns')
    if len(set(names)) < len(names):
        raise errors.InvalidJob(f'two of {key} of data are the same')
    return names


def _feature_names_of(values: dict[str, Any],
                      arrays: 'dict[str, Array]') -> tuple[str, ...]:
    names = _names_in('feature_names', values)
    x = arrays.get('features', numpy.zeros((0, 0)))
    columns = 1 if x.ndim == 1 else x.shape[1]
    if len(names) > columns:
        raise errors.InvalidJob(
            f'feature_names of data are {len(names)}, and x has {columns} '
            'columns')
    return names


def _notes_on(values: dict[str, Any]) -> tuple[str, ...]:
    notes = []
    left_out = [key for key in values if key not in _READ]
    if left_out:
        notes.append(
            f'left out, nothing reads them: {", ".join(left_out)} of data')
    if 'edge_weight' in values:
        notes.append(
            'edge_weight of data weighs the draws of sampling.kind '
            'khop_weighted alone; no model multiplies messages by it')
    return tuple(notes)


def _array(key: str, value: Any) -> 'Array':
    """InvalidJob: it is no array of numbers."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.layout is not torch.strided:
            value = value.to_dense()
        if value.dtype == torch.bfloat16:
            value = value.float()
        return numpy.asarray(value.numpy())
    if isinstance(value, numpy.ndarray):
        return value
    raise errors.InvalidJob(
        f'{key} of data is of {type(value).__name__}; give a tensor')


def _unfit(key: str, array: 'Array', wanted: str) -> errors.InvalidJob:
    return errors.InvalidJob(
        f'{key} of data is {list(array.shape)} of {array.dtype}, where '
        f'{wanted}, is expected')
