// The epochs of one job, or of two side by side.

import {h, key, lineChart, s} from './charts.js';
import {allJobs, columnWidth, deviceLane, epochsText, laneKeys, linkTo, newest, runningCard, scaleOf, section, state, stateText, table,
  tookText} from './parts.js';
import * as words from './words.js';

function column(epochs, name) {
  const at = epochs.columns.indexOf(name);
  return epochs.rows.map((row) => (at < 0 ? null : row[at]));
}

// `runs`: [{job, epochs}].
export function charts(runs) {
  const chart = (title, unit, name, format, more) => {
    const lines = runs.map(({job, epochs}) => ({name: words.nameOf(job), xs: column(epochs, 'epoch'), ys: column(epochs, name)}));
    return lineChart({title, unit, xLabel: 'epoch', lines, format, empty: 'No epoch has ended yet.', ...more}, columnWidth(340));
  };
  const has = (name) => runs.some(({epochs}) => column(epochs, name).some((value) => value !== null));
  const scores = ['accuracy', 'mrr', 'mean_rank', 'rmse', 'r2', 'micro_f1'].filter((name) => has(`valid_${name}`));
  const isAbove = (name) => runs.some(({epochs}) => column(epochs, name).some((value) => value > 0));
  const hits = isAbove('cache_hit_rate');
  const matches = isAbove('match_rate');
  const remote = isAbove('rows_remote');
  return h('div', {class: 'charts'},
      chart('Loss', 'mean of an epoch', 'loss', (value) => value.toFixed(4)),
      scores.map((name) => chart(`Validation ${words.scoreWords(name)}`, name === 'accuracy' ? 'share of vertices' : '', `valid_${name}`,
          words.scoreFormat(name), {share: name === 'accuracy'})),
      hits ? chart('Cache hit rate', 'share of vertices read', 'cache_hit_rate', (value) => words.percent(value, 2), {share: true}) : null,
      matches ? chart('Match rate', "share of the cache's misses", 'match_rate', (value) => words.percent(value, 2), {share: true}) : null,
      hits || matches || remote ? chart('Rows loaded', 'rows of an epoch', 'rows_loaded', words.count, {fromZero: true}) : null,
      remote ? chart('Rows from other hosts', 'rows of an epoch', 'rows_remote', words.count, {fromZero: true}) : null,
      isAbove('message_bytes') ? chart('Rows between parts', 'bytes of an epoch', 'message_bytes', words.bytes, {fromZero: true}) : null,
      chart('Time', 'seconds of an epoch', 'seconds', words.seconds, {fromZero: true}),
      stageBars(runs));
}

function stageBars(runs) {
  const names = [...new Set(runs.flatMap(({epochs}) => Object.keys(epochs.stages)))]
      .filter((name) => runs.some(({epochs}) => epochs.stages[name] > 0));
  if (names.length === 0) return null;
  const mean = ({epochs}, name) => (epochs.stages[name] ?? 0) / Math.max(1, epochs.count);
  const most = Math.max(...names.flatMap((name) => runs.map((run) => mean(run, name))));
  const room = Math.max(60, columnWidth(340) - 190);
  const rows = names.map((name) => ({cells: [name,
    runs.map((run, i) => s('svg', {width: room, height: 18, 'aria-hidden': 'true'},
        s('rect', {class: `fill-${['one', 'two'][i]}`, y: 5, height: 8, rx: 1, width: Math.max(0.5, mean(run, name) / most * room)}))),
    runs.map((run) => h('div', {}, words.seconds(mean(run, name))))]}));
  return h('figure', {class: 'stages'}, h('figcaption', {}, h('h3', {}, 'Stages'), h('span', {class: 'soft'}, 'seconds of an epoch, over all executors')),
      table('Stages', [['stage', ''], ['', ''], ['mean', 'n']], rows));
}

function rolesByEpoch(epochs) {
  if (epochs.devices.length === 0) return null;
  const roles = epochs.devices.map((name, i) => {
    const rows = epochs.roles.map((row) => row[i] ?? ['', 0, 0]);
    return {name, plans: rows.map(([plan]) => [plan, 1]), sampled: rows.map((row) => row[1]), trained: rows.map((row) => row[2])};
  });
  const most = scaleOf(roles.flatMap((role) => [...role.sampled, ...role.trained]));
  return section('Devices', h('span', {class: 'soft'}, 'by epoch'), laneKeys(`batches of an epoch, full height ${words.count(most)}`),
      roles.map((role) => deviceLane(role.name, (role.plans.at(-1)?.[0] ?? '').replace('_', ' '),
          {...role, label: `${role.name}: batches that it sampled and trained in each epoch`}, most)));
}

