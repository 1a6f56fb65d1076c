"""Calls to the service as any program may make them, without its client."""

import contextlib
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

from row import Broken, Skipped

PROTO = pathlib.Path(__file__).resolve().parent.parent.parent.parent / 'proto'
CALL_SECONDS = 5


class Lost(Broken):
    """No whole answer came."""


def needs_tools():
    for tool in ('curl', 'protoc'):
        if shutil.which(tool) is None:
            raise Skipped(f'needs {tool}')


def protoc(conversion, message, content):
    return subprocess.run(
        ['protoc', '-I', PROTO, f'--{conversion}=fgnn.v1.{message}',
         *sorted(PROTO.glob('fgnn/v1/*.proto'))], input=content,
        capture_output=True, check=True, timeout=CALL_SECONDS).stdout


def start_call(socket, method, message, request, metadata=(), **who):
    """Sends a request, given as text; its answer is still to come.

    `method`: "JobService/GetJob"; `message`: the request's type; `metadata`:
    (key, value) pairs; `who`: words of subprocess.Popen().
    """
    body = protoc('encode', message, request.encode())
    answer = tempfile.TemporaryFile()
    headers = [('content-type', 'application/grpc'), ('te', 'trailers'),
               ('grpc-timeout', f'{CALL_SECONDS}S'), *metadata]
    words = [word for key, value in headers
             for word in ('--header', f'{key}: {value}')]
    curl = subprocess.Popen(
        ['curl', '--silent', '--max-time', str(CALL_SECONDS), '--unix-socket',
         socket, '--http2-prior-knowledge', '--include', *words,
         '--data-binary', '@-', f'http://localhost/fgnn.v1.{method}'],
        stdin=subprocess.PIPE, stdout=answer, cwd='/', **who)
    # One that cannot connect does not read.
    with contextlib.suppress(BrokenPipeError):
        curl.stdin.write(struct.pack('>BI', 0, len(body)) + body)
        curl.stdin.close()
    return curl, answer


def finish_call(call):
    """(status code, bytes of the response, or message of the error); Lost."""
    curl, answer = call
    with answer:
        curl.wait(timeout=2 * CALL_SECONDS)
        answer.seek(0)
        content = answer.read()
    status = re.search(rb'grpc-status: (\d+)\r\n', content)
    if status is None or status[1] == b'14':  # The peer went away.
        raise Lost(f'curl ended with {curl.returncode}: {content[:200]!r}')
    if status[1] != b'0':
        message = re.search(rb'grpc-message: ([^\r]*)', content)
        return int(status[1]), message[1].decode() if message else ''
    # Headers, an empty line, five bytes of a frame, the message, trailers.
    frame = content[content.index(b'\r\n\r\n') + 4:]
    size, = struct.unpack('>I', frame[1:5])
    return 0, frame[5:5 + size]


def call(socket, method, message, request, metadata=(), **who):
    """The outcome of one call, as that of finish_call()."""
    return finish_call(start_call(socket, method, message, request, metadata,
                                  **who))


def start_submit(socket, request):
    """Sends a SubmitJobRequest, given as text; its answer is still to come."""
    return start_call(socket, 'JobService/SubmitJob', 'SubmitJobRequest',
                      request)


def finish_submit(submission):
    """(status code, job id or message) of a submission; raises Lost."""
    status, content = finish_call(submission)
    if status != 0:
        return status, content
    text = protoc('decode', 'SubmitJobResponse', content).decode()
    return 0, re.search(r'job_id: "([^"]+)"', text)[1]
