// What the page knows, and the parts that several views have.

import {h, lane, s} from './charts.js';
import * as words from './words.js';

// `status`: the last answer of /api/status. `older`: jobs that ended before those in it. `details`:
// answers of /api/job by id, or {error}. `failures`: requests in a row without an answer.
export const state = {status: null, older: [], hasOlder: true, details: new Map(), failures: 0, lastMs: 0, error: null};

export const byId = (id) => document.getElementById(id);
export const linkTo = (job) => h('a', {href: `#job=${encodeURIComponent(job.job_id)}`}, words.nameOf(job));

export function allJobs() {
  const {running, queued, paused, ended} = state.status;
  return [...running, ...queued, ...paused, ...ended, ...state.older];
}

export const tookText = (job) => (job.run_seconds > 0 ? words.seconds(job.run_seconds) : '–');

// The job as it is now: the newest status is newer than its details.
export const newest = (details) => ({...details.job, ...(allJobs().find((job) => job.job_id === details.job.job_id) ?? {})});

export function section(title, beside, ...content) {
  return h('section', {'aria-label': title}, h('div', {class: 'head'}, h('h2', {}, title), beside), content);
}

export function table(caption, columns, rows) {
  const heads = columns.map(([name, style]) => h('th', {scope: 'col', class: style}, name));
  const body = rows.map((row) => h('tr', {class: row.class},
      row.cells.map((cell, i) => h('td', {class: columns[i][1]}, cell))));
  return h('div', {class: 'scroll'}, h('table', {'aria-label': caption},
      h('thead', {}, h('tr', {}, heads)), h('tbody', {}, body)));
}

export const stateText = (job) => h('span', {class: job.state === 'failed' ? 'state bad' : 'state'}, job.state);
export const epochsText = (job) => `${words.count(job.progress.epochs_done)} of ${words.count(job.progress.epochs)}`;

export function queueText(job) {
  const queue = state.status.queues.find((one) => one.job_id === job.job_id);
  if (!queue) return '–';
  return `${queue.ready} of ${queue.free + queue.writing + queue.ready + queue.reading} ready`;
}

function figure(name, value) {
  return h('div', {}, h('dt', {}, name), h('dd', {}, value));
}

export function runningCard(job) {
  const {progress} = job;
  const share = progress.batches_expected > 0 ? progress.batches_committed / progress.batches_expected : 0;
  const valid = words.comparedScore(progress.valid);
  const left = progress.seconds_left >= 0 && progress.batches_committed > 0 ? `${words.seconds(progress.seconds_left)} left` : '';
  return h('article', {class: 'job', 'aria-label': words.nameOf(job)},
      h('div', {class: 'title'}, linkTo(job), h('span', {class: 'soft'}, [job.user, job.devices.join(' ')].filter(Boolean).join(' · '))),
      h('div', {class: 'bar'},
          h('progress', {max: 1, value: share, 'aria-label': `${words.nameOf(job)}: ${words.percent(share)}`}),
          h('span', {}, words.percent(share, share < 0.0995 ? 1 : 0))),
      h('p', {class: 'note'}, [progress.phase || job.state, `${epochsText(job)} epochs`, left].filter(Boolean).join(' · ')),
      ...[progress.warning, progress.checkpoint_warning].filter(Boolean).map((text) => h('p', {class: 'note bad'}, text)),
      h('dl', {class: 'figures'},
          figure('loss', progress.batches_committed > 0 ? progress.loss.toFixed(4) : '–'),
          figure(valid ? `valid ${words.scoreWords(valid.name)}` : 'valid', valid ? valid.text : '–'),
          figure('edges', words.rate(progress.edges_per_second)),
          figure('queue', queueText(job)),
          figure('batches', words.count(progress.batches_committed)),
          figure('took', tookText(job)),
          figure('restarts', String(progress.restarts)),
          figure('priority', String(job.priority))));
}

const width = () => byId('view').clientWidth;
export const laneWidth = () => (width() > 690 ? width() - 180 : width());

export function columnWidth(least) {
  const columns = Math.max(1, Math.floor((width() + 26) / (least + 26)));
  return Math.floor((width() - 26 * (columns - 1)) / columns);
}

// The scale of bars: nearly all are below it, and those above are cut off.
export function scaleOf(counts) {
  const known = counts.filter((count) => count > 0).sort((one, other) => one - other);
  return known.length === 0 ? 1 : known[Math.floor((known.length - 1) * 0.96)];
}

export function laneKeys(unit) {
  const box = (colour) => s('svg', {class: 'key', width: 10, height: 10, 'aria-hidden': 'true'}, s('rect', {class: `fill-${colour}`, width: 10, height: 10}));
  return h('p', {class: 'keys'}, h('span', {}, box('one'), 'sampled, upwards'), h('span', {}, box('two'), 'trained, downwards'),
      h('span', {class: 'soft'}, unit));
}

export function deviceLane(name, beside, device, most) {
  return h('div', {class: 'lane'}, h('p', {}, h('strong', {}, name), ' ', h('span', {class: 'soft'}, beside)), lane(device, most, laneWidth()));
}
