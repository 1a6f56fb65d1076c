"""Services on other machines, as shared/rpc/remote_channel.h says."""

import dataclasses
import os
import pathlib
import pwd
import socket
import ssl

import grpc

from fgnn import errors

_PATIENCE_SECONDS = 5.0
_MOMENT_SECONDS = 0.3
_MOST_BYTES = 16384
_GOAWAY = 7  # A frame of HTTP/2.
# OpenSSL's names of what a peer causes that sends something else than TLS.
_NO_TLS = ('WRONG_VERSION_NUMBER', 'BAD_RECORD_TYPE', 'HTTP_REQUEST',
           'PACKET_LENGTH_TOO_LONG', 'UNKNOWN_PROTOCOL')


def default_tls_dir() -> pathlib.Path:
    """$FGNN_TLS_DIR, else fgnn in the user's folder of settings."""
    if named := os.environ.get('FGNN_TLS_DIR'):
        return pathlib.Path(named)
    if config := os.environ.get('XDG_CONFIG_HOME'):
        return pathlib.Path(config) / 'fgnn'
    return pathlib.Path.home() / '.config/fgnn'


@dataclasses.dataclass(frozen=True)
class Remote:
    """HOST:PORT of a service, and the folder with ca.pem, and user.pem and
    user.key or token. `insecure` speaks in the clear."""
    server: str
    tls_dir: pathlib.Path
    insecure: bool = False

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What goes with each call."""
        token = self.tls_dir / 'token'
        if not _is_there(token):
            return ()
        try:
            word = _secret(token).decode('ascii').strip()
        except UnicodeDecodeError:
            raise errors.InvalidJob(f'{token} holds no token') from None
        return (('authorization', f'Bearer {word}'),)

    def credentials(self) -> grpc.ChannelCredentials | None:
        """None: in the clear. NotFound: the folder lacks something.
        PermissionDenied: this user may not read it, or others can read a
        secret in it."""
        certificate = self.tls_dir / 'user.pem'
        with_certificate = not self.insecure and _is_there(certificate)
        if not with_certificate and not _is_there(self.tls_dir / 'token'):
            raise errors.NotFound(
                f'{self.tls_dir} has neither user.pem with user.key nor '
                f'token, so the service at {self.server} would not know who '
                "calls; its operator makes them with 'fgnn-certificates'")
        if self.insecure:
            return None
        authority = self.tls_dir / 'ca.pem'
        if not _is_there(authority):
            raise errors.NotFound(
                f'{self.tls_dir} has no ca.pem, so the service at '
                f'{self.server} could be anybody; copy ca.pem from its folder '
                'of certificates, or name another tls_dir')
        if not with_certificate:
            return grpc.ssl_channel_credentials(_read(authority))
        return grpc.ssl_channel_credentials(
            _read(authority), _secret(self.tls_dir / 'user.key'),
            _read(certificate))

    def explain(self) -> errors.Error | None:
        """Why no connection can be made; None: one can. gRPC says only that
        it failed."""
        host, _, port = self.server.rpartition(':')
        host = host.removeprefix('[').removesuffix(']')
        if (not port.isascii() or not port.isdigit() or len(port) > 5 or
                not 0 < int(port) < 65536 or not host):
            return errors.InvalidJob(
                f"server is '{self.server}', must be like gpu1:7070")
        try:
            with socket.create_connection((host, int(port)),
                                          _PATIENCE_SECONDS) as connection:
                if self.insecure:
                    return None
                context = ssl.create_default_context(
                    cafile=str(self.tls_dir / 'ca.pem'))
                context.set_alpn_protocols(['h2'])
                if _is_there(self.tls_dir / 'user.pem'):
                    context.load_cert_chain(self.tls_dir / 'user.pem',
                                            self.tls_dir / 'user.key')
                with context.wrap_socket(connection,
                                         server_hostname=host) as stream:
                    why = _leave_of(stream)
                    return errors.Unauthenticated(why) if why else None
        except ssl.SSLCertVerificationError as error:
            return errors.WrongState(
                f'the certificate of the service at {self.server} is refused: '
                f'{error.verify_message}')
        # Whoever cuts a connection must not lead anybody to speak in the clear.
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionResetError,
                BrokenPipeError):
            return errors.Unavailable(
                f'the service at {self.server} closed the connection before '
                'TLS was set up; the service may be full or just starting: try '
                'again')
        except ssl.SSLError as error:
            if error.reason not in _NO_TLS:
                return errors.WrongState(
                    f'TLS with the service at {self.server} failed: {error}')
            return errors.WrongState(
                f'the service at {self.server} does not speak TLS; if it '
                'listens in the clear, and the network is closed, say '
                'insecure=True')
        # A name of a host that is none ends in a UnicodeError.
        except (OSError, ValueError) as error:
            return errors.Unavailable(
                f'no service answers on {self.server}: {error}')


def _leave_of(stream: ssl.SSLSocket) -> str:
    """What a service says that takes leave, the text of GOAWAY of HTTP/2;
    empty if it says nothing for a moment."""
    stream.settimeout(_MOMENT_SECONDS)
    heard = b''
    try:
        while len(heard) < _MOST_BYTES and (some := stream.recv(4096)):
            heard += some
    except (OSError, ValueError):
        pass
    while len(heard) >= 9:
        size = int.from_bytes(heard[:3], 'big')
        if heard[3] == _GOAWAY and size > 8:
            return ''.join(
                each for each in heard[17:9 + size].decode('utf-8', 'replace')
                if each.isprintable())
        heard = heard[9 + size:]
    return ''


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f'uid {uid}'


def _is_there(path: pathlib.Path) -> bool:
    try:
        path.stat()
        return True
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:
        raise errors.PermissionDenied(
            f'{path.parent} is closed to {_user_name(os.geteuid())}; open it '
            'to this user, or name another tls_dir') from None


def _read(path: pathlib.Path) -> bytes:
    try:
        return path.read_bytes()
    except PermissionError:
        raise errors.PermissionDenied(
            f'{path} is closed to {_user_name(os.geteuid())}; give it to this '
            f'user: chown {_user_name(os.geteuid())} {path}') from None


def _secret(path: pathlib.Path) -> bytes:
    """The file, which its user alone may read."""
    if not _is_there(path):
        raise errors.NotFound(f'{path} is not there')
    status = path.stat()
    if status.st_uid != os.geteuid():
        raise errors.PermissionDenied(
            f'{path} is of user {_user_name(status.st_uid)}; give it to this '
            f'one: chown {_user_name(os.geteuid())} {path}')
    if status.st_mode & 0o077:
        raise errors.PermissionDenied(
            f'other users can read or write {path}; close it: chmod 600 {path}')
    return _read(path)
