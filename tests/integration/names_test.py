"""Names of classes and columns, from a table to the predictions."""

import csv

import harness


class NamesTest(harness.ServiceTest):

    def import_animals(self, name, animals, *words):
        """Imports a graph whose labels and features tell `animals` apart."""
        kinds = ('ant', 'bee', 'cat', 'dog', 'eel', 'fox')
        of_vertex = [animals[v % len(animals)] for v in range(240)]
        nodes = self.service.folder / f'{name}_nodes.csv'
        edges = self.service.folder / f'{name}_edges.csv'
        with open(nodes, 'w', encoding='utf-8') as file:
            print('id,label,split', *(f'is_{kind}' for kind in kinds),
                  sep=',', file=file)
            for v, animal in enumerate(of_vertex):
                print(v, animal, ('train', 'valid', 'test')[v // 80],
                      *(int(kind == animal) for kind in kinds), sep=',',
                      file=file)
        with open(edges, 'w', encoding='utf-8') as file:
            print('source,destination', file=file)
            for v in range(240):
                print(v, (v + len(animals)) % 240, sep=',', file=file)
        folder = self.service.folder / name
        self.service.fgnn('dataset', 'import', 'csv', str(edges), '--nodes',
                          str(nodes), '--symmetric', *words, '--out',
                          str(folder))
        return folder, of_vertex

    def predict(self, run, folder, out='out.csv', check=True):
        return self.service.fgnn(
            'predict', str(run), '--dataset', str(folder), '--out',
            str(self.service.folder / out), '--force', check=check)

    def predicted(self, run, folder):
        """(class, class_name) of each vertex, and what stderr says."""
        answer = self.predict(run, folder)
        with open(self.service.folder / 'out.csv', encoding='utf-8') as file:
            return ([(int(row['class']), row['class_name'])
                     for row in csv.DictReader(file)], answer.stderr)

    def test_classes_have_the_names_of_their_dataset(self):
        zoo, of_vertex = self.import_animals(
            'zoo', ('ant', 'bee', 'cat', 'dog', 'eel', 'fox'))
        run = self.service.run({
            'dataset': str(zoo), 'training.epochs': 30,
            'training.learning_rate': 0.05, 'model.dropout': 0})
        found, notices = self.predicted(run, zoo)
        self.assertEqual([name for _, name in found], of_vertex)
        self.assertNotIn('notice', notices)

        # Fewer classes, with other numbers.
        farm, of_vertex = self.import_animals('farm', ('bee', 'dog', 'fox'))
        found, notices = self.predicted(run, farm)
        self.assertEqual(found, [(('bee', 'dog', 'fox').index(name), name)
                                 for name in of_vertex])
        self.assertIn(f'numbered as in dataset {farm}', notices)
        self.assertIn('(ant, cat, eel)', notices)

        refusals = (
            # Its columns mean something else.
            (self.import_animals('odd', ('bee', 'dog'), '--feature-columns',
                                 'is_fox,is_bee,is_cat,is_dog,is_eel,is_ant'),
             ('feature column 0', "'is_fox'", "'is_ant'")),
            # None of its classes is known.
            (self.import_animals('sea', ('cod', 'ray')), ('cod, ray', 'ant')))
        for (folder, _), words in refusals:
            self.assert_refused(run, folder, *words)
        (farm / 'class_names.txt').unlink()
        self.assert_refused(run, farm, '6 classes', '3',
                            str(farm / 'class_names.txt'))

    def assert_refused(self, run, folder, *words):
        answer = self.predict(run, folder, 'refused.csv', check=False)
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertRegex(answer.stderr, r'\Afgnn: [^\n]+\n\Z')
        for word in words:
            self.assertIn(word, answer.stderr)
        self.assertFalse((self.service.folder / 'refused.csv').exists())
