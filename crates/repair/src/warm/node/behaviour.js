// Calls the exported functions of edited files with inputs: those from the tests, and variations of them.
'use strict';

const util = require('node:util');
const vm = require('node:vm');
const crypto = require('node:crypto');
const { performance } = require('node:perf_hooks');

const now = performance.now.bind(performance);
const cpuUsage = process.cpuUsage.bind(process);

/// Maximum number of inputs recorded for each function, and of all inputs.
const MOST_RECORDED = 24;
const MOST_INPUTS = 240;
/// Time limit of one call in milliseconds.
const CALL = 100;
/// The share of that limit that a call must have had of a processor before it counts as too slow, unless it took too
/// long this many times: on a busy machine, it may only have waited for its turn.
const OWN_SHARE = 0.6;
const MOST_CALLS = 5;
/// Characters of an answer that are shown; a longer one is shown with its digest.
const SHOWN = 300;
const MANY = 200;
const DEEP = 5;
/// Maximum number of values of one file that are searched for functions.
const MOST_VALUES = 2_000;

const call = new vm.Script(`globalThis[Symbol.for('greenlight call')]()`);

function isPlain(value) {
  if (typeof value !== 'object' || value === null) return false;
  const kind = Object.getPrototypeOf(value);
  return kind === Object.prototype || kind === null;
}

/// A copy that a call may change; a value that cannot be copied is shared.
function copied(value, deep = DEEP) {
  if (typeof value !== 'object' || value === null || deep === 0) return value;
  if (Array.isArray(value)) return value.map((inner) => copied(inner, deep - 1));
  if (isPlain(value)) {
    const made = Object.create(Object.getPrototypeOf(value));
    for (const key of Object.keys(value)) made[key] = copied(value[key], deep - 1);
    return made;
  }
  try {
    const made = structuredClone(value);
    // A copy of a class instance would lose its class.
    return Object.getPrototypeOf(made) === Object.getPrototypeOf(value) ? made : value;
  } catch {
    return value;
  }
}

/// A text that is equal for values that are alike.
function show(value) {
  const options = { depth: DEEP, sorted: true, maxArrayLength: MANY, maxStringLength: 10_000, breakLength: Infinity };
  try {
    const text = util.inspect(value, { ...options, compact: true, customInspect: false, getters: false });
    // A stack trace would reveal where the edit is.
    return text.replace(/\n\s+at [^\n]*/g, '');
  } catch (error) {
    return `a value that cannot be shown: ${error?.name}`;
  }
}

