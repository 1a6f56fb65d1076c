"""A service of a user of its own, and the others of the machine.

None of them has an account: they are numbers, and only root can be them.
"""

import contextlib
import json
import os
import pathlib
import resource
import subprocess

import harness
from row import Skipped, service_in

_GROUP = 64000
# Words of subprocess.run().
SERVICE = {'user': 64001, 'group': _GROUP, 'extra_groups': []}
# The same user, where the group of its service is not its own.
SERVICE_OF_A_GROUP = {'user': 64001, 'group': 64001, 'extra_groups': [_GROUP]}
OPEN_TO_GROUP = ('--socket-group', str(_GROUP))
MEMBER = {'user': 64002, 'group': 64002, 'extra_groups': [_GROUP]}
# Another one of the group.
COLLEAGUE = {'user': 64003, 'group': _GROUP, 'extra_groups': []}
OUTSIDER = {'user': 64004, 'group': 64004, 'extra_groups': []}


def needs_root(*needed):
    """`needed`: files that the other users have to read or execute."""
    if os.geteuid() != 0:
        raise Skipped('needs root, to be several users')
    for path in needed:
        readable = subprocess.run(['test', '-r', path], check=False,
                                  cwd='/', **OUTSIDER).returncode == 0
        if not readable:
            raise Skipped(f'other users cannot read {path}')


def needs_descriptors(needed):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < needed:
        raise Skipped(f'needs {needed} descriptors, the hard limit is {hard}')


def numbers_of(who):
    """As programs take them that become a user themselves."""
    if not who:
        return '-'
    return ','.join(map(str, (who['user'], who['group'],
                              *who['extra_groups'])))


class UsersService(harness.Service):
    """A service of SERVICE; commands are of root, unless told otherwise."""

    def json_as(self, who, *args):
        return json.loads(self.fgnn(*args, '--json', **who).stdout)

    def __init__(self, folder, user=None):
        super().__init__(folder)
        self.user = user or SERVICE

    def give(self, path, who=None):
        """Has all of `path` be owned by a user, by default that of the service."""
        owner = who or self.user
        for each in (path, *pathlib.Path(path).rglob('*')):
            os.chown(each, owner['user'], owner['group'],
                     follow_symlinks=False)

    def folder_of(self, who, name):
        """A new folder that only this user may write into."""
        folder = self.folder / name
        folder.mkdir()
        os.chown(folder, who['user'], who['group'])
        return folder


@contextlib.contextmanager
def service_of_a_user(options, user=None):
    """The folder of a service that is to be started as SERVICE, or `user`."""
    needs_root(options.bin / 'fgnn', options.bin / 'fgnn-trainer')
    with service_in(options) as plain:
        service = UsersService(plain.folder, user)
        # A home, as those of service users are: others may look in.
        service.folder.chmod(0o755)
        service.give(service.folder)
        # Job files are root's, and read by all.
        yield service
