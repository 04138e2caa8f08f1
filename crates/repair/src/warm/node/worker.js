// The thread that runs tests. It may hang or die at any time; the thread that started it handles that.
'use strict';

const programs = require('node:child_process');
const { createRequire, syncBuiltinESMExports } = require('node:module');
const { promisify } = require('node:util');
const { parentPort, workerData } = require('node:worker_threads');
const command = require('./command.js');
const timeLimit = require('./time_limit.js');
const loader = require('./loader.js');
const nodeTest = require('./node_test.js');
const { begin, plain } = require('./results.js');
const affected = require('./affected.js');
const { isFurther } = require('./progress.js');

const { performance } = require('node:perf_hooks');
const now = performance.now.bind(performance);
/// Sends a message to the main thread.
let post = null;

const EVENTS = ['exit', 'beforeExit', 'uncaughtException', 'unhandledRejection', 'SIGINT', 'SIGTERM', 'warning'];
const timers = new Set();
let framework = null;
let files = [];
let clean = null;
let active = null;
let following = null;
/// What is known about the tests, once for all candidates.
let plan = null;

/// Records the global state before a pass.
function keep() {
  clean = {
    names: new Set(Object.getOwnPropertyNames(globalThis)),
    listeners: new Set(EVENTS.flatMap((event) => process.listeners(event))),
  };
}

/// Removes what the last pass left behind.
function tidy() {
  for (const timer of timers) clearTimeout(timer);
  timers.clear();
  if (clean === null) return;
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (!clean.names.has(name)) delete globalThis[name];
  }
  for (const event of EVENTS) {
    for (const listener of process.listeners(event)) {
      if (!clean.listeners.has(listener)) process.removeListener(event, listener);
    }
  }
}

async function pass(edit, wanted, options) {
  loader.renew(edit);
  const run = begin(options);
  active = run;
  timeLimit.set(options.guarded ?? 0);
  try {
    await framework.run(wanted, run, (file) => {
      run.file = file;
      return loader.load(file);
    });
  } catch {
    run.end('<run>', false);
    run.stopped = true;
  }
  // An abandoned pass must not affect the next one.
  if (active !== run) return run;
  active = null;
  tidy();
  return run;
}

/// Abandons an interrupted pass.
function rest() {
  if (active !== null) active.stopped = true;
  active = null;
  tidy();
  return true;
}

/// Wraps a function that starts programs to report its calls.
function noted(real) {
  const start = function start(...args) {
    if (active) active.isStarting = active.hasStarted = true;
    return real.apply(this, args);
  };
  const described = Object.getOwnPropertyDescriptors(real);
  const promised = described[promisify.custom];
  if (promised) promised.value = noted(promised.value);
  return Object.defineProperties(start, described);
}

/// Keeps side effects of tests from outlasting their pass.
function shield() {
  for (const stream of [process.stdout, process.stderr]) {
    stream.write = (_, encoding, done) => {
      const told = typeof encoding === 'function' ? encoding : done;
      if (told) process.nextTick(told);
      return true;
    };
  }
  for (const kind of ['setTimeout', 'setInterval', 'setImmediate']) {
    const real = globalThis[kind];
    globalThis[kind] = (fn, ...rest) => {
      const timer = real(fn, ...rest);
      if (kind !== 'setImmediate' && timers.size < 100_000) timers.add(timer);
      return timer;
    };
    Object.defineProperties(globalThis[kind], Object.getOwnPropertyDescriptors(real));
  }
  for (const kind of ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync']) {
    programs[kind] = noted(programs[kind]);
  }
  syncBuiltinESMExports();
  process.exit = (code) => {
    const error = new Error(`process.exit(${code})`);
    active?.exit();
    if (active) active.stopped = active.end('<exit>', false) ?? true;
    throw error;
  };
  process.on('uncaughtException', (error) => nodeTest.interrupt(error));
  process.on('unhandledRejection', (error) => nodeTest.interrupt(error));
}

function load({ argv, framework: name }) {
  const found = command.find(argv, name);
  if (found === null) throw new Error('the command is not understood');
  Object.assign(process.env, found.env);
  if (name === 'node') {
    const taken = command.ofNode(found.words);
    if (taken === null) throw new Error('an option changes how modules are loaded');
    const preload = createRequire(`${process.cwd()}/`);
    for (const required of taken.required) preload(required);
    loader.state.instead.set('node:test', nodeTest.api);
    framework = nodeTest;
    return taken.files;
  }
  if (name === 'mocha') {
    framework = require('./mocha.js');
    return framework.start(found.words);
  }
  if (name === 'jest') {
    framework = require('./jest.js');
    nodeTest.dialect.root = loader.state.root;
    const taken = framework.start(found.words);
    if (taken === null) throw new Error('more of Jest is needed than is known here');
    return taken;
  }
  throw new Error('there is no way to run this framework here');
}

