"""What can go wrong, one class for each status that a program may act on."""

import struct
import unicodedata

import grpc

# What the readers of Python's library raise for a file that is not what it
# must be.
NOT_READABLE = (ArithmeticError, AttributeError, LookupError, RecursionError,
                TypeError, ValueError, struct.error)
_MOST_CHARACTERS = 2000

# Numbers of google.rpc.Code, which a failed job carries.
CODES = {code.value[0]: code.name for code in grpc.StatusCode}


class Error(Exception):
    """`message` is one line that names what is wrong; `code` the name of a
    status of gRPC, e.g. 'INVALID_ARGUMENT'."""

    code = 'UNKNOWN'

    def __init__(self, message: str, code: str = '') -> None:
        self.message = printable(message[:_MOST_CHARACTERS])
        super().__init__(self.message)
        if code:
            self.code = code


def printable(text: str) -> str:
    """Text of anybody as one line that every terminal can show: control
    characters, those that reorder text and lone surrogates are escaped."""
    return ''.join(
        one if one.isprintable() or unicodedata.category(one) == 'Zs' else
        one.encode('unicode_escape').decode('ascii') for one in text)


class InvalidJob(Error):
    """A field of the job, or of the call, is wrong; the message names it."""
    code = 'INVALID_ARGUMENT'


class NotFound(Error):
    """No such job, dataset, file or program."""
    code = 'NOT_FOUND'


class AlreadyExists(Error):
    """The key was used for another job, or the run folder is not empty."""
    code = 'ALREADY_EXISTS'


class PermissionDenied(Error):
    """The job is another user's, or the service's socket is."""
    code = 'PERMISSION_DENIED'


class Unauthenticated(Error):
    """The service at a port does not know who calls, and says why."""
    code = 'UNAUTHENTICATED'


class WrongState(Error):
    """The job's state does not allow that."""
    code = 'FAILED_PRECONDITION'


class OutOfResources(Error):
    """Need and have are in the message, or what the service has too many of."""
    code = 'RESOURCE_EXHAUSTED'


class Unavailable(Error):
    """No service answers."""
    code = 'UNAVAILABLE'


class DataLoss(Error):
    """Data that is cut or damaged: a file of a dataset or run, or the store of
    jobs; the message names it."""
    code = 'DATA_LOSS'


class DeadlineExceeded(Error):
    """No answer within the call's time. Whether it was done is not known; all
    calls may be repeated."""
    code = 'DEADLINE_EXCEEDED'


class ProgramFailed(Error):
    """The program `fgnn` ended with `exit_code`; the message is its own."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class JobFailed(Error):
    """The job that was waited for failed; code and message are the job's."""


class JobCancelled(Error):
    """The job that was waited for was cancelled."""
    code = 'CANCELLED'


_BY_CODE: dict[str, type[Error]] = {
    kind.code: kind for kind in (
        InvalidJob, NotFound, AlreadyExists, PermissionDenied, Unauthenticated,
        WrongState,
        OutOfResources, Unavailable, DataLoss, DeadlineExceeded)}


def from_code(code: int, message: str) -> Error:
    """The error of a status with this number of google.rpc.Code."""
    name = CODES.get(code, Error.code)
    return _BY_CODE.get(name, Error)(message, name)


def code_of(error: grpc.RpcError) -> grpc.StatusCode:
    if not isinstance(error, grpc.Call):
        return grpc.StatusCode.UNKNOWN
    return error.code()


def from_rpc(error: grpc.RpcError) -> Error:
    code = code_of(error).name
    details = error.details() if isinstance(error, grpc.Call) else None
    return _BY_CODE.get(code, Error)(
        details or f'the service answered {code}; client and service have to '
        'be of one release', code)
