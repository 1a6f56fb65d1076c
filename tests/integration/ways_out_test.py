"""Types the way out of every error text that has one.

ways_out/*.txt has the rows; ways_out/README.md says how to write one. A row brings
an error, checks its words, types what they advise, and checks what comes of it. A
scan of the sources then finds the texts with a way out that no row has printed, and
that ways_out/untried.txt does not name with a reason.
"""

import ast
from concurrent import futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TABLE = pathlib.Path(__file__).resolve().parent / 'ways_out'

LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
# Of the command that brings an error: 0 where it brings a note.
CODES = {'$': 2, '$1': 1, '$0': 0}
# What begins a way out. A text that begins with a capital is a help text, one
# with {} a line of a log.
WAY_OUT = re.compile(
    r"; (?:$|'|--|[a-z])|'fgnn [a-z]|\b(?:chmod|chown|setfacl|ulimit|sysctl|"
    r'usermod|apt-get)\b|did you mean')
# What stands behind a semicolon and is no way out: what is, or what is wanted.
FACT = re.compile((TABLE / 'facts.txt').read_text(encoding='utf-8')
                  .strip().replace('\n', '|'))


class Row:
    """words: the error has them; `…` stands for anything. error: the commands
    that bring it, of which the last one fails with `code`. ways: (command,
    what it prints)."""

    def __init__(self, place, words):
        self.place, self.words = place, words
        self.error, self.code, self.ways = [], 2, []


def read_rows(file):
    rows = []
    lines = file.read_text(encoding='utf-8').splitlines()
    for number, line in enumerate(lines, 1):
        mark, _, rest = line.partition(' ')
        if mark == '##':
            rows.append(Row(f'{file.name}:{number}', rest))
        elif mark in CODES:
            rows[-1].error.append(rest)
            rows[-1].code = CODES[mark]
        elif mark == '>':
            rows[-1].ways.append([rest, ''])
        elif mark == '=':
            rows[-1].ways[-1][1] = rest
        elif line and mark != '#':
            raise AssertionError(f'{file.name}:{number}: {line}')
    return rows


def pattern_of(words):
    """Matches the words; `…`, and {} or %s of a source, stand for anything."""
    parts = re.split(r'…|%[-.0-9]*l*[a-z]', words)
    return re.compile('.*'.join(re.escape(part.strip('\n')) for part in parts))


def is_way_out(text):
    facts = text.split('; ')[1:]
    return bool(WAY_OUT.search(text)) and not (
        facts and all(FACT.match(part) for part in facts))


def texts_of(file):
    """(line, text) of the literals of a C++ file that may have a way out."""
    source = file.read_text(encoding='utf-8')
    source = re.sub(r'^[ \t]*//.*$', '', source, flags=re.M)
    for found in LITERALS.finditer(source):
        text = ''.join(LITERAL.findall(found.group()))
        text = text.replace('\\n', '\n').replace('\\"', '"').replace(
            '\\\\', '\\').strip('\n')
        if not text[:1].isupper() and '{}' not in text and is_way_out(text):
            yield source.count('\n', 0, found.start()) + 1, text


def texts_of_python(file):
    """The same of a Python file, whose documentation has none."""
    tree = ast.parse(file.read_text(encoding='utf-8'))
    nodes = list(ast.walk(tree))
    left_out = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    left_out |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr)
                 for part in node.values}
    for node in nodes:
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        if id(node) in left_out or not isinstance(
                node, (ast.JoinedStr, ast.Constant)):
            continue
        text = ''.join(
            part.value if isinstance(part, ast.Constant) and
            isinstance(part.value, str) else '…' for part in parts)
        if is_way_out(text):
            yield node.lineno, text.strip('…')


def texts_of_script(file):
    """The same of what a script of bash fails with."""
    for number, line in enumerate(
            file.read_text(encoding='utf-8').splitlines(), 1):
        for text in re.findall(r"""fail (?:"(.*?)"|'(.*?)')""", line):
            text = re.sub(r'\$(\w+|\{.*?\})', '…', ''.join(text)).strip('…')
            if is_way_out(text):
                yield number, text


SCANNED = {'.cc': texts_of, '.h': texts_of, '.cu': texts_of, '.cuh': texts_of,
           '.py': texts_of_python, '': texts_of_script}


def covers(words, text):
    """Whether the words of a row are those of a text of the sources: they have
    all of it, or a part that only one text can have."""
    if pattern_of(text.strip()).search(words):
        return True
    return any(len(part) > 24 and WAY_OUT.search(part) and part in text
               for part in words.split('…'))


def ways_in_sources():
    files = subprocess.run(
        ['git', 'ls-files', '*.cc', '*.h', '*.cu', '*.cuh',
         'tools/python/src/*.py', 'tools/fgnn-*'], cwd=ROOT,
        check=True, capture_output=True, text=True).stdout.split()
    for name in files:
        if not name.startswith('tests/') and (ROOT / name).exists():
            scan = SCANNED[pathlib.PurePath(name).suffix]
            for line, text in scan(ROOT / name):
                yield name, line, text


