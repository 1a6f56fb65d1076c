"""Calls to the service as any program may make them, without its client."""

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
         'fgnn/v1/job_service.proto'], input=content, capture_output=True,
        check=True, timeout=CALL_SECONDS).stdout


def start_submit(socket, request):
    """Sends a SubmitJobRequest, given as text; its answer is still to come."""
    body = protoc('encode', 'SubmitJobRequest', request.encode())
    answer = tempfile.TemporaryFile()
    curl = subprocess.Popen(
        ['curl', '--silent', '--max-time', str(CALL_SECONDS), '--unix-socket',
         socket, '--http2-prior-knowledge', '--include',
         '--header', 'content-type: application/grpc',
         '--header', 'te: trailers',
         '--header', f'grpc-timeout: {CALL_SECONDS}S', '--data-binary', '@-',
         'http://localhost/fgnn.v1.JobService/SubmitJob'],
        stdin=subprocess.PIPE, stdout=answer)
    curl.stdin.write(struct.pack('>BI', 0, len(body)) + body)
    curl.stdin.close()
    return curl, answer


def finish_submit(call):
    """(status code, job id or message) of a call; raises Lost."""
    curl, answer = call
    with answer:
        curl.wait(timeout=2 * CALL_SECONDS)
        answer.seek(0)
        content = answer.read()
    status = re.search(rb'grpc-status: (\d+)\r\n', content)
    if status is None or status[1] == b'14':  # The peer went away.
        raise Lost(content[:200])
    if status[1] != b'0':
        message = re.search(rb'grpc-message: ([^\r]*)', content)
        return int(status[1]), message[1].decode() if message else ''
    # Headers, an empty line, five bytes of a frame, the message, trailers.
    frame = content[content.index(b'\r\n\r\n') + 4:]
    size, = struct.unpack('>I', frame[1:5])
    text = protoc('decode', 'SubmitJobResponse', frame[5:5 + size]).decode()
    return 0, re.search(r'job_id: "([^"]+)"', text)[1]