function brief(text) {
  if (text.length <= SHOWN) return text;
  return `${text.slice(0, SHOWN)}... ${crypto.createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}

/// The functions among these values, with the names that lead to them, and their holders.
function* functions(root) {
  const seen = new Set();
  const left = [{ holder: { default: root }, key: 'default', names: [] }];
  for (let looked = 0; left.length > 0 && looked < MOST_VALUES; looked += 1) {
    const { holder, key, names } = left.shift();
    const held = Object.getOwnPropertyDescriptor(holder, key);
    const value = held?.value;
    if (value === null || !['function', 'object'].includes(typeof value) || seen.has(value)) continue;
    seen.add(value);
    if (typeof value === 'function') yield { holder, key, value, names };
    if (
      names.length >= DEEP ||
      (typeof value === 'object' && !isPlain(value) && names.at(-1) !== 'prototype' && names.length > 0)
    ) {
      continue;
    }
    const inner = Object.getOwnPropertyNames(value).filter(
      (name) => !['constructor', 'caller', 'arguments'].includes(name),
    );
    for (const name of inner) left.push({ holder: value, key: name, names: [...names, name] });
  }
}

/// Records the calls of exported functions. Returns a hook for the loader that replaces exports.
function recorder() {
  const calls = [];
  const seen = new Set();
  const counts = new Map();
  let isOff = false;
  const note = (place, self, args) => {
    const { key } = place;
    if (isOff || (counts.get(key) ?? 0) >= MOST_RECORDED) return;
    isOff = true;
    try {
      const input = { ...place, self: isPlain(self) ? null : copiedSelf(self), args: copied([...args]) };
      const shown = key + show(args) + show(input.self?.fields);
      if (!seen.has(shown)) {
        seen.add(shown);
        counts.set(key, (counts.get(key) ?? 0) + 1);
        calls.push(input);
      }
    } catch {
      // A value that throws when it is read is not an input.
    }
    isOff = false;
  };
  const wrap = (file, values) => {
    let whole = values;
    for (const { holder, key, value, names } of [...functions(values)]) {
      const named = `${file} ${names.join('.')}`;
      const apply = (target, self, args) => {
        note({ key: named, file, names, needed: target.length }, self, args);
        return Reflect.apply(target, self, args);
      };
      const construct = (target, args, made) => {
        note({ key: `new ${named}`, file, names, isMade: true, needed: target.length }, null, args);
        return Reflect.construct(target, args, made === watched ? target : made);
      };
      const watched = new Proxy(value, { apply, construct });
      if (names.length === 0) whole = watched;
      else if (Object.getOwnPropertyDescriptor(holder, key)?.writable) holder[key] = watched;
    }
    return whole;
  };
  return { calls, wrap };
}

/// The own properties of the object that a method was called on.
function copiedSelf(self) {
  if (typeof self !== 'object' || self === null) return null;
  return { fields: copied({ ...self }) };
}

/// Other values of the same kind.
function like(value) {
  switch (typeof value) {
    case 'boolean':
      return [!value];
    case 'number':
      return [value + 1, value - 1, 0, -1, -value, value * 2];
    case 'bigint':
      return [value + 1n, value - 1n, 0n, -1n, -value];
    case 'string':
      return [
        '',
        value.slice(0, -1),
        value.slice(1),
        [...value].reverse().join(''),
        value + value,
        value.toUpperCase(),
        ` ${value}`,
      ];
    case 'object':
      break;
    default:
      return [];
  }
  if (value === null) return [];
  if (Array.isArray(value)) return [[], value.slice(0, -1), value.slice(1), [...value].reverse(), [...value, ...value]];
  if (isPlain(value)) return [{}, Object.fromEntries(Object.entries(value).slice(0, -1))];
  return [null];
}

function put(args, at, value) {
  const made = [...args];
  made[at] = value;
  return made;
}

/// The same call with other arguments. A function is called with fewer than it names only if a test does so: without
/// one, most compute with `undefined`, for which no caller asks.
function* variations(input, fewest) {
  const { args } = input;
  for (let at = 0; at < args.length; at += 1)
    for (const other of like(args[at])) yield { ...input, args: put(args, at, other) };
  for (let at = 0; at + 1 < args.length; at += 1) {
    if (typeof args[at] !== typeof args[at + 1]) continue;
    yield { ...input, args: put(put(args, at, args[at + 1]), at + 1, args[at]) };
  }
  if (args.length > Math.min(input.needed, fewest)) yield { ...input, args: args.slice(0, -1) };
  // Combinations of two conditions only show when two arguments change together.
  for (let at = 0; at < args.length; at += 1) {
    for (let next = at + 1; next < args.length; next += 1) {
      for (const other of like(args[at]))
        for (const more of like(args[next])) yield { ...input, args: put(put(args, at, other), next, more) };
    }
  }
}

/// Calls of every function in turn, followed by the same calls with one or two arguments changed.
function varied(calls) {
  const own = new Map();
  for (const input of calls) own.set(input.key, [...(own.get(input.key) ?? []), input]);
  const recorded = inTurn(own.values(), MOST_INPUTS / 2);
  const fewest = ({ key }) => Math.min(...own.get(key).map(({ args }) => args.length));
  const others = recorded.map((input) => variations(input, fewest(input)));
  return [...recorded, ...inTurn(others, MOST_INPUTS - recorded.length)];
}

/// Takes one from each iterator in turn, up to a limit.
function inTurn(many, most) {
  const taken = [];
  let left = [...many].map((each) => each[Symbol.iterator]());
  while (left.length > 0 && taken.length < most) {
    left = left.filter((each) => {
      const { value, done } = each.next();
      if (!done && taken.length < most) taken.push(value);
      return !done;
    });
  }
  return taken;
}

/// The result of a promise, or the values of an iterator.
async function settled(result) {
  if (typeof result?.then === 'function') {
    let timer = null;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error('late')), CALL);
    });
    return Promise.race([result, late]).finally(() => clearTimeout(timer));
  }
  if (typeof result?.next !== 'function' || typeof result[Symbol.iterator] !== 'function') return result;
  return within(() => {
    const values = [];
    for (const value of result) if (values.push(value) >= MANY) break;
    return values;
  });
}

function within(work) {
  globalThis[Symbol.for('greenlight call')] = work;
  return call.runInThisContext({ timeout: CALL });
}

/// The function that an input is for, and the object to call it on.
function target(values, { names, self }) {
  let holder;
  let value = values;
  for (const name of names) {
    holder = value;
    value = value?.[name];
  }
  if (self === null || names.at(-2) !== 'prototype') return { value, holder, made: null };
  const made = Object.assign(Object.create(holder), copied(self.fields));
  return { value, holder: made, made };
}

function raised(error) {
  if (error?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return 'timeout';
  if (error?.message === 'Maximum call stack size exceeded') return 'overflows the stack';
  return `raises ${error?.name ?? typeof error}`;
}

async function answer(values, input) {
  for (let calls = 1; ; calls += 1) {
    const before = cpuUsage();
    const text = await once(values, input);
    const { user, system } = cpuUsage(before);
    if (text !== 'timeout' || calls === MOST_CALLS || user + system >= OWN_SHARE * CALL * 1000) return text;
  }
}

/// Calls once.
async function once(values, input) {
  const { value, holder, made } = target(values, input);
  const args = copied(input.args);
  const left = () => (made === null ? show(args) : show([...args, { ...made }]));
  const before = left();
  let state = 1;
  Math.random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  let text;
  try {
    const run = () => (input.isMade ? Reflect.construct(value, args) : Reflect.apply(value, holder, args));
    text = show(await settled(within(run)));
  } catch (error) {
    text = raised(error);
  }
  const after = left();
  return brief(after === before || text === 'timeout' ? text : `${text} leaving ${after}`);
}

module.exports = {
  recorder,
  varied,
  /// The answers of the currently loaded files, as many as this time allows.
  async answers(inputs, load, until) {
    const loaded = new Map();
    const found = [];
    for (const input of inputs) {
      if (now() > until) break;
      if (!loaded.has(input.file)) loaded.set(input.file, await load(input.file));
      found.push(await answer(loaded.get(input.file), input));
    }
    return found;
  },
};
