// Runs `node:test` tests with a small custom runner that can be started repeatedly in one process. It implements what
// decides whether a test passes; a comparison with a real run shows whether that suffices.
'use strict';

const path = require('node:path');
const real = require('node:test');
const timeLimit = require('./time_limit.js');

const HOOKS = ['before', 'after', 'beforeEach', 'afterEach'];

function suite(name, parent, options = {}) {
  const hooks = Object.fromEntries(HOOKS.map((hook) => [hook, []]));
  return { name, parent, options, hooks, items: [], isSuite: true };
}

/// What is different in Jest: functions with a parameter take a callback, names begin with the file, and `only`
/// counts.
const dialect = { isJest: false, before: null, after: null, file: '' };
let current = suite('', null);
let broken = null;

/// The name, options and function of a call that may omit any of them.
function parts(args) {
  const fn = args.find((arg) => typeof arg === 'function') ?? (() => {});
  const name = typeof args[0] === 'string' ? args[0] : fn.name || '<anonymous>';
  const options = args.find((arg) => typeof arg === 'object' && arg !== null) ?? {};
  return { name, options, fn };
}

function test(extra, args) {
  const { name, options, fn } = parts(args);
  current.items.push({ name, fn, options: { ...options, ...extra }, parent: current });
  return Promise.resolve();
}

function describe(extra, args) {
  const { name, options, fn } = parts(args);
  const made = suite(name, current, { ...options, ...extra });
  current.items.push(made);
  const outer = current;
  current = made;
  try {
    const loading = fn({ name, signal: new AbortController().signal });
    // Tests declared later are missed, and then the results differ from the real ones.
    loading?.catch?.((error) =>
      made.items.push({
        name: '<load>',
        fn: () => {
          throw error;
        },
        options: {},
        parent: made,
      }),
    );
  } catch (error) {
    made.error = error;
  } finally {
    current = outer;
  }
  return Promise.resolve();
}

function with_variants(make) {
  const made = (...args) => make({}, args);
  for (const word of ['skip', 'todo', 'only']) made[word] = (...args) => make({ [word]: true }, args);
  return made;
}

/// Calls a function that may take a callback after these arguments.
function call(fn, given, self) {
  const args = dialect.isJest ? [] : given;
  const ran = new Promise((resolve, reject) => {
    if (fn.length > args.length) {
      timeLimit.run(() => fn.call(self, ...args, (error) => (error ? reject(error) : resolve())));
    } else {
      Promise.resolve(timeLimit.run(() => fn.apply(self, args))).then(resolve, reject);
    }
  });
  return Promise.race([
    ran,
    new Promise((_, reject) => {
      broken = reject;
    }),
  ]);
}

function full(name, parent) {
  const names = [name];
  for (let at = parent; at; at = at.parent) if (at.name) names.unshift(at.name);
  if (dialect.isJest) names.unshift(dialect.file);
  return names.join(' > ');
}

async function each(hook, at, context) {
  const chain = [];
  for (let owner = at; owner; owner = owner.parent) chain.unshift(owner);
  if (hook === 'afterEach') chain.reverse();
  for (const owner of chain) for (const fn of owner.hooks[hook]) await call(fn, [context], context);
}

/// The context that a test receives. The test is the parent of its subtests.
function contextOf(item, run) {
  const own = suite(item.name, item.parent);
  const context = {
    name: item.name,
    fullName: full(item.name, item.parent),
    signal: new AbortController().signal,
    mock: new real.mock.constructor(),
    assert: require('node:assert'),
    diagnostic() {},
    plan() {},
    runOnly() {},
    skip() {
      own.skipped = true;
    },
    todo() {
      own.expected = true;
    },
  };
  for (const hook of HOOKS) context[hook] = (fn) => own.hooks[hook].push(fn);
  let turn = Promise.resolve();
  const part = (extra, args) => {
    const { name, options, fn } = parts(args);
    const started = turn.then(() => single({ name, fn, options: { ...options, ...extra }, parent: own }, run));
    turn = started;
    return started;
  };
  context.test = with_variants(part);
  context.it = context.test;
  return { context, own, rest: () => turn };
}

async function single(item, run) {
  const name = full(item.name, item.parent);
  if (run.stopped || item.options.skip || !run.wants(name)) return;
  const { context, own, rest } = contextOf(item, run);
  run.begin(name);
  let failure = null;
  try {
    dialect.before?.();
    await each('beforeEach', item.parent, context);
    for (const fn of own.hooks.before) await call(fn, [context], context);
    await call(item.fn, [context], context);
    await rest();
    dialect.after?.();
  } catch (error) {
    failure = { error };
  }
  for (const after of [
    () => each('afterEach', item.parent, context),
    async () => {
      for (const fn of own.hooks.after) await call(fn, [context], context);
    },
  ]) {
    try {
      await after();
    } catch (error) {
      failure ??= { error };
    }
  }
  context.mock.restoreAll();
  if (own.skipped || (failure && (own.expected || item.options.todo))) return run.leave(name);
  run.end(name, failure === null, failure?.error);
}

async function many(owner, run) {
  const name = full(owner.name, owner.parent);
  if (run.stopped || owner.options.skip || (owner.name && !run.wants(name))) return;
  const context = { name: owner.name };
  try {
    if (owner.error) throw owner.error;
    for (const fn of owner.hooks.before) await call(fn, [context], context);
    for (let at = 0; at < owner.items.length && !run.stopped; at += 1) {
      const item = owner.items[at];
      await (item.isSuite ? many(item, run) : single(item, run));
    }
    for (const fn of owner.hooks.after) await call(fn, [context], context);
  } catch {
    // All tests in it fail; a counting run sees an unknown name.
    run.end(`${name} > <hook>`, false);
  }
}

const shared = { test: with_variants(test), describe: with_variants(describe), mock: real.mock };
Object.assign(shared.test, shared, { it: shared.test, suite: shared.describe, run: real.run });
for (const hook of HOOKS) shared.test[hook] = (fn) => current.hooks[hook].push(fn);
shared.test.default = shared.test;

/// Whether it contains an `only`, which then applies to the whole file.
function focused(owner) {
  return owner.items.some((item) => item.options.only || (item.isSuite && focused(item)));
}

function focus(owner) {
  for (const item of owner.items) {
    if (item.options.only && !(item.isSuite && focused(item))) continue;
    if (item.isSuite && focused(item)) focus(item);
    else item.options.skip = true;
  }
}

module.exports = {
  dialect,
  api: shared.test,
  /// Handles an error that no test was waiting for.
  interrupt(error) {
    broken?.(error);
  },
  /// Loads files one by one, and runs the tests in each.
  async run(files, run, load) {
    for (const file of files) {
      if (run.stopped) break;
      current = suite('', null);
      dialect.file = path.relative(dialect.root ?? process.cwd(), file);
      try {
        await load(file);
      } catch {
        run.end(file, false);
        continue;
      }
      if (dialect.isJest && focused(current)) focus(current);
      await many(current, run);
      real.mock.restoreAll();
    }
  },
};
