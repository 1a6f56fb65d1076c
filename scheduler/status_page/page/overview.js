// All jobs and all devices.

import {h, strip} from './charts.js';
import {deviceLane, epochsText, laneKeys, laneWidth, linkTo, newest, queueText, runningCard, scaleOf, section, state, stateText, table,
  tookText} from './parts.js';
import {charts} from './runs.js';
import * as words from './words.js';

// The job whose curves the overview shows.
export function shownJob() {
  const {running, ended} = state.status;
  const trained = (job) => job.progress.epochs_done > 0 || job.progress.batches_committed > 0;
  return running.find(trained) ?? ended.find(trained) ?? null;
}

function runningSection() {
  const {running} = state.status;
  const none = h('p', {class: 'empty'}, 'No job runs. ', h('code', {}, 'fgnn submit job.yaml'), ' queues one.');
  return section('Running', h('span', {class: 'soft'}, String(state.status.jobs_running)),
      running.length === 0 ? none : h('div', {class: 'jobs'}, running.map(runningCard)));
}

function queueSection() {
  const {queued, paused, jobs_queued: number, jobs_paused: numPaused} = state.status;
  const rows = [...queued.map((job, i) => [String(i + 1), job, job.waiting_for]),
    ...paused.map((job) => ['–', job, 'paused; ‘fgnn resume’ goes on with it'])];
  const beside = h('span', {class: 'soft'}, numPaused ? `${number}, and ${numPaused} paused` : String(number));
  if (rows.length === 0) return section('Waiting', beside, h('p', {class: 'empty'}, 'No job waits.'));
  const more = number - queued.length;
  return section('Waiting', beside,
      table('Jobs that wait, in the order in which they would start',
          [['order', 'n'], ['job', 'name'], ['why it waits', 'long'], ['user', 'wide'], ['priority', 'n wide'], ['submitted', 'n wide']],
          rows.map(([order, job, why]) => ({cells: [order, linkTo(job), why, job.user || '–', job.priority, words.when(job.submitted_ms)]}))),
      more > 0 ? h('p', {class: 'note'}, `${words.count(more)} more wait behind them: `, h('code', {}, 'fgnn jobs --state queued')) : null);
}

function endedSection(showOlder) {
  const jobs = [...state.status.ended, ...state.older];
  if (jobs.length === 0) return section('Ended', null, h('p', {class: 'empty'}, 'No job has ended yet.'));
  const hasFailed = jobs.some((job) => job.state === 'failed');
  const score = (scores) => {
    const found = words.comparedScore(scores);
    if (!found) return '–';
    return found.name === 'accuracy' ? found.text : `${words.scoreWords(found.name)} ${found.text}`;
  };
  return section('Ended', h('span', {class: 'soft'}, 'newest first'),
      table('Jobs that ended', [['job', 'name'], ['state', ''], ['epochs', 'n wide'], ['valid', 'n wide'], ['test', 'n'], ['took', 'n'],
        ['loss', 'n wide'], ['user', 'wide'], ['finished', 'n wide'], ...(hasFailed ? [['why', 'long wide']] : [])],
      jobs.map((job) => ({cells: [linkTo(job), stateText(job), epochsText(job), score(job.progress.valid), score(job.progress.test),
        tookText(job), job.progress.batches_committed ? job.progress.loss.toFixed(4) : '–', job.user || '–',
        words.when(job.finished_ms), ...(hasFailed ? [job.state === 'failed' ? job.error_message : ''] : [])]}))),
      state.hasOlder && jobs.length >= 30 ? h('p', {}, h('button', {type: 'button', onclick: showOlder}, 'Show older jobs')) : null);
}

// The fill of the running jobs' global queues, below the devices that fill and empty them.
function queueLanes() {
  const {history, running} = state.status;
  return history.queues.map((queue) => {
    const job = running.find((one) => one.job_id === queue.job_id);
    if (!job) return null;
    const now = queueText(job);
    return h('div', {class: 'lane'}, h('p', {}, h('strong', {}, 'queue'), ' ', h('span', {class: 'soft'}, `${now} · ${words.nameOf(job)}`)),
        strip(queue.ready, Math.max(1, queue.slots), `Global queue of ${words.nameOf(job)}: ${now}`, laneWidth()));
  });
}

function executors() {
  const rows = state.status.executors.map((one) => ({cells: [one.name, one.device, one.state, one.job_id || '–', one.pid || '–',
    words.count(one.batches), one.restarts, words.bytes(one.resident_bytes)]}));
  if (rows.length === 0) return null;
  return h('details', {}, h('summary', {}, `${rows.length} executors`),
      table('Executors', [['executor', ''], ['device', ''], ['state', ''], ['job', 'wide'], ['pid', 'n wide'], ['batches', 'n'], ['restarts', 'n'],
        ['memory', 'n']], rows));
}

