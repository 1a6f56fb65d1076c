"""Jobs between dicts, YAML and fgnn.v1.JobSpec, with the errors that the
command line has (shared/config/field_reader.cc): unknown keys, types and
ranges are told here, all else by the service."""

import math
import os
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from fgnn import errors
from fgnn.v1 import job_pb2, options_pb2

_MOST_FILE_BYTES = 1 << 20
_LONGEST_WORD = 100  # That may be meant for another one.
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-2**31, 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
# A descriptor, of whichever implementation protobuf has here.
_Descriptor = Any
_NULLS = ('', '~', 'null', 'Null', 'NULL')


def from_dict(job: Mapping[str, Any]) -> job_pb2.JobSpec:
    """A job as YAML would spell it; paths are relative to where we work."""
    spec = job_pb2.JobSpec()
    _read_message(job, '', '', spec)
    _make_paths_absolute(pathlib.Path.cwd(), spec)
    return spec


def from_file(path: str | os.PathLike[str]) -> job_pb2.JobSpec:
    """A job file; paths in it are relative to its folder."""
    path = pathlib.Path(path)
    try:
        with path.open('rb') as file:
            text = file.read(_MOST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise errors.NotFound(f'{path}: no such job file') from None
    except (OSError, ValueError) as error:
        raise errors.InvalidJob(
            f'{path}: {getattr(error, "strerror", error)}') from None
    if len(text) > _MOST_FILE_BYTES:
        raise errors.InvalidJob(
            f'{path} has more than {_MOST_FILE_BYTES} bytes; is it a job file?')
    try:
        documents = [
            node for node in yaml.compose_all(text, Loader=yaml.SafeLoader)
            if not _is_null(node)]
    except RecursionError:
        raise errors.InvalidJob(
            f'{path}: not YAML: it is nested too deep') from None
    except (yaml.YAMLError, *errors.NOT_READABLE) as error:
        line = ''
        if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
            line = f':{error.problem_mark.line + 1}'
        problem = getattr(error, 'problem', None) or (
            str(error).splitlines() or [type(error).__name__])[0]
        raise errors.InvalidJob(f'{path}{line}: not YAML: {problem}') from None
    if len(documents) > 1:
        raise _error(str(path), documents[1], (
            'a second document begins here; put all keys into one, or write '
            'each job into a file of its own'))
    spec = job_pb2.JobSpec()
    _read_message(documents[0] if documents else None, str(path), '', spec)
    _make_paths_absolute(path.absolute().parent, spec)
    return spec


def override(key: str, value: Any, spec: job_pb2.JobSpec) -> None:
    """Sets the field of a dotted key, e.g. 'training.epochs'."""
    message: Message = spec
    prefix = ''
    *sections, name = key.split('.')
    for section in sections:
        field = _find(section, prefix, message)
        prefix = _join(prefix, section)
        block = _block_instead_of(field)
        if block is not None:
            message.ClearField(field.name)
            field = block
        if field.message_type is None:
            raise errors.InvalidJob(f'{prefix} has no keys within')
        message = getattr(message, field.name)
    _read_field(value, '', prefix, _find(name, prefix, message), message)
    _make_paths_absolute(pathlib.Path.cwd(), spec)


def to_dict(message: Message) -> dict[str, Any]:
    """The fields that are set, as YAML would spell them; integers stay such."""
    found: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.message_type is not None:
            value = to_dict(value)
        elif isinstance(value, (bool, int, float, str)):
            pass
        else:
            value = list(value)
        found[_key_of(field)] = value
    return found


def nearest_word(word: str, candidates: Iterable[str]) -> str:
    """The word that was probably meant; empty: none is near."""
    if len(word) > _LONGEST_WORD:
        return ''
    nearest, best = '', max(2, len(word) // 2) + 1
    for candidate in candidates:
        row = list(range(len(candidate) + 1))
        for i, a in enumerate(word, 1):
            diagonal, row[0] = row[0], i
            for j, b in enumerate(candidate, 1):
                substituted = diagonal + (a != b)
                diagonal = row[j]
                row[j] = min(substituted, row[j] + 1, row[j - 1] + 1)
        if row[-1] < best:
            nearest, best = candidate, row[-1]
    return nearest


def _join(prefix: str, name: str) -> str:
    return f'{prefix}.{name}' if prefix else name


def _error(origin: str, value: Any, message: str) -> errors.InvalidJob:
    if not origin:
        return errors.InvalidJob(message)
    line = ''
    if isinstance(value, yaml.Node):
        line = f':{value.start_mark.line + 1}'
    return errors.InvalidJob(f'{origin}{line}: {message}')


def _doc_of(field: _Descriptor) -> options_pb2.FieldDoc:
    doc: options_pb2.FieldDoc = field.GetOptions().Extensions[options_pb2.doc]
    return doc


def _key_of(field: _Descriptor) -> str:
    """Its name, or that of the list in whose place it may be written."""
    return _doc_of(field).instead_of or str(field.name)


def _block_instead_of(field: _Descriptor) -> _Descriptor | None:
    """The block that may be written in the place of a list."""
    for other in field.containing_type.fields:
        if _doc_of(other).instead_of == field.name:
            return other
    return None


def _find(key: object, prefix: str, message: Message) -> _Descriptor:
    fields: Mapping[str, _Descriptor] = {
        field.name: field for field in message.DESCRIPTOR.fields
        if _key_of(field) == field.name}
    name = str(key)
    if name in fields:
        return fields[name]
    meant = _place_of(name).removeprefix(f'{prefix}.' if prefix else '')
    meant = meant or nearest_word(name, fields)
    within = f' in {prefix}' if prefix else ''
    hint = (f"did you mean '{meant}'?" if meant else
            'known keys: ' + ', '.join(fields))
    raise errors.InvalidJob(f"unknown key '{name}'{within}; {hint}")


def _place_of(name: str) -> str:
    """The path of the job's field of this name, or of the one that others call
    so: of lr, 'training.learning_rate'. Empty: there is none."""
    paths = list(_paths(job_pb2.JobSpec.DESCRIPTOR, ''))
    named = [path for path, field in paths if field.name == name]
    called = [path for path, field in paths
              if name in _doc_of(field).other_names]
    return (named + called + [''])[0]


def _paths(message: _Descriptor, prefix: str
           ) -> Iterator[tuple[str, _Descriptor]]:
    """(path, field) of all fields, those of the message before its sections'."""
    for field in message.fields:
        yield _join(prefix, _key_of(field)), field
    for field in message.fields:
        if field.message_type:
            yield from _paths(field.message_type, _join(prefix, _key_of(field)))


def _entries(value: Any) -> list[tuple[Any, Any, Any]] | None:
    """(key, its place, value) of a block of keys; None: it is none."""
    if isinstance(value, yaml.MappingNode):
        return [(key.value if isinstance(key, yaml.ScalarNode) else '…', key,
                 entry) for key, entry in value.value]
    if isinstance(value, Mapping):
        return [(key, key, entry) for key, entry in value.items()]
    return None


def _elements(value: Any) -> list[Any] | None:
    if isinstance(value, yaml.SequenceNode):
        return list(value.value)
    if isinstance(value, (str, bytes, Mapping, yaml.Node)):
        return None
    # Tuples, ranges and NumPy's arrays too.
    return list(value) if isinstance(value, Iterable) else None


def _is_null(value: Any) -> bool:
    if isinstance(value, yaml.ScalarNode):
        return value.style is None and value.value in _NULLS
    return value is None


def _text(value: Any) -> str | None:
    """A scalar as YAML spells it; None: it is none."""
    if isinstance(value, yaml.ScalarNode):
        return str(value.value)
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, yaml.Node) or _entries(value) is not None or (
            _elements(value) is not None):
        return None
    return str(value)  # Numbers, also NumPy's.


def _is_number(value: Any) -> bool:
    try:
        float(_text(value) or '')
    except ValueError:
        return False
    return True


def _read_message(value: Any, origin: str, prefix: str,
                  message: Message) -> None:
    if _is_null(value):
        return  # A heading and nothing below.
    entries = _entries(value)
    if entries is None:
        raise _error(origin, value,
                     f'{prefix or "a job"} takes a block of keys')
    seen = set()
    for key, place, entry in entries:
        try:
            field = _find(key, prefix, message)
        except errors.InvalidJob as error:
            raise _error(origin, place, error.message) from None
        if key in seen:
            raise _error(origin, place, f'{_join(prefix, key)} is given twice')
        seen.add(key)
        _read_field(entry, origin, prefix, field, message)


def _read_field(value: Any, origin: str, prefix: str, field: _Descriptor,
                message: Message) -> None:
    path = _join(prefix, _key_of(field))
    block = _block_instead_of(field)
    if block is not None and (_entries(value) is not None or
                              _is_number(value)):
        message.ClearField(field.name)
        message.ClearField(block.name)
        section = getattr(message, block.name)
        section.SetInParent()
        if _is_number(value):
            _read_field(value, origin, path, block.message_type.fields[0],
                        section)
        else:
            _read_message(value, origin, path, section)
    elif field.message_type is not None:
        section = getattr(message, field.name)
        section.SetInParent()
        _read_message(value, origin, path, section)
    elif field.is_repeated:
        elements = None if _is_null(value) else _elements(value)
        word = _doc_of(field).zero_word
        if elements is None and word and _text(value) == word:
            elements = [0]
        if elements is None:
            instead = f' or {word}' if word else ''
            raise _error(origin, value, f'{path} takes a list; write '
                         f'[{_text(value) or "…"}]{instead}')
        read = [_read_scalar(element, origin, path, field)
                for element in elements]
        message.ClearField(field.name)
        if block is not None:
            message.ClearField(block.name)
        getattr(message, field.name).extend(read)
    else:
        setattr(message, field.name, _read_scalar(value, origin, path, field))


def _read_scalar(value: Any, origin: str, path: str,
                 field: _Descriptor) -> bool | int | float | str:
    wanted = {FieldDescriptor.CPPTYPE_STRING: 'a word',
              FieldDescriptor.CPPTYPE_BOOL: 'true or false',
              }.get(field.cpp_type, 'a number')
    if _is_null(value):
        raise _error(origin, value, f'{path} has no value; give {wanted} or '
                     f'leave {"the line" if origin else "it"} out')
    try:
        text = _text(value)
    except errors.NOT_READABLE as error:  # A number of 5,000 digits.
        raise _error(origin, value, f'{path}: {error}') from None
    if text is None:
        kind = 'a list' if _entries(value) is None else 'a block of keys'
        raise _error(origin, value, f'{path} takes {wanted}, not {kind}')
    try:
        return _parse(text, path, field)
    except errors.InvalidJob as error:
        raise _error(origin, value, error.message) from None


def _parse(text: str, path: str,
           field: _Descriptor) -> bool | int | float | str:
    doc = _doc_of(field)
    if text and text == doc.zero_word and not field.is_repeated:
        text = '0'
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise errors.InvalidJob(f"{path}: '{text}' is no text that UTF-8 "
                                    'has') from None
        return text
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        if text not in ('true', 'false'):
            raise errors.InvalidJob(
                f"{path}: '{text}' is neither true nor false")
        return text == 'true'
    integer = _INTEGERS.get(field.cpp_type)
    what = 'a whole number' if integer else 'a number'
    number: int | float
    try:
        # Python reads 1_000 too, YAML's other readers do not.
        number = (int(text) if re.fullmatch(r'[+-]?\d+', text) else
                  math.nan if '_' in text else float(text))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise errors.InvalidJob(f"{path}: '{text}' is not {what}")
    _check_range(number, text, path, doc, integer)
    if not integer:
        return float(number)
    # 2^53: beyond it a double does not name one whole number.
    if number != int(number) or (isinstance(number, float) and
                                 abs(number) > 2**53):
        raise errors.InvalidJob(f'{path}: {text} is not {what}')
    return int(number)


def _check_range(number: int | float, text: str, path: str,
                 doc: options_pb2.FieldDoc,
                 integer: tuple[int, int] | None) -> None:
    low, high = integer or (-math.inf, math.inf)
    if doc.HasField('min'):
        low = max(low, doc.min)
    if doc.HasField('max'):
        high = min(high, doc.max)
    if low <= number <= high:
        return
    span = (f'at least {_shown(low)}' if math.isinf(high) else
            f'{_shown(low)} to {_shown(high)}')
    word = f', or {doc.zero_word}' if doc.zero_word else ''
    raise errors.InvalidJob(
        f'{path}: {text} is out of range; give {span}{word}')


def _shown(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)


def _make_paths_absolute(folder: pathlib.Path, spec: job_pb2.JobSpec) -> None:
    if spec.dataset:
        spec.dataset = os.path.normpath(folder / spec.dataset)
    if spec.model.file:
        spec.model.file = os.path.normpath(folder / spec.model.file)
    if spec.model.python:
        spec.model.python = os.path.normpath(folder / spec.model.python)
