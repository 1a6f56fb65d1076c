"""Vertices of two kinds that count apart, from their import to predictions."""

import random

from predictions_test import PredictTest, rows_of


class KindsTest(PredictTest):
    """Users and movies that both count from 1."""

    users, movies = 30, 40

    def setUp(self):
        super().setUp()
        draws = random.Random(3)
        folder = self.service.folder
        likes = [(draws.randrange(1, self.users + 1),
                  draws.randrange(1, self.movies + 1)) for _ in range(300)]
        (folder / 'likes.csv').write_text('userId,movieId\n' + ''.join(
            f'{user},{movie}\n' for user, movie in likes))
        for kind, count in (('userId', self.users), ('movieId', self.movies)):
            (folder / f'{kind}.csv').write_text(
                f'{kind},x,label\n' + ''.join(
                    f'{i},{draws.gauss(i % 2, 1):.3f},{i % 2}\n'
                    for i in range(1, count + 1)))
        self.service.dataset = folder / 'likes'
        self.service.fgnn(
            'dataset', 'import', 'csv', folder / 'likes.csv',
            '--source-column', 'userId', '--destination-column', 'movieId',
            '--bipartite', '--nodes', folder / 'userId.csv', '--nodes',
            folder / 'movieId.csv', '--train-fraction', '0.5', '--out',
            self.service.dataset)

    def lines(self, *lines):
        path = self.service.folder / 'chosen.txt'
        path.write_text(''.join(f'{line}\n' for line in lines))
        return str(path)

    def test_classes_are_of_a_kind_and_an_id(self):
        run = self.service.run()
        self.predict(run)
        rows = rows_of(self.service.folder / 'out.csv')
        self.assertEqual(list(rows[0])[:4], ['vertex', 'kind', 'id', 'class'])
        names = (self.service.dataset / 'names.txt').read_text().splitlines()
        self.assertEqual(
            [(row['vertex'], f"{row['kind']}:{row['id']}") for row in rows],
            [(str(v), name) for v, name in enumerate(names)])
        self.assertEqual(len(set(names)), self.users + self.movies)
        for row in rows:
            self.assertEqual(int(row['label']), int(row['id']) % 2)

        chosen = self.lines('movieId:5', 'userId:5', '40')
        self.predict(run, '--vertices', chosen)
        self.assertEqual(
            [(row['kind'], row['id'])
             for row in rows_of(self.service.folder / 'out.csv')],
            [('movieId', '5'), ('userId', '5'), ('movieId', '40')])
        for line, parts in (
                ('5', ("is '5'", 'userId:5 or movieId:5',
                       'write the whole name')),
                ('41', ("'41' is no vertex", 'such as ')),
                ('userId:40', ("'userId:40' is no vertex", 'names.txt'))):
            chosen = self.lines('userId:5', line)
            self.assert_refused(run, ['--vertices', chosen],
                                f'{chosen}: line 2 ', *parts)

    def test_links_are_of_kinds_and_ids(self):
        split = self.service.folder / 'split'
        self.service.fgnn('dataset', 'split-edges', self.service.dataset,
                          '--out', split)
        self.service.dataset = split
        run = self.service.run({'training.task': 'link_prediction'})
        pairs = self.lines('userId:5,movieId:5', '"userId:6" 40')
        self.predict(run, '--what', 'scores', '--pairs', pairs)
        self.assertEqual(
            [(row['source_kind'], row['source_id'], row['destination_kind'],
              row['destination_id'])
             for row in rows_of(self.service.folder / 'out.csv')],
            [('userId', '5', 'movieId', '5'),
             ('userId', '6', 'movieId', '40')])
        self.assert_refused(
            run, ['--what', 'scores', '--pairs', self.lines('userId:5 6')],
            'userId:6 or movieId:6')
        self.predict(run, '--what', 'neighbours', '--vertices',
                     self.lines('userId:5'), '--top-k', '2')
        rows = rows_of(self.service.folder / 'out.csv')
        self.assertEqual(list(rows[0])[:7], [
            'vertex', 'kind', 'id', 'rank', 'neighbour', 'neighbour_kind',
            'neighbour_id'])
        names = (split / 'names.txt').read_text().splitlines()
        for row in rows:
            self.assertEqual((row['kind'], row['id']), ('userId', '5'))
            self.assertEqual(f"{row['neighbour_kind']}:{row['neighbour_id']}",
                             names[int(row['neighbour'])])