function devicesSection() {
  const {devices, history, running} = state.status;
  const times = history.times_ms;
  const minutes = times.length > 1 ? (times.at(-1) - times[0]) / 1000 : 0;
  const most = scaleOf(history.devices.flatMap((device) => [...device.sampled, ...device.trained]));
  const lanes = devices.map((device) => {
    const past = history.devices.find((one) => one.device === device.name);
    if (!past) return null;
    const job = running.find((one) => one.job_id === device.job_id);
    const role = device.plan ? device.plan.replace('_', ' ') + (device.by_hand ? ' (by hand)' : '') : '';
    const beside = device.job_id ? [role, job ? words.nameOf(job) : device.job_id].filter(Boolean).join(' · ') : 'no job';
    const sum = (counts) => words.count(counts.reduce((all, one) => all + one, 0));
    return deviceLane(device.name, beside, {sampled: past.sampled, trained: past.trained, plans: past.plan,
      label: `${device.name}, ${beside}: ${sum(past.sampled)} batches sampled and ${sum(past.trained)} trained in the last ${words.seconds(minutes)}`}, most);
  });
  const takesTurns = devices.some((device) => device.sample_ms > 0 || device.train_ms > 0);
  const columns = [['device', ''], ['job', 'name wide'], ['plan', ''], ['works', 'wide'], ['sampled', 'n'], ['trained', 'n'],
    ...(takesTurns ? [['Ts', 'n wide'], ['Tt', 'n wide'], ['Tt′', 'n wide'], ['wakes', 'n wide'], ['busy', 'n wide']] : [])];
  const rows = devices.map((device) => ({cells: [device.name, device.job_id || '–', (device.plan || '–').replace('_', ' '), device.works || '–',
    device.plan ? words.count(device.sampled) : '–', device.plan ? words.count(device.trained) : '–',
    ...(takesTurns ? [words.milliseconds(device.sample_ms), words.milliseconds(device.train_ms), words.milliseconds(device.standby_ms),
      words.count(device.wakes), device.plan ? words.percent(device.busy) : '–'] : [])]}));
  return section('Devices', h('span', {class: 'soft'}, minutes ? `the last ${words.seconds(minutes)}` : ''),
      laneKeys(`batches a second, full height ${words.count(most)}; the line between is the plan, grey for both roles`), lanes, queueLanes(),
      h('div', {class: 'lane time soft', 'aria-hidden': 'true'}, h('p', {}), h('div', {class: 'ends'},
          h('span', {}, minutes ? `${words.seconds(minutes)} ago` : ''), h('span', {}, 'now'))),
      table('Devices', columns, rows), executors());
}

function hostState(host) {
  if (host.state === 'silent') return `lost, silent for ${words.seconds(host.silent_seconds)}`;
  return host.state === 'left' ? 'has left' : 'here';
}

function linkCells(link) {
  if (link.error) return [link.from, link.to, link.error, '–', '–'];
  return [link.from, link.to, words.milliseconds(link.round_trip_ms), link.bytes_per_second ? `${words.bytes(link.bytes_per_second)}/s` : '–',
    `${link.clock_offset_ms.toFixed(2)} ms`];
}

// The hosts that have joined, and the links between hosts; null: no host has joined.
function hostsSection() {
  const {host, hosts, links, running} = state.status;
  if (hosts.length === 0) return null;
  const nameOf = (id) => { const job = running.find((one) => one.job_id === id); return job ? linkTo(job) : id || '–'; };
  return section('Hosts', h('span', {class: 'soft'}, `joined ${host}`),
      table('Hosts that have joined', [['host', 'name'], ['state', ''], ['job', 'name'], ['devices', 'long'], ['exchange', 'wide']],
          hosts.map((one) => ({cells: [one.name, hostState(one), nameOf(one.job_id), one.devices.join(' '), one.exchange]}))),
      links.length === 0 ? null : h('details', {}, h('summary', {}, `${links.length} links`),
          table('Links between hosts', [['from', ''], ['to', ''], ['round trip', 'n'], ['rate', 'n'], ['clock ahead', 'n wide']],
              links.map((link) => ({cells: linkCells(link)})))));
}

// `showOlder`: what the button behind the ended jobs does.
export function overview(showOlder) {
  const shown = shownJob();
  const details = shown && state.details.get(shown.job_id);
  return [runningSection(), queueSection(),
    details && details.epochs ? section('Epochs', h('span', {class: 'soft'}, 'of ', linkTo(shown)), charts([{job: newest(details), epochs: details.epochs}])) : null,
    devicesSection(), hostsSection(), endedSection(showOlder)];
}
