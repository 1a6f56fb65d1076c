"""To and from PyTorch Geometric, which is imported only when it is used."""

import json
import os
import pathlib
import re
import tempfile
import warnings
from typing import TYPE_CHECKING

from fgnn import checkpoint as checkpoints
from fgnn import errors, program as programs
from fgnn.job import Job

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from fgnn.pyg_data import Source
    from fgnn.pyg_model import PygModel

_IMPORT_SECONDS = 24 * 3600.0


def to_pyg(run: Job | str | os.PathLike[str],
           checkpoint: str | None = None) -> 'PygModel':
    """The trained model of a job, of a run's folder or of a checkpoint's file
    as a module of torch_geometric, in eval mode: model(x, edge_index) gives
    the logits, or numbers, of every vertex. Its layers: help(type(model)).

    checkpoint  one of the run by its name, such as 'epoch-0003'; default:
                that of the best epoch, or the newest where none is known to
                be best

    On the whole graph they are those of `fgnn predict`. ImportError: a
    package is not installed. NotFound, PermissionDenied. InvalidJob:
    torch_geometric has no layers of the model's kind (plugin, python,
    torchscript), or
    the file is no checkpoint; DataLoss: it is damaged.
    """
    try:
        from fgnn import pyg_model
    except ImportError as error:
        raise _needs_packages('to_pyg', error) from error
    path = pathlib.Path(run.run_dir if isinstance(run, Job) else run)
    if checkpoint is not None or not path.is_file():
        path = checkpoints.find(path, checkpoint)
    return pyg_model.load(checkpoints.read(path))


def from_pyg(data: 'Data', folder: str | os.PathLike[str], *,
             split: int | None = None, labels_are: str = 'auto',
             program: str = 'fgnn') -> pathlib.Path:
    """Writes a torch_geometric.data.Data as a dataset, by `fgnn dataset import
    numpy`; returns its folder, which is new or empty before.

    edge_index     taken as it is: directions, loops and equal edges stay
    x              features, as f32
    y              labels: a class for each vertex, -1 or NaN for none; or
                   numbers to predict, [vertices] or [vertices, columns] of
                   floating point, NaN for none; or sets of classes,
                   [vertices, classes] of 0 and 1. `labels_are` says which if
                   that is not clear: 'classes', 'numbers' or 'sets'
    train_mask, val_mask or valid_mask, test_mask
                   the splits; of masks of several columns `split` names one
    edge_weight    weights of khop_weighted sampling
    class_names, target_names, feature_names
                   lists of names, if data has them

    Vertices without edges stay where x, y, a mask or num_nodes tells of them.
    Warns of what else data has and of the importer's notes. `program` is the
    command `fgnn`.

    ImportError: a package is not installed. InvalidJob names what no dataset
    can have: a HeteroData, features of edges, an array of another shape.
    ProgramFailed: what the importer said.
    """
    try:
        from fgnn import pyg_data
    except ImportError as error:
        raise _needs_packages('from_pyg', error) from error
    source = pyg_data.source_of(data, split, labels_are)
    target = pathlib.Path(folder).absolute()
    for note in (*source.notes, *_import(source, target, program)):
        warnings.warn(note, stacklevel=2)
    _name_source(target / 'metadata.yaml', data)
    for name, lines in (('class_names.txt', source.class_names),
                        ('target_names.txt', source.target_names),
                        ('feature_names.txt', source.feature_names)):
        if lines:
            (target / name).write_text('\n'.join(lines) + '\n',
                                       encoding='utf-8')
    return target


def _needs_packages(function: str, error: ImportError) -> ImportError:
    return ImportError(
        f'{function}() needs torch and torch_geometric: pip install '
        f"'fgnn[pyg]' ({error})", name=error.name)


def _import(source: 'Source', target: pathlib.Path,
            program: str) -> list[str]:
    """The importer's notes."""
    import numpy
    words = ['dataset', 'import', 'numpy']
    if source.labels_are:
        words += ['--labels-are', source.labels_are]
    if source.class_names:
        labels = source.arrays.get('labels', numpy.empty(0))
        most = max(len(source.class_names), 1 + int(labels.max(initial=0)))
        words += ['--classes', str(most)]
    with tempfile.TemporaryDirectory(prefix='fgnn-') as folder:
        arrays = pathlib.Path(folder) / 'torch_geometric'
        arrays.mkdir()
        for name, array in source.arrays.items():
            numpy.save(arrays / f'{name}.npy', array)
        try:
            said = programs.run(
                program, None,
                [*words, str(arrays), '--out', str(target), '--keep-duplicates',
                 '--json'], _IMPORT_SECONDS)
        except errors.ProgramFailed as error:
            raise errors.ProgramFailed(_without(arrays, error.message),
                                       error.exit_code) from None
    return [_without(arrays, note) for note in json.loads(said)['notes']]


def _name_source(metadata: pathlib.Path, data: 'Data') -> None:
    """The importer names the folder of its arrays, which is gone by now."""
    # PyTorch Geometric describes a Data by the shapes of what it has.
    source = json.dumps('PyG ' + ' '.join(repr(data).split()))
    named = metadata.with_suffix('.partial')
    named.write_text(
        re.sub('(?m)^source: .*$', lambda _: f'source: {source}',
               metadata.read_text(encoding='utf-8'), count=1),
        encoding='utf-8')
    named.replace(metadata)


def _without(arrays: pathlib.Path, message: str) -> str:
    """The caller knows no such folder."""
    return message.replace(f'{arrays}/', '').replace(f'arrays {arrays}', 'data')