/// Runs all tests except those that hang, and reports which one is running.
async function survey({ skips, id }) {
  const said = (stage) => (name) => post({ id, stage, name });
  const watch = { begin: said('begin'), end: said('end'), leave: said('end'), exit: said('exit') };
  await pass(null, files, { skips: new Set(skips), watch });
  return true;
}

/// The tests that end without an edit, among the wanted ones.
function ending(known, wanted = null) {
  const only = known.only && new Set(known.only);
  const names =
    only && wanted
      ? new Set([...wanted].filter((name) => only.has(name) || known.lost.includes(name)))
      : (wanted ?? only);
  return { names, skips: known.lost.length > 0 ? new Set(known.lost) : null };
}

/// Runs all tests once, and measures the failing ones when everything is warm.
async function start({ failing, passing, survey: found }) {
  const known = found ?? { lost: [], deadly: [], only: null };
  const began = now();
  const watch = found && timed();
  const run = await pass(null, files, { ...ending(known), watch });
  const all = now() - began;
  keep();
  const reported = found ? alsoFailing(run, known, watch, { failing, passing }) : failing;
  if (reported.length === 0) return { why: 'no test fails here' };
  return measured({ known, run, all, reported, passing });
}

/// The failing tests after a run that did not end: those that hang or end the thread, and those that failed, except
/// tests that are known to pass and failures that belong to no test.
function alsoFailing(run, { lost }, watch, { failing, passing }) {
  const told = new Set(failing.map(plain));
  const good = new Set(passing.map(plain));
  const isOne = ([name, ok]) => !ok && (told.has(name) || (watch.took.has(name) && !good.has(name)));
  return [...new Set([...lost, ...[...run.results].filter(isOne).map(([name]) => name)])];
}

/// Records how long each test takes.
function timed() {
  const took = new Map();
  const begun = new Map();
  return {
    took,
    begin: (name) => begun.set(name, now()),
    end: (name) => begun.has(name) && took.set(name, now() - begun.get(name)),
  };
}

async function measured({ known: { lost, deadly, only }, run, all, reported, passing }) {
  for (const name of lost) run.results.set(name, false);
  const names = reported.filter((name) => run.results.get(plain(name)) === false);
  const elsewhere = reported.filter((name) => run.results.get(plain(name)) !== false);
  if (elsewhere.length > 0) return { why: `these tests do not fail here: ${elsewhere.slice(0, 3).join(', ')}` };
  const isSeen = (name) => only === null || run.results.has(plain(name));
  const wrong = passing.filter(
    (name) => run.results.get(plain(name)) !== true && isSeen(name) && !lost.includes(plain(name)),
  );
  if (wrong.length > passing.length / 10)
    return { why: `these tests do not pass here: ${wrong.slice(0, 3).join(', ')}` };
  const wanted = new Set(names.map(plain));
  const known = [...run.results].filter(([name, ok]) => !ok && !wanted.has(name)).map(([name]) => name);
  // The files of the failing tests, found one by one.
  const near = [];
  const options = ending({ lost, only }, wanted);
  for (const file of files) {
    const seen = await pass(null, [file], options);
    if (seen.skipped || [...seen.results.keys()].some((name) => wanted.has(name))) near.push(file);
  }
  const again = now();
  const alone = await pass(null, near, options);
  const ms = now() - again + (lost.length > 0 ? await usual(near, { lost, only }) : 0);
  const ended = names.filter((name) => !lost.includes(name));
  if (ended.some((name) => alone.results.get(plain(name)) !== false)) return { why: 'tests depend on each other' };
  const passed = [...run.results].filter(([, ok]) => ok).map(([name]) => name);
  const { starting, points } = alone;
  plan = { failing: names, near, known, passed, ms, all, starting, points, lost, deadly, only, sees: null };
  return plan;
}

/// Estimates how long hanging tests take once they are fixed, from the other tests of their files.
async function usual(near, known) {
  const watch = timed();
  const { results } = await pass(null, near, { ...ending(known), watch });
  const took = [...watch.took]
    .filter(([name]) => results.get(name))
    .map(([, ms]) => ms / 5)
    .sort((a, b) => a - b);
  return Math.max(30, took[(took.length - 1) >> 1] ?? 0, Math.min(100, took.at(-1) ?? 0));
}