class WaysOutTest(unittest.TestCase):
    """Each row has a folder of its own, which is a copy of `base`: e.txt, g (a
    dataset), job.yaml, and what setup.sh makes. All share the functions of
    functions.sh."""

    @classmethod
    def setUpClass(cls):
        # Sockets have short names.
        cls.folder = pathlib.Path(
            tempfile.mkdtemp(prefix='fgnn-wo-', dir='/tmp'))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.base = cls.folder / 'base'
        cls.base.mkdir()
        made = cls.run_lines(cls.base, [(TABLE / 'setup.sh').read_text()])
        assert made.returncode == 0, made.stderr

    @classmethod
    def run_lines(cls, folder, lines):
        """Runs lines of bash; `set -e` but for the last one's own code."""
        script = '. "$FUNCTIONS"\nset -e\n' + '\n'.join(lines)
        environment = {
            **os.environ, 'FGNN_STATE_DIR': str(folder / 'state'),
            'FUNCTIONS': str(TABLE / 'functions.sh'), 'LC_ALL': 'C.UTF-8',
            'TESTS': str(TABLE.parent), 'SITE': str(cls.folder / 'site'),
            'PYTHON': str(ROOT / '.deps/python/bin/python'),
            'PATH': f"{harness.BIN_DIR.resolve()}:{ROOT / 'tools'}:"
                    f"{os.environ['PATH']}"}
        return subprocess.run(
            ['bash', '-c', script], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False, timeout=harness.COMMAND_SECONDS)

    def type_row(self, row):
        if os.geteuid() != 0 and re.search(r'setpriv|member |chown', ' '.join(row.error)):
            self.skipTest('a row with another user needs root')
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        subprocess.run(['cp', '-a', f'{self.base}/.', folder], check=True)
        try:
            failed = self.run_lines(folder, row.error)
            # Files that are gone by then name nothing.
            self.assertNotRegex(failed.stderr, r'\.partial-|\.tmp\b|\.new\.')
            said = failed.stderr + ('' if row.code else failed.stdout)
            self.assertRegex(said, pattern_of(row.words))
            self.assertEqual(failed.returncode, row.code, failed.stderr)
            for command, result in row.ways:
                done = self.run_lines(folder, [command])
                self.assertEqual(done.returncode, 0,
                                 f'{command}: {done.stderr}')
                self.assertRegex(done.stdout + done.stderr,
                                 pattern_of(result), command)
        finally:
            if (folder / 'state/fgnn.lock').exists():
                self.run_lines(folder, ['fgnn down --force'])
            shutil.rmtree(folder, ignore_errors=True)

    def type_rows(self, name):
        """Two rows at a time: commands wait more than they compute."""
        rows = read_rows(TABLE / f'{name}.txt')
        with futures.ThreadPoolExecutor(2) as pool:
            typed = [pool.submit(self.type_row, row) for row in rows]
        for row, end in zip(rows, typed):
            with self.subTest(f'{row.place}: {row.words}'):
                end.result()

    def test_fields(self):
        self.type_rows('fields')

    def test_importers(self):
        self.type_rows('importers')

    def test_datasets(self):
        self.type_rows('datasets')

    def test_commands(self):
        self.type_rows('commands')

    def test_service(self):
        self.type_rows('service')

    def test_port(self):
        self.type_rows('port')

    def test_rights(self):
        self.type_rows('rights')

    def test_python(self):
        # The package as its user has it, for `py` of functions.sh.
        subprocess.run(
            [sys.executable, '-B', '-c', 'import python_package, shutil, sys; '
             'assert python_package.load(); '
             'shutil.copytree(python_package.SITE, sys.argv[1])',
             self.folder / 'site'], cwd=TABLE.parent, check=True,
            capture_output=True)
        self.type_rows('python')

    def test_every_way_out_has_a_row(self):
        words = [row.words for file in TABLE.glob('*.txt')
                 if file.name not in ('facts.txt', 'untried.txt')
                 for row in read_rows(file)]
        untried = [line.split(' | ') for line in
                   (TABLE / 'untried.txt').read_text().splitlines()
                   if line and line[0] != '#']
        used = set()
        for name, line, text in ways_in_sources():
            if any(covers(row, text) for row in words):
                continue
            fits = [i for i, (file, part, _) in enumerate(untried)
                    if pathlib.PurePath(name).match(file) and part in text]
            used.update(fits)
            with self.subTest(f'{name}:{line}'):
                self.assertTrue(fits, f'no row in ways_out types: {text}')
        for i, exception in enumerate(untried):
            with self.subTest(exception):
                self.assertIn(i, used, 'no text needs this line any more')