function facts(job) {
  const {progress} = job;
  const line = (name, value) => (value === '' || value === null || value === undefined ? null : [h('dt', {}, name), h('dd', {}, value)]);
  const phase = progress.phase && !job.finished_ms ? ` (${progress.phase})` : '';
  return h('dl', {class: 'facts'},
      line('job', job.job_id), line('state', [stateText(job), phase]),
      line(job.state === 'failed' ? 'error' : 'failed before', job.error_message), line('warning', progress.warning),
      line('checkpoints', progress.checkpoint_warning),
      line('waiting', job.waiting_for), line('name', job.name), line('user', job.user || '–'), line('priority', job.priority),
      line('after', job.after.join(', ')), job.retries || job.attempts ? line('failed starts', `${job.attempts}, retries ${job.retries}`) : null,
      job.time_limit_seconds ? line('time limit', words.seconds(job.time_limit_seconds)) : null,
      job.preemptions ? line('gave way', `${job.preemptions} times`) : null,
      line('has devices', job.devices.join(' ')), line('dataset', job.dataset),
      job.parts > 1 ? line('parts', `${job.parts} of each batch`) : null, line('run folder', job.run_dir),
      line('submitted', words.when(job.submitted_ms)), line('started', words.when(job.started_ms)), line('finished', words.when(job.finished_ms)),
      line('took', tookText(job)), line('epochs', epochsText(job)),
      line('batches', `${words.count(progress.batches_committed)} of ${words.count(progress.batches_expected)}`),
      line('loss', progress.loss.toFixed(4)),
      words.allScores(progress.valid).map(([name, text]) => line(`valid ${name}`, text)),
      words.allScores(progress.test).map(([name, text]) => line(`test ${name}`, text)),
      line('restarts', progress.restarts));
}

const compare = (one, other) => { location.hash = `compare=${encodeURIComponent(`${one},${other}`)}`; };

function chooser(id, label, chosen, without, onChoice) {
  const jobs = allJobs().filter((job) => job.job_id !== without && job.progress.epochs_done > 0);
  const text = (job) => `${words.nameOf(job)}${job.name ? `, ${job.job_id}` : ''} (${job.state})`;
  const options = jobs.map((job) => h('option', {value: job.job_id, selected: job.job_id === chosen}, text(job)));
  if (chosen && !jobs.some((job) => job.job_id === chosen)) options.unshift(h('option', {value: chosen, selected: true}, chosen));
  if (!chosen) options.unshift(h('option', {value: '', selected: true}, 'choose a job'));
  return h('label', {for: id}, label, ' ', h('select', {id, onchange: (event) => event.target.value && onChoice(event.target.value)}, options));
}

function missing(id, details) {
  return section('Job', h('span', {class: 'soft'}, id), h('p', {class: 'empty'}, details ? `${details.error}. ` : 'loading',
      details ? ['List the jobs with ', h('code', {}, 'fgnn jobs'), ', or go ', h('a', {href: '#'}, 'back to all jobs'), '.'] : null));
}

export function jobView(id) {
  const details = state.details.get(id);
  if (!details || details.error) return [missing(id, details)];
  const job = newest(details);
  const runs = [{job, epochs: details.epochs}];
  return [
    h('p', {class: 'note'}, h('a', {href: '#'}, '← all jobs')),
    state.status.running.some((one) => one.job_id === job.job_id) ? h('div', {class: 'jobs'}, runningCard(job)) : null,
    section(words.nameOf(job), [stateText(job), chooser('other', 'compare with', '', job.job_id, (other) => compare(job.job_id, other))],
        details.epochs_error ? h('p', {class: 'note bad'}, details.epochs_error) : null, charts(runs)),
    rolesByEpoch(details.epochs),
    section('Facts', h('span', {class: 'soft'}, 'as ', h('code', {}, `fgnn show ${job.job_id}`), ' prints them'), facts(job)),
    details.spec ? h('details', {}, h('summary', {}, 'Job file, with every field that was used'), h('pre', {tabindex: 0}, details.spec)) : null,
  ];
}

export function compareView(ids) {
  const all = ids.map((id) => state.details.get(id));
  const failed = ids.findIndex((id, i) => !all[i] || all[i].error);
  if (ids.length < 2 || failed >= 0) return [missing(ids[Math.max(0, failed)] ?? '', all[Math.max(0, failed)])];
  const runs = all.map((details) => ({job: newest(details), epochs: details.epochs, settings: words.settingsOf(details.spec)}));
  const names = [...new Set(runs.flatMap((run) => [...run.settings.keys()]))]
      .filter((name) => runs[0].settings.get(name) !== runs[1].settings.get(name));
  const scoreRows = (split) => {
    const known = runs.map(({job}) => new Map(words.allScores(job.progress[split])));
    return [...new Set(known.flatMap((map) => [...map.keys()]))].map((name) => [`${split} ${name}`, ...known.map((map) => map.get(name) ?? '–')]);
  };
  const rows = [
    ['state', ...runs.map(({job}) => stateText(job))], ['epochs', ...runs.map(({job}) => epochsText(job))],
    ['took', ...runs.map(({job}) => tookText(job))], ['loss', ...runs.map(({job}) => job.progress.loss.toFixed(4))],
    ...scoreRows('valid'), ...scoreRows('test')];
  const columns = (first) => [[first, ''], ...runs.map(({job}, i) => [[key(i), words.nameOf(job)], 'n name'])];
  return [
    h('p', {class: 'note'}, h('a', {href: '#'}, '← all jobs')),
    section('Two jobs', [chooser('first', '', ids[0], ids[1], (id) => compare(id, ids[1])),
      chooser('second', 'and', ids[1], ids[0], (id) => compare(ids[0], id))],
    h('p', {class: 'keys'}, runs.map(({job}, i) => h('span', {}, key(i), linkTo(job)))), charts(runs)),
    h('div', {class: 'two-columns'},
        section('Scores', null, table('Scores of both jobs', columns('score'), rows.map((cells) => ({cells})))),
        section('Settings that differ', null, names.length === 0 ? h('p', {class: 'empty'}, 'None: both job files say the same.') :
          table('Settings that differ', columns('field'), names.map((name) => ({cells: [name, ...runs.map((run) => run.settings.get(name) ?? '–')]}))))),
  ];
}