/// Runs the failing tests first, and if they pass, all tests that the edit may affect.
async function judge({ edit, id, most }) {
  const tolerated = new Set(plan.known);
  const names = plan.failing.map(plain);
  // Hanging tests take longest to fail, so they come last.
  const hanging = names.filter((name) => plan.lost.includes(name));
  const others = names.filter((name) => !plan.lost.includes(name));
  for (const some of [others, hanging].filter((some) => some.length > 0)) {
    const first = await pass(edit, plan.near, {
      names: new Set(some),
      stops: true,
      tolerated,
      guarded: some === hanging ? most : 0,
    });
    if (loader.state.invalid) return 'invalid';
    if (timeLimit.isTripped()) return 'timeout';
    const passed = some.filter((name) => first.results.get(name) === true).length;
    if (first.stopped || passed < some.length) {
      if (passed > 0) return 'closer';
      // An edit of the tests' own file moves their lines.
      const isOwn = plan.near.includes(edit.file);
      return !isOwn && isFurther(first.points, plan.points, edit.added) ? 'later' : 'fails';
    }
  }
  post({ id, stage: 'all' });
  const far = files.filter((file) => !plan.near.includes(file));
  const { seeing, expected } = affected.those(plan, far, edit);
  const run = await pass(edit, [...plan.near, ...seeing], { stops: true, tolerated });
  const holds = [...names, ...expected].every((name) => run.results.get(name) === true);
  return !run.stopped && holds ? 'passes' : 'fails';
}

async function follow({ wall_ms }) {
  const names = new Set(plan.failing.map(plain));
  if ([...names].every((name) => plan.starting.has(name))) throw new Error('other programs cannot be traced');
  const until = now() + wall_ms * (plan.lost.length > 0 ? 0.6 : 0.8);
  following = require('./coverage.js').start(names, () => now() < until);
  const entered = affected.recorder(plan);
  const far = files.filter((file) => !plan.near.includes(file));
  for (const file of [...plan.near, ...far]) {
    if (now() > until) break;
    const run = await pass(null, [file], { ...ending(plan), watch: following.of(entered.note) });
    following.take(entered.note);
    entered.close(file, run);
  }
  return {
    followed: following.found(),
    sees: framework.isShared && far.some((file) => !entered.has(file)) ? null : entered.found(),
  };
}

/// Traces one test that may never end.
async function trace({ name, most }) {
  await pass(null, plan.near, { names: new Set([name]), watch: following.of(), guarded: most });
  return following.found();
}

/// Reports what the interrupted test executed.
function traced({ name }) {
  following.cut(name);
  return following.found();
}

/// The answers of the files to the same inputs with each edit, and finally without one, which may never end. The last
/// answers are missing if the time is up.
async function behave({ edits, wall_ms, id }) {
  const { recorder, varied, answers } = require('./behaviour.js');
  const until = now() + wall_ms * 0.9;
  const watched = recorder();
  loader.state.wrap = { files: new Set(edits.map(({ file }) => file)), make: watched.wrap };
  // With an edit, because no failing test ends without one.
  await pass(edits[0], plan.near, {});
  loader.state.wrap = null;
  keep();
  const inputs = varied(watched.calls);
  for (const [at, edit] of [...edits, null].entries()) {
    loader.renew(edit);
    const left = Math.max(200, (until - now()) / (edits.length + 1 - at));
    post({ id, stage: 'found', inputs: inputs.length, answers: await answers(inputs, loader.load, now() + left) });
    tidy();
  }
  return true;
}

const WORK = { survey, start, judge, follow, trace, traced, behave, rest };

/// Handles a request, and sends the answer.
async function hear(asked) {
  const { id } = asked;
  try {
    plan = asked.plan ?? plan;
    if (asked.work === 'warm') {
      await pass(null, asked.plan.near, ending(plan));
      keep();
      post({ id, answer: true });
    } else {
      post({ id, answer: await WORK[asked.work](asked) });
    }
  } catch (error) {
    post({ id, why: String(error?.message ?? error).slice(0, 500) });
  }
}

/// Only a module can resolve imports as modules do.
const RESOLVER = 'data:text/javascript,export default (name, from) => import.meta.resolve(name, from)';

module.exports = {
  /// Loads the tests, then listens for requests. `importReal` is the `import` of a script, because these modules have
  /// none.
  async begin(importReal) {
    const { default: resolveReal } = await importReal(RESOLVER);
    post = parentPort.postMessage.bind(parentPort);
    parentPort.on('message', hear);
    try {
      Object.assign(loader.state, { root: workerData.root, importReal, resolveReal });
      loader.install();
      shield();
      files = load(workerData);
      if (files.length === 0) throw new Error('no files of tests were found');
    } catch (error) {
      post({ dead: String(error?.message ?? error).slice(0, 500) });
    }
  },
};
